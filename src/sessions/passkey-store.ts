// The statements of passkeys, and of the challenges that they answer.

import { limits } from '../core/limits.ts';
import type { Statement } from '../core/statement.ts';
import { type PersonRow, person } from './store.ts';

export interface Passkey {
  /** As the authenticator calls it, in base64url. */
  readonly id: string;
  readonly publicKey: Buffer;
  readonly counter: number;
}

export function insertPasskey({ merchant_id, id }: PersonRow, passkey: Passkey): Statement {
  return {
    name: 'insert_passkey',
    text: `
      insert into person_passkeys (merchant_id, credential_id, id, public_key, counter, set_at)
      values ($1, $2, $3, $4, $5, clock_timestamp())`,
    values: [merchant_id, id, passkey.id, passkey.publicKey, passkey.counter],
  };
}

/** Whose passkey it is, if it is still theirs. */
export function findByPasskey(
  id: string,
): Statement<PersonRow & { readonly public_key: Buffer; readonly counter: number }> {
  return {
    name: 'find_person_by_passkey',
    text: `
      select ${person}, p.public_key, p.counter
      from person_passkeys p
      join credentials c on c.merchant_id = p.merchant_id and c.id = p.credential_id
        and p.set_at >= c.invited_at
      join merchants m on m.id = c.merchant_id and m.disabled_at is null
      where p.id = $1 and c.role is not null and c.revoked_at is null`,
    values: [id],
  };
}

/** Aborts its transaction when another sign-in has counted further: the passkey was copied. */
export function countPasskey({ merchant_id }: PersonRow, id: string, counter: number): Statement {
  return {
    name: 'count_passkey',
    text: `
      with counted as (
        update person_passkeys set counter = $3
        where merchant_id = $1 and id = $2 and (counter < $3 or counter = 0 and $3 = 0)
        returning id)
      select expect_rows(count(*), 1) from counted`,
    values: [merchant_id, id, counter],
  };
}

export function insertChallenge(hash: Buffer): Statement {
  return {
    name: 'insert_challenge',
    text: `
      insert into sign_in_challenges (challenge_hash, expires_at)
      values ($1, clock_timestamp() + interval '${limits.challengeMinutes} minutes')`,
    values: [hash],
  };
}

/** One row: it was ours, and nobody has answered it. */
export function useChallenge(hash: Buffer): Statement<{ is_live: boolean }> {
  return {
    name: 'use_challenge',
    text: `
      delete from sign_in_challenges where challenge_hash = $1
      returning expires_at > clock_timestamp() as is_live`,
    values: [hash],
  };
}

export const forgetChallenges: Statement = {
  name: 'forget_challenges',
  text: `
    delete from sign_in_challenges where challenge_hash in (
      select c.challenge_hash from sign_in_challenges c where c.expires_at < clock_timestamp()
      limit 20 for update skip locked)`,
  values: [],
};
