// Which locations that a request names are granted to its caller. What is not there, and what is
// not granted, is refused in the same words.

import { findLocations, findNamedLocation } from '../access/store.ts';
import type { Operation, Write } from '../contract/endpoint.ts';
import type { GrantedLocationId, Principal } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';
import type { Reader } from '../core/statement.ts';

/** Locations that exist and are granted, by what they were asked for. */
export type Granted = ReadonlyMap<string, GrantedLocationId>;

export async function grantedAmong(
  reader: Reader,
  { merchant, locations }: Principal,
  asked: readonly string[],
): Promise<Granted> {
  const named = [...new Set(asked)];
  const isUnknown = locations === 'all' && named.length > 0;
  const rows = isUnknown ? await reader.query(findLocations(merchant, named)) : [];
  const granted = locations === 'all' ? rows.map(({ id }) => id) : locations;
  return new Map(granted.map((id) => [id, id]));
}

/** @param fields those that name what is not granted, or is not there. */
export function notGranted(fields: readonly string[]): Problem {
  const message = 'names no location that is granted';
  const details = fields.map(
    (field) => ({ field, code: 'location_not_granted', message }) as const,
  );
  return new Problem('location_not_granted', { details });
}

/**
 * An upsert of a location, by whom not all are granted: one of theirs must have the ID. A replay
 * shows what was written, whoever has the ID now.
 * @throws Problem location_not_granted
 */
export async function requireNamed(
  reader: Reader,
  { merchant, locations }: Principal,
  write: Write,
  bound: Operation | undefined,
): Promise<undefined> {
  if (write.externalId === undefined || locations === 'all') return;
  const isReplay = bound?.fingerprint.equals(write.fingerprint) === true;
  const written = isReplay ? bound.resource_id : null;
  const named =
    written === null
      ? await reader.query(findNamedLocation(merchant, write.externalId, locations))
      : locations.filter((id) => id === written);
  if (named.length === 0) throw new Problem('location_not_granted');
}
