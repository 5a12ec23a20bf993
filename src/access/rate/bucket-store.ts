// The buckets that all nodes share, by the database's clock. A bucket is one moment: when it will
// be full again. A missing one is full.

import type { Statement } from '../../core/statement.ts';

/** Nodes that find a bucket empty ask it one after the other, in this interval. */
export const askIntervalSeconds = 0.125;

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
  /** Tokens that this node alone had used when it asked and that would not have come in again. */
  readonly usedHere: number;
  readonly wanted: number;
}

export interface BucketAnswer {
  /** That of the ask, from 1 on. */
  readonly position: number;
  readonly granted: number;
  /** Seconds until the bucket will be full. */
  readonly full_in: number;
  /** Seconds until this node may ask again; null when it got all it wanted. */
  readonly next_ask_in: number | null;
  /** What the database's clock showed, in seconds since 1970. */
  readonly answered_at: number;
}

/**
 * Settles what is owed, then takes what is wanted, or the whole tokens that are there. What a node
 * used before it settles counts for the time when it was used: the bucket is as empty as the row or
 * the node says, whichever is emptier. The node knows what it had used when it asked, so what came
 * in while the question was on its way is taken off. A row beyond empty is of a limit that was
 * higher, or of a clock that was set. Rows are locked in the order of their key. Two nodes that
 * make the same row at the same time both take from it.
 * @param askedAt in seconds of the database's clock since 1970; null: now.
 */
export function takeTokens(
  asks: readonly BucketAsk[],
  askedAt: number | null,
): Statement<BucketAnswer> {
  return {
    name: 'take_tokens',
    text: `
      with asked as (
        select a.position, a.merchant_id, a.credential_id, a.pace, a.size, a.owed, a.wanted,
          a.used_here * a.pace - greatest(0, extract(epoch from now())::float8 - $8::float8)
            as full_here_in
        from unnest($1::text[], $2::text[], $3::float8[], $4::float8[], $5::float8[], $6::float8[],
          $7::float8[]) with ordinality
          as a (merchant_id, credential_id, pace, size, owed, used_here, wanted, position)
      ), known as (
        select b.merchant_id, b.credential_id,
          extract(epoch from b.full_at - now())::float8 as full_in,
          extract(epoch from b.next_ask_at - now())::float8 as next_ask_in
        from asked a join rate_buckets b using (merchant_id, credential_id)
        order by b.merchant_id, b.credential_id for no key update of b
      ), settled as (
        select a.position, merchant_id, credential_id, a.pace, a.size, a.wanted, k.next_ask_in,
          k.full_in is not null as is_known,
          greatest(least(coalesce(k.full_in, '-infinity'), a.pace * a.size * 1.25)
            + a.owed * a.pace, a.full_here_in, 0) as full_in
        from asked a left join known k using (merchant_id, credential_id)
      ), granted as (
        select s.position, s.merchant_id, s.credential_id, s.pace, s.wanted, s.is_known, s.full_in,
          s.next_ask_in, g.tokens
        from settled s cross join lateral (select greatest(0, least(s.wanted,
          floor(s.size - s.full_in / s.pace + 0.01))) as tokens) g
      ), taken as (
        select position, merchant_id, credential_id, is_known, tokens,
          full_in + tokens * pace as full_in,
          case when tokens < wanted then
            least(greatest(coalesce(next_ask_in, 0), 0) + ${askIntervalSeconds}, 1)
          end as next_ask_in
        from granted
      ), updated as (
        update rate_buckets b set full_at = now() + make_interval(secs => t.full_in),
          next_ask_at = coalesce(now() + make_interval(secs => t.next_ask_in), b.next_ask_at)
        from taken t
        where t.is_known and b.merchant_id = t.merchant_id and b.credential_id = t.credential_id
      ), inserted as (
        insert into rate_buckets as b (merchant_id, credential_id, full_at, next_ask_at)
        select t.merchant_id, t.credential_id, now() + make_interval(secs => t.full_in),
          now() + make_interval(secs => t.next_ask_in)
        from taken t where not t.is_known order by t.merchant_id, t.credential_id
        on conflict (merchant_id, credential_id) do update
          set full_at = greatest(b.full_at, now()) + (excluded.full_at - now())
      )
      select t.position, t.tokens as granted, t.full_in, t.next_ask_in,
        extract(epoch from now())::float8 as answered_at
      from taken t`,
    values: [...columnsOf(asks), askedAt],
  };
}

function columnsOf(asks: readonly BucketAsk[]): (string | number)[][] {
  const column = (value: (ask: BucketAsk) => string | number) => asks.map(value);
  return [
    column((ask) => ask.merchantId),
    column((ask) => ask.credentialId),
    column((ask) => ask.secondsPerToken),
    column((ask) => ask.size),
    column((ask) => ask.owed),
    column((ask) => ask.usedHere),
    column((ask) => ask.wanted),
  ];
}
