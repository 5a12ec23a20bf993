// The operator as a caller: what is done by command goes through the same write path as what is
// done over HTTP, as a credential of the merchant that no token leads to.

import { type MerchantId, type Principal, scopes } from '../../core/principal.ts';
import type { OperatorRow } from '../store.ts';

export function operatorPrincipal(row: OperatorRow): Principal {
  return {
    merchant: row.merchant_id as MerchantId,
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
