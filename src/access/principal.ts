// What a credential may do, from the rows as they are now. A personal access token has its own
// permissions. An OAuth token may do what it was asked for, what its credential may, and, when it
// is of a consent, what both the approval and the token that gave the consent may.

import { limits } from '../core/limits.ts';
import type { GrantedLocationId, Principal, RateLimit } from '../core/principal.ts';
import type { CredentialRow, Permissions } from './store.ts';

export function principalOf(row: CredentialRow): Principal {
  return {
    merchant: row.merchant_id,
    merchantName: row.merchant_name,
    credentialId: row.id,
    credentialName: row.name,
    kind: row.kind,
    role: row.role,
    application: row.oauth?.application ?? null,
    scopes: scopesOf(row),
    tokenScopes: row.oauth?.token_scopes ?? null,
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

/** Whether a location is the merchant's and all permissions have it. */
export function isGranted(row: CredentialRow, locationId: string): locationId is GrantedLocationId {
  // The row says whether it exists when the credential itself does not name it.
  if (row.all_locations && !row.location_exists) return false;
  return permissionsOf(row).every((one) => hasLocation(one, locationId));
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
  const permissions = permissionsOf(row);
  return new Set(asked.filter((scope) => permissions.every((one) => one.scopes.includes(scope))));
}

function locationsOf(row: CredentialRow): Principal['locations'] {
  const permissions = permissionsOf(row);
  const limited = permissions.find((one) => !one.all_locations);
  if (limited === undefined) return 'all';
  return limited.location_ids.filter((id) => permissions.every((one) => hasLocation(one, id)));
}

function hasLocation({ all_locations, location_ids }: Permissions, locationId: string): boolean {
  return all_locations || location_ids.some((id) => id === locationId);
}

/** All of them must allow something. */
function permissionsOf(row: CredentialRow): readonly Permissions[] {
  return row.oauth === null ? [row] : [row, ...row.oauth.behind];
}
