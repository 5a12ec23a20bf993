// Faults of single members of a body, for tests that make writes up.

import type { JsonObject } from '../../src/contract/json.ts';

/** A body with one member that its field refuses, and the one detail that says so. */
export interface Spoil {
  readonly set: JsonObject;
  /** A member to leave out instead. */
  readonly drop?: string;
  readonly field: string;
  readonly code: string;
  readonly allowed?: readonly string[];
}

export const spoil = (
  field: string,
  code: string,
  set: JsonObject,
  more: Partial<Spoil> = {},
): Spoil => ({ set, field, code, ...more });

export const left = (field: string): Spoil => spoil(field, 'required', {}, { drop: field });

export function spoilt(body: JsonObject, { set, drop }: Spoil): JsonObject {
  const whole = { ...body, ...set };
  return Object.fromEntries(Object.entries(whole).filter(([name]) => name !== drop));
}
