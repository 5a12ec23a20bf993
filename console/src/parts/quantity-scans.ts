// A scanner types wherever the focus is. In a field of a quantity its code would become a quantity,
// and its Enter would save it: so fast keys and Enter there are a code, and the quantity stays.

import { useEffect, useRef } from 'react';

/** Scanners take 1 to 30 ms for a key, and fast typists 60. */
const gapMsMax = 40;
/** Shorter ones are typed with one roll of the hand. */
const lettersMin = 4;

interface Burst {
  readonly field: HTMLInputElement;
  /** What stood there before its first key. */
  readonly before: string;
  readonly code: string;
  readonly at: number;
}

/** @param onScan hears of what was scanned into a field of a quantity. */
export function useQuantityScans(onScan: (code: string) => void): void {
  const latest = useRef(onScan);
  latest.current = onScan;
  useEffect(() => {
    let burst: Burst | undefined;
    const type = (event: KeyboardEvent) => {
      const { key, target, timeStamp: at } = event;
      if (!(target instanceof HTMLInputElement) || !target.matches('input.quantity')) return;
      const isGoingOn = burst?.field === target && at - burst.at <= gapMsMax;
      if (key === 'Enter' && isGoingOn && burst !== undefined) {
        const { code, before } = burst;
        burst = undefined;
        if (code.length < lettersMin) return;
        event.preventDefault();
        event.stopImmediatePropagation();
        restore(target, before);
        latest.current(code);
      } else if (key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey) {
        const begun = isGoingOn ? burst : undefined;
        const before = begun?.before ?? target.value;
        burst = { field: target, before, code: (begun?.code ?? '') + key, at };
      } else if (key !== 'Shift') burst = undefined;
    };
    // Before the field itself hears of Enter.
    document.addEventListener('keydown', type, { capture: true });
    return () => document.removeEventListener('keydown', type, { capture: true });
  }, []);
}

/** As if somebody had typed it: React overwrites what is set any other way. */
function restore(field: HTMLInputElement, value: string): void {
  const { set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value') ?? {};
  set?.call(field, value);
  field.dispatchEvent(new Event('input', { bubbles: true }));
}
