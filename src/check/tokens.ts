// What `tallybook merchant create --for-check` prints, as the check reads it.

import { Unusable } from './endings.ts';

/** Tokens of one merchant unless they say otherwise. All are texts that only their makers know. */
export interface Tokens {
  /** All scopes, all locations. */
  readonly token: string;
  /** `inventory.read`, `inventory.write` and `events.read`, at one of two locations. */
  readonly narrow_token: string;
  /** Of another merchant: all scopes, all locations. */
  readonly other_token: string;
  /** All scopes, and a few requests a minute. */
  readonly limited_token: string;
  /** Its time is over. */
  readonly expired_token: string;
  readonly revoked_token: string;
  /** An application that is approved at the merchant. */
  readonly client_id: string;
  readonly client_secret: string;
}

const names = [
  'token',
  'narrow_token',
  'other_token',
  'limited_token',
  'expired_token',
  'revoked_token',
  'client_id',
  'client_secret',
] as const satisfies readonly (keyof Tokens)[];

/** @throws Unusable */
export function tokensOf(text: string): Tokens {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Unusable('it is not the JSON that "merchant create --for-check" prints');
  }
  const members = Object(value) as Record<string, unknown>;
  const missing = names.filter((name) => typeof members[name] !== 'string');
  if (missing.length > 0) throw new Unusable(`it has no ${missing.join(', ')}`);
  return members as unknown as Tokens;
}
