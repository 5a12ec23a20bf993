// What settings are made of: lists by comma, addresses, origins, numbers, times of day.

import { readDestination } from './destination.ts';

/** Of a list by comma, without spaces around them. */
export function entriesOf(value: string): string[] {
  const entries = value.split(',').map((entry) => entry.trim());
  return entries.filter((entry) => entry !== '');
}

/** Whether it is an address, or a range in CIDR notation. */
export function isAddressRange(entry: string): boolean {
  const found = readDestination(entry);
  return found?.kind === 'range' && found.port === undefined && !entry.startsWith('[');
}

/** NaN when it is none, or has more than five digits. */
export function wholeNumber(value: string): number {
  return /^[0-9]{1,5}$/.test(value) ? Number(value) : Number.NaN;
}

/** Undefined when it is none, or more than one. */
export function originIn(value: string): string | undefined {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  const isOrigin =
    url !== undefined &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.pathname === '/' &&
    `${url.username}${url.search}${url.hash}` === '';
  return isOrigin ? url.origin : undefined;
}

/** Such as 03:00. */
export function timeOfDay(value: string): { hour: number; minute: number } | undefined {
  const time = /^([01][0-9]|2[0-3]):([0-5][0-9])$/.exec(value);
  return time === null ? undefined : { hour: Number(time[1]), minute: Number(time[2]) };
}
