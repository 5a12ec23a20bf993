// The operator as a caller: what commands write takes the same write path as requests over HTTP, as
// a credential of the merchant that has no token.

import type { Principal } from '../../core/principal.ts';
import { Problem } from '../../core/problem.ts';
import type { Reader } from '../../core/statement.ts';
import { scopes } from '../../resources.ts';
import { findOperator, type OperatorRow } from './credential-store.ts';

/** The operator as a caller at a merchant. @throws Problem not_found */
export async function operatorAt(reader: Reader, merchantId: string): Promise<Principal> {
  return operatorPrincipal(await operatorRow(reader, merchantId));
}

/** @throws Problem not_found */
export async function operatorRow(reader: Reader, merchantId: string): Promise<OperatorRow> {
  const [operator] = await reader.query(findOperator(merchantId));
  if (operator !== undefined) return operator;
  throw new Problem('not_found', { message: `there is no merchant ${merchantId}` });
}

export function operatorPrincipal(row: OperatorRow): Principal {
  return {
    merchant: row.merchant_id,
    merchantName: row.merchant_name,
    credentialId: row.id,
    credentialName: row.name,
    kind: 'personal_access_token',
    role: null,
    application: null,
    scopes: new Set(scopes),
    tokenScopes: null,
    locations: 'all',
    expiresAt: null,
    lastUsedAt: null,
    rateLimit: null,
    merchantRateLimit: null,
  };
}
