// The statements of rate limits: the buckets that all nodes share, by the database's clock, and the
// limits as the operator sets them. A bucket is one moment, that at which it will be full again; a
// missing one is full.

import { lookupId } from '../../core/id.ts';
import type { MerchantId } from '../../core/principal.ts';
import type { Statement } from '../../core/statement.ts';

/** What a node asks of one bucket. */
export interface BucketAsk {
  readonly merchantId: string;
  /** Empty for the merchant as a whole. */
  readonly credentialId: string;
  /** How long one token takes to come in. */
  readonly secondsPerToken: number;
  /** The tokens that the bucket holds when it is full. */
  readonly size: number;
  /** Used already, or, below zero, given back. */
  readonly owed: number;
  /** Tokens that this node alone has used and that would not have come in again. */
  readonly usedHere: number;
  readonly wanted: number;
}

export interface BucketAnswer {
  /** That of the ask, from 1 on. */
  readonly position: number;
  readonly granted: number;
  /** Seconds until the bucket will be full. */
  readonly full_in: number;
}

/**
 * Settles what is owed, then takes what is wanted, or the whole tokens that are there. What nodes
 * used before they settle has been used at its own time: the bucket is as empty as if it had been
 * taken then, which is the later of what the row and what the node says. A row beyond empty is of a
 * limit that was higher, or of a clock that was set. Rows are locked in the order of their key; two
 * nodes that make the same one at once both take from it.
 */
export function takeTokens(asks: readonly BucketAsk[]): Statement<BucketAnswer> {
  const column = (value: (ask: BucketAsk) => string | number) => asks.map(value);
  return {
    name: 'take_tokens',
    text: `
      with asked as (
        select a.position, a.merchant_id, a.credential_id, a.pace, a.size, a.owed, a.used_here,
          a.wanted
        from unnest($1::text[], $2::text[], $3::float8[], $4::float8[], $5::float8[], $6::float8[],
          $7::float8[]) with ordinality
          as a (merchant_id, credential_id, pace, size, owed, used_here, wanted, position)
      ), known as (
        select b.merchant_id, b.credential_id,
          extract(epoch from b.full_at - now())::float8 as full_in
        from asked a join rate_buckets b using (merchant_id, credential_id)
        order by b.merchant_id, b.credential_id for no key update of b
      ), settled as (
        select a.position, merchant_id, credential_id, a.pace, a.size, a.wanted,
          k.full_in is not null as is_known,
          greatest(least(coalesce(k.full_in, '-infinity'), a.pace * a.size * 1.25)
            + a.owed * a.pace, a.used_here * a.pace, 0) as full_in
        from asked a left join known k using (merchant_id, credential_id)
      ), granted as (
        select s.position, s.merchant_id, s.credential_id, s.pace, s.is_known, s.full_in, g.tokens
        from settled s cross join lateral (select greatest(0, least(s.wanted,
          floor(s.size - s.full_in / s.pace + 0.01))) as tokens) g
      ), taken as (
        select position, merchant_id, credential_id, is_known, tokens,
          full_in + tokens * pace as full_in
        from granted
      ), updated as (
        update rate_buckets b set full_at = now() + make_interval(secs => t.full_in)
        from taken t
        where t.is_known and b.merchant_id = t.merchant_id and b.credential_id = t.credential_id
      ), inserted as (
        insert into rate_buckets as b (merchant_id, credential_id, full_at)
        select t.merchant_id, t.credential_id, now() + make_interval(secs => t.full_in)
        from taken t where not t.is_known order by t.merchant_id, t.credential_id
        on conflict (merchant_id, credential_id) do update
          set full_at = greatest(b.full_at, now()) + (excluded.full_at - now())
      )
      select t.position, t.tokens as granted, t.full_in from taken t`,
    values: [
      column((ask) => ask.merchantId),
      column((ask) => ask.credentialId),
      column((ask) => ask.secondsPerToken),
      column((ask) => ask.size),
      column((ask) => ask.owed),
      column((ask) => ask.usedHere),
      column((ask) => ask.wanted),
    ],
  };
}

/** A limit as its row has it: null a minute means the default, 0 that there is none. */
export interface LimitRow {
  readonly requests_per_minute: number | null;
  readonly request_burst: number | null;
}

export function findMerchantLimit(merchant: MerchantId): Statement<LimitRow> {
  return {
    name: 'find_merchant_limit',
    text: 'select requests_per_minute, request_burst from merchants where id = $1',
    values: [merchant],
  };
}

export function findCredentialLimit(merchant: MerchantId, id: string): Statement<LimitRow> {
  return {
    name: 'find_credential_limit',
    text: `
      select requests_per_minute, request_burst from credentials
      where merchant_id = $1 and id = $2`,
    values: [merchant, lookupId(id)],
  };
}

export function setMerchantLimit(merchant: MerchantId, limit: LimitRow): Statement<LimitRow> {
  return {
    name: 'set_merchant_limit',
    text: `
      update merchants set requests_per_minute = $2, request_burst = $3
      where id = $1 returning requests_per_minute, request_burst`,
    values: [merchant, limit.requests_per_minute, limit.request_burst],
  };
}

/** Not of one that is revoked, nor of the operator's, which no request comes from. */
export function setCredentialLimit(
  merchant: MerchantId,
  id: string,
  limit: LimitRow,
): Statement<LimitRow> {
  return {
    name: 'set_credential_limit',
    text: `
      update credentials set requests_per_minute = $3, request_burst = $4
      where merchant_id = $1 and id = $2 and revoked_at is null and not is_operator
      returning requests_per_minute, request_burst`,
    values: [merchant, lookupId(id), limit.requests_per_minute, limit.request_burst],
  };
}

/**
 * Of the limit before: its moment means nothing under another one. Nodes make it anew from what
 * each of them has admitted.
 */
export function forgetBucket(merchant: MerchantId, credentialId: string): Statement {
  return {
    name: 'forget_bucket',
    text: 'delete from rate_buckets where merchant_id = $1 and credential_id = $2',
    values: [merchant, credentialId],
  };
}
