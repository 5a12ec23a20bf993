// The statements of merchants, credentials and their tokens.

import { lookupId } from '../core/id.ts';
import type { CredentialKind } from '../core/principal.ts';
import type { Statement } from '../core/statement.ts';

export interface CredentialRow {
  readonly position: number;
  readonly merchant_id: string;
  readonly merchant_name: string;
  readonly id: string;
  readonly kind: CredentialKind;
  readonly scopes: readonly string[];
  readonly all_locations: boolean;
  readonly location_ids: readonly string[];
  readonly expires_at: string;
  readonly last_used_at: string | null;
  readonly location_exists: boolean;
}

/**
 * The live credentials behind tokens, each with whether the location asked about is one of its
 * merchant's. Expiry is judged by the database's clock: a service whose clock is wrong admits
 * nobody too long.
 */
export function findCredentials(
  lookUps: readonly { readonly tokenHash: Buffer; readonly locationId: string | undefined }[],
): Statement<CredentialRow> {
  return {
    name: 'find_credentials',
    text: `
      select asked.position, c.merchant_id, m.name as merchant_name, c.id, c.kind, c.scopes,
        c.all_locations, c.location_ids, t.expires_at, c.last_used_at,
        l.id is not null as location_exists
      from unnest($1::bytea[], $2::text[]) with ordinality
        as asked (token_hash, location_id, position)
      join credential_tokens t on t.token_hash = asked.token_hash and t.expires_at > now()
      join credentials c on c.merchant_id = t.merchant_id and c.id = t.credential_id
        and c.revoked_at is null
      join merchants m on m.id = c.merchant_id
      left join locations l on c.all_locations and l.merchant_id = c.merchant_id
        and l.id = asked.location_id`,
    values: [
      lookUps.map((lookUp) => lookUp.tokenHash),
      lookUps.map(({ locationId }) => (locationId === undefined ? null : lookupId(locationId))),
    ],
  };
}

/** The built-in credential that a merchant's operator acts as. It has no token. */
export function findOperator(merchantId: string): Statement<OperatorRow> {
  return {
    name: 'find_operator',
    text: `
      select c.merchant_id, m.name as merchant_name, c.id
      from credentials c join merchants m on m.id = c.merchant_id
      where c.merchant_id = $1 and c.is_operator`,
    values: [lookupId(merchantId)],
  };
}

export interface OperatorRow {
  readonly merchant_id: string;
  readonly merchant_name: string;
  readonly id: string;
}
