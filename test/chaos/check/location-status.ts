// Whether adjustments obeyed the status of their location: none took effect after an answer said
// that the location is inactive, and none was refused while it was active. What overlaps a change
// may have come before or after it, and is not checked.

import { type Attempt, isBound } from '../history.ts';
import { byKey } from './registers.ts';
import type { Finding } from './verdict.ts';

/** One setting of the status, at which version of the location. */
interface Setting {
  readonly version: number;
  readonly isOpen: boolean;
  /** It was set at some time between these. */
  readonly start: number;
  readonly end: number;
}

export function checkLocationStatus(attempts: readonly Attempt[], booth: string): Finding {
  const keys = [...byKey(attempts).values()];
  const settings = keys.flatMap((own) => settingOf(own, booth));
  settings.sort((a, b) => a.version - b.version);
  const adjustments = keys.flatMap((own) => {
    const owner = own.find((one) => isBound(one) && one.isReplay !== true);
    return owner?.target?.location === booth ? [owner] : [];
  });
  const faults = settings.flatMap((setting, index) => {
    const next = settings[index + 1];
    // Of a change without a first answer nobody knows when it was, nor whether it was this one.
    if (next?.version !== setting.version + 1) return [];
    return adjustments.filter(
      ({ start, end, status, code }) =>
        start > setting.end &&
        end < next.start &&
        (setting.isOpen ? code === 'location_inactive' : status === 201),
    );
  });
  return {
    what: 'adjustments against the status of their location',
    faults: faults.map((attempt) => JSON.stringify(attempt)),
  };
}

function settingOf(own: readonly Attempt[], booth: string): Setting[] {
  const first = own.find((one) => isBound(one) && one.isReplay !== true);
  if (first?.wanted?.record !== booth || first.record === undefined) return [];
  const sent = own.filter(({ variant }) => variant === first.variant);
  return [
    {
      version: first.record.version,
      isOpen: first.wanted.name.startsWith('active'),
      start: Math.min(...sent.map(({ start }) => start)),
      end: first.end,
    },
  ];
}
