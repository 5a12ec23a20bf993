// What a credential may do, from the rows as they are now. A personal access token stands for
// itself. An OAuth token may do what it was asked for, its credential may, and, for a consent, both
// the approval and the token that gave it may: it never exceeds any of them.

import { limits } from '../core/limits.ts';
import type { GrantedLocationId, MerchantId, Principal, RateLimit } from '../core/principal.ts';
import type { CredentialRow, Reach } from './store.ts';

export function principalOf(row: CredentialRow): Principal {
  return {
    merchant: row.merchant_id as MerchantId,
    merchantName: row.merchant_name,
    credentialId: row.id,
    kind: row.kind,
    application: row.oauth?.application ?? null,
    scopes: scopesOf(row),
    locations: locationsOf(row),
    expiresAt: row.expires_at,
    lastUsedAt: row.last_used_at,
    rateLimit: rateLimitOf(row.requests_per_minute, row.request_burst, {
      perMinute: limits.credentialRequestsPerMinute,
      burst: limits.credentialRequestBurst,
    }),
    merchantRateLimit: rateLimitOf(row.merchant_requests_per_minute, row.merchant_request_burst, {
      perMinute: limits.merchantRequestsPerMinute,
      burst: limits.merchantRequestBurst,
    }),
  };
}

/** Whether a location is the merchant's and everyone behind the credential reaches it. */
export function isGranted(row: CredentialRow, locationId: string): boolean {
  const reaches = reachesOf(row);
  // The row says whether it exists when the credential itself does not name it.
  if (row.all_locations && !row.location_exists) return false;
  return reaches.every((one) => one.all_locations || one.location_ids.includes(locationId));
}

/**
 * A limit as it was set, or the default. Without a burst of its own it allows a sixth of a minute
 * at once, as the defaults do.
 */
export function rateLimitOf(
  perMinute: number | null,
  burst: number | null,
  fallback: RateLimit,
): RateLimit | null {
  if (perMinute === null) return fallback;
  return perMinute === 0 ? null : { perMinute, burst: burst ?? Math.ceil(perMinute / 6) };
}

function scopesOf(row: CredentialRow): ReadonlySet<string> {
  const asked = row.oauth?.token_scopes ?? row.scopes;
  const reaches = reachesOf(row);
  return new Set(asked.filter((scope) => reaches.every((one) => one.scopes.includes(scope))));
}

function locationsOf(row: CredentialRow): Principal['locations'] {
  const reaches = reachesOf(row);
  const named = reaches.find((one) => !one.all_locations);
  if (named === undefined) return 'all';
  return named.location_ids.filter((id) =>
    reaches.every((one) => one.all_locations || one.location_ids.includes(id)),
  ) as GrantedLocationId[];
}

function reachesOf(row: CredentialRow): readonly Reach[] {
  return row.oauth === null ? [row] : [row, ...row.oauth.behind];
}
