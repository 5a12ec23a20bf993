// GET /credential: what the caller is and may do, from the principal that authentication has read.

import type { MemberEndpoint } from '../contract/endpoint.ts';
import type { Principal, RateLimit } from '../core/principal.ts';
import { getCredential } from './contract.ts';

export const accessEndpoints: readonly MemberEndpoint[] = [
  { contract: getCredential, run: async (_reads, principal) => presentCredential(principal) },
];

function presentCredential(principal: Principal): object {
  return {
    id: principal.credentialId,
    kind: principal.kind,
    role: principal.role,
    merchant: { id: principal.merchant, name: principal.merchantName },
    application: principal.application,
    scopes: [...principal.scopes],
    locations: principal.locations,
    expires_at: principal.expiresAt,
    last_used_at: principal.lastUsedAt,
    rate_limit: presentLimit(principal.rateLimit),
  };
}

function presentLimit(limit: RateLimit | null): object | null {
  return limit && { requests_per_minute: limit.perMinute, burst: limit.burst };
}
