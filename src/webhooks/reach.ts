// What a webhook may be sent: what its credential may read now, within what the token that made it
// was limited to.

import { principalOf } from '../access/principal.ts';
import { type AbsentCaller, findAbsent } from '../access/store.ts';
import type { Principal } from '../core/principal.ts';
import type { Reader } from '../core/statement.ts';

/** A webhook, by what its reach depends on. */
export interface WebhookMaker {
  readonly merchant: AbsentCaller['merchant'];
  readonly credential_id: string;
  readonly token_scopes: readonly string[] | null;
}

/**
 * In the order of those asked for. Undefined for one that has ended: its credential was revoked, or
 * may no longer have webhooks; its last personal token has expired; its consent, its approval, its
 * application or its merchant has ended.
 */
export async function readReaches(
  reader: Reader,
  makers: readonly WebhookMaker[],
): Promise<(Principal | undefined)[]> {
  const callers = makers.map(({ merchant, credential_id, token_scopes }) => ({
    merchant,
    credentialId: credential_id,
    tokenScopes: token_scopes,
  }));
  const rows = await reader.query(findAbsent(callers));
  const byPosition = new Map(rows.map((row) => [row.position, principalOf(row)]));
  return makers.map((_, position) => {
    const principal = byPosition.get(position);
    return principal?.scopes.has('webhooks.write') === true ? principal : undefined;
  });
}
