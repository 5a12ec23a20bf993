// The statements of pruning: which credentials were not used for a year, and what OAuth leaves
// behind. All by the database's clock. Rows that are locked at the moment are skipped.

import { limits } from '../../core/limits.ts';
import type { CredentialKind, MerchantId } from '../../core/principal.ts';
import type { Statement } from '../../core/statement.ts';

/** A credential that was not used for a year. */
export interface UnusedCredential {
  readonly id: string;
  readonly merchant_id: string;
  readonly name: string;
  readonly kind: CredentialKind;
  readonly application: { readonly id: string; readonly name: string } | null;
  /** Of a consent: the approval that it was given under. */
  readonly approval_id: string | null;
  readonly created_at: string;
  readonly last_used_at: string | null;
}

/**
 * The use of a consent also counts as a use of its approval, because a consent ends with its
 * approval. The operator's built-in credential and people have no token, so they are not listed.
 */
const isUnused = `c.revoked_at is null and not c.is_operator and c.role is null
  and greatest(coalesce(c.last_used_at, c.created_at), (
    select max(coalesce(n.last_used_at, n.created_at)) from credentials n
    where n.merchant_id = c.merchant_id and n.approval_id = c.id))
  < now() - interval '${limits.unusedCredentialYears} years'`;

export function listUnused(
  merchant: MerchantId,
  after: string,
  limit: number,
): Statement<UnusedCredential> {
  return {
    name: 'list_unused_credentials',
    text: `
      select c.id, c.merchant_id, c.name, c.kind, c.approval_id, c.created_at, c.last_used_at,
        case when a.id is not null then json_build_object('id', a.id, 'name', a.name) end
          as application
      from credentials c left join applications a on a.id = c.application_id
      where c.merchant_id = $1 and c.id > $2 and ${isUnused}
      order by c.id limit $3`,
    values: [merchant, after, limit],
  };
}

/** Aborts its transaction when the credential was used, or revoked, since it was listed. */
export function revokeUnused(merchant: MerchantId, id: string): Statement {
  return {
    name: 'revoke_unused_credential',
    text: `
      with revoked as (
        update credentials c set revoked_at = now()
        where c.merchant_id = $1 and c.id = $2 and ${isUnused}
        returning c.id)
      select expect_rows(count(*), 1) from revoked`,
    values: [merchant, id],
  };
}

interface Count {
  readonly count: number;
}

/** They are kept for a day after their end, so that a search for a reason still finds them. */
const isOver = (column: string) => `${column} < now() - interval '${limits.endedTokenDays} days'`;

const endedTokens = `
  from credential_tokens t
  join credentials c on c.merchant_id = t.merchant_id and c.id = t.credential_id
  where t.merchant_id = $1 and c.kind = 'oauth_access_token' and ${isOver('t.expires_at')}`;

export function countEndedTokens(merchant: MerchantId): Statement<Count> {
  return {
    name: 'count_ended_tokens',
    text: `select count(*)::int as count ${endedTokens}`,
    values: [merchant],
  };
}

/** Some of the access tokens of applications, at most `limit`; says how many they were. */
export function removeEndedTokens(merchant: MerchantId, limit: number): Statement<Count> {
  return {
    name: 'remove_ended_tokens',
    text: `
      with ended as (
        select t.token_hash ${endedTokens} limit $2 for update of t skip locked),
      removed as (
        delete from credential_tokens t using ended e
        where t.merchant_id = $1 and t.token_hash = e.token_hash
        returning t.token_hash)
      select count(*)::int as count from removed`,
    values: [merchant, limit],
  };
}

export function countEndedRecords(): Statement<Count> {
  return {
    name: 'count_ended_records',
    text: `select count(*)::int as count from oauth_records where ${isOver('expires_at')}`,
    values: [],
  };
}

/** Some codes, refresh tokens and requests that have ended, at most `limit`. */
export function removeEndedRecords(limit: number): Statement<Count> {
  return {
    name: 'remove_ended_records',
    text: `
      with ended as (
        select id_hash from oauth_records where ${isOver('expires_at')}
        order by expires_at limit $1 for update skip locked),
      removed as (
        delete from oauth_records r using ended e where r.id_hash = e.id_hash
        returning r.id_hash)
      select count(*)::int as count from removed`,
    values: [limit],
  };
}
