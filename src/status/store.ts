// The statements of what needs a person. Each has in it what the caller may see.

import type { Sight } from '../access/managed-store.ts';
import { limits } from '../core/limits.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import type { Statement } from '../core/statement.ts';

export interface NamedNeed {
  readonly id: string;
  readonly name: string;
  readonly at: string;
  readonly is_over: boolean;
}

const isVisible = `(c.id = $2 or $3::text[] is null
  or not c.all_locations and c.location_ids <@ $3)`;

const days = `interval '${limits.needsDays} days'`;

/** Tokens of programs that end soon or ended lately: one of a week is not named on day one. */
export function findEndingTokens(may: Sight): Statement<NamedNeed> {
  return {
    name: 'find_ending_tokens',
    text: `
      select c.id, c.name, newest.expires_at as at, newest.expires_at <= now() as is_over
      from credentials c
      cross join lateral (
        select t.expires_at, t.created_at from credential_tokens t
        where t.merchant_id = c.merchant_id and t.credential_id = c.id
        order by t.created_at desc limit 1) newest
      where c.merchant_id = $1 and c.role is null and c.application_id is null
        and c.revoked_at is null and ${isVisible} and newest.expires_at > now() - ${days}
        and newest.expires_at - now() <= least(${days},
          (newest.expires_at - newest.created_at) / 3)
      order by newest.expires_at, c.id limit ${limits.needsShown}`,
    values: [may.merchant, may.credentialId, may.locations],
  };
}

/** Those of live people that nobody used in time. */
export function findEndedInvitations(may: Sight): Statement<NamedNeed> {
  return {
    name: 'find_ended_invitations',
    text: `
      select c.id, c.name, c.invitation_expires_at as at, true as is_over from credentials c
      where c.merchant_id = $1 and c.role is not null and c.revoked_at is null and ${isVisible}
        and c.invitation_expires_at <= now()
      order by c.id limit ${limits.needsShown}`,
    values: [may.merchant, may.credentialId, may.locations],
  };
}

export interface ExpiredAt {
  readonly id: string;
  readonly name: string;
  readonly count: number;
  readonly at: string;
}

/** Of the last reservations of each location that have expired, those of the last day. */
export function findExpired(
  merchant: MerchantId,
  locations: readonly GrantedLocationId[] | null,
): Statement<ExpiredAt> {
  return {
    name: 'find_expired_lately',
    text: `
      select l.id, l.name, expired.count, expired.at
      from locations l
      cross join lateral (
        select count(*)::int as count, max(e.ended_at) as at
        from (
          select r.ended_at from inventory_reservations r
          where r.merchant_id = l.merchant_id and r.location_id = l.id and r.status = 'expired'
          order by r.id desc limit 200) e
        where e.ended_at > now() - interval '1 day') expired
      where l.merchant_id = $1 and ($2::text[] is null or l.id = any ($2)) and expired.count > 0
      order by l.id limit ${limits.needsShown}`,
    values: [merchant, locations],
  };
}
