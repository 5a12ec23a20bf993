// The statements of signing in. Whatever a person signs in with counts from the last invitation on:
// what is older is void. Times are the database's.

import type { KeptToken } from '../access/token.ts';
import { lookupId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { MerchantId } from '../core/principal.ts';
import type { Statement } from '../core/statement.ts';

/** Who signs in. */
export interface PersonRow {
  readonly merchant_id: MerchantId;
  readonly merchant_name: string;
  readonly id: string;
  readonly name: string;
  readonly role: string;
}

/** Of a row `c` of credentials, and `m` of its merchant. */
export const person = 'c.merchant_id, m.name as merchant_name, c.id, c.name, c.role';

/** The person of an invitation that can be used now. */
export function findInvited(hash: Buffer): Statement<PersonRow & { readonly ends_at: string }> {
  return {
    name: 'find_invited',
    text: `
      select ${person}, c.invitation_expires_at as ends_at
      from credentials c join merchants m on m.id = c.merchant_id and m.disabled_at is null
      where c.invitation_hash = $1 and c.invitation_expires_at > now() and c.revoked_at is null
      limit 1`,
    values: [hash],
  };
}

/** Aborts its transaction when the invitation was used, or has ended, since it was found. */
export function useInvitation({ merchant_id, id }: PersonRow, hash: Buffer): Statement {
  return {
    name: 'use_invitation',
    text: `
      with used as (
        update credentials c
        set invitation_hash = null, invitation_expires_at = null, version = version + 1
        where c.merchant_id = $1 and c.id = $2 and c.invitation_hash = $3
          and c.invitation_expires_at > now() and c.revoked_at is null
        returning c.id)
      select expect_rows(count(*), 1) from used`,
    values: [merchant_id, id, hash],
  };
}

export function setPassword({ merchant_id, id }: PersonRow, hash: string): Statement {
  return {
    name: 'set_password',
    text: `
      insert into person_passwords (merchant_id, credential_id, hash, set_at)
      values ($1, $2, $3, clock_timestamp())
      on conflict (merchant_id, credential_id)
        do update set hash = excluded.hash, set_at = excluded.set_at`,
    values: [merchant_id, id, hash],
  };
}

/** Those with this name who have a password: of one merchant, or (null) of all. Two say: which? */
export function findByName(
  merchant: string | null,
  nameKey: string,
): Statement<PersonRow & { readonly hash: string }> {
  return {
    name: 'find_person_by_name',
    text: `
      select ${person}, p.hash
      from credentials c
      join merchants m on m.id = c.merchant_id and m.disabled_at is null
      join person_passwords p on p.merchant_id = c.merchant_id and p.credential_id = c.id
        and p.set_at >= c.invited_at
      where c.name_key = $2 and ($1::text is null or c.merchant_id = $1)
        and c.role is not null and c.revoked_at is null
      limit 2`,
    values: [merchant === null ? null : lookupId(merchant), nameKey],
  };
}

export function findPerson(merchant: MerchantId, id: string): Statement<PersonRow> {
  return {
    name: 'find_person',
    text: `
      select ${person} from credentials c join merchants m on m.id = c.merchant_id
      where c.merchant_id = $1 and c.id = $2 and c.role is not null`,
    values: [merchant, id],
  };
}

/** Aborts its transaction when the person was revoked, or invited again, since the look-up. */
export function insertSession({ merchant_id, id }: PersonRow, token: KeptToken): Statement {
  return {
    name: 'insert_session',
    text: `
      with made as (
        insert into credential_tokens (token_hash, merchant_id, credential_id, last_four,
          created_at, expires_at)
        select $3, c.merchant_id, c.id, $4, clock_timestamp(),
          clock_timestamp() + interval '${limits.sessionIdleHours} hours'
        from credentials c
        where c.merchant_id = $1 and c.id = $2 and c.role is not null and c.revoked_at is null
          and c.invitation_hash is null
        for share
        returning token_hash)
      select expect_rows(count(*), 1) from made`,
    values: [merchant_id, id, token.tokenHash, token.lastFour],
  };
}

export function endSession(merchant: MerchantId, tokenHash: Buffer): Statement {
  return {
    name: 'end_session',
    text: `
      update credential_tokens set expires_at = least(expires_at, statement_timestamp())
      where merchant_id = $1 and token_hash = $2`,
    values: [merchant, tokenHash],
  };
}

/** Sessions of a person that ended a while ago, some of them. What a consent rests on stays. */
export function forgetSessions({ merchant_id, id }: PersonRow): Statement {
  return {
    name: 'forget_sessions',
    text: `
      delete from credential_tokens where token_hash in (
        select t.token_hash from credential_tokens t
        where t.merchant_id = $1 and t.credential_id = $2
          and t.expires_at < now() - interval '${limits.endedTokenDays} days'
          and not exists (select from credentials g where g.given_by = t.token_hash)
        limit 20 for update of t skip locked)`,
    values: [merchant_id, id],
  };
}

/**
 * One try at the password of somebody. No row: there were too many, and this one does not count.
 * One statement for all nodes, so the limit is exact. A row goes once all of its tries are back.
 */
export function takeTry(subject: Buffer): Statement<{ full_at: string }> {
  const { signInTries: tries, signInTryMinutes: minutes } = limits;
  return {
    name: 'take_sign_in_try',
    text: `
      insert into sign_in_tries as t (subject, full_at)
      values ($1, statement_timestamp() + interval '${minutes} minutes')
      on conflict (subject) do update
        set full_at = greatest(t.full_at, statement_timestamp()) + interval '${minutes} minutes'
        where t.full_at <= statement_timestamp() + interval '${(tries - 1) * minutes} minutes'
      returning full_at`,
    values: [subject],
  };
}

export const forgetTries: Statement = {
  name: 'forget_sign_in_tries',
  text: `
    delete from sign_in_tries where subject in (
      select t.subject from sign_in_tries t where t.full_at < clock_timestamp()
      limit 20 for update skip locked)`,
  values: [],
};
