// The operator as a caller: what commands write takes the same write path as requests over HTTP, as
// a credential of the merchant that has no token.

import type { Principal } from '../../core/principal.ts';
import { scopes } from '../../resources.ts';
import type { OperatorRow } from './credential-store.ts';

export function operatorPrincipal(row: OperatorRow): Principal {
  return {
    merchant: row.merchant_id,
    merchantName: row.merchant_name,
    credentialId: row.id,
    kind: 'personal_access_token',
    application: null,
    scopes: new Set(scopes),
    locations: 'all',
    expiresAt: null,
    lastUsedAt: null,
    rateLimit: null,
    merchantRateLimit: null,
  };
}
