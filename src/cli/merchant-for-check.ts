// `tallybook merchant create --for-check`: a merchant for `tallybook check`, with what the check
// needs and cannot make over HTTP: tokens of several kinds, a second merchant, an application.

import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../core/limits.ts';
import type { MerchantId, Scope } from '../core/principal.ts';
import type { Database } from '../database/connect.ts';
import type { Store } from '../database/open.ts';
import { scopes as allScopes } from '../resources.ts';
import { daySeconds } from './access.ts';

/** What `tallybook check --tokens` reads, with what an operator wants to know. */
interface MerchantForCheck {
  readonly merchant_id: string;
  readonly other_merchant_id: string;
  readonly token: string;
  readonly narrow_token: string;
  readonly other_token: string;
  readonly limited_token: string;
  readonly expired_token: string;
  readonly revoked_token: string;
  readonly client_id: string;
  readonly client_secret: string;
}

const lifeSeconds = limits.tokenDaysDefault * daySeconds;
const narrowScopes: readonly Scope[] = ['inventory.read', 'inventory.write', 'events.read'];
const applicationScopes: readonly Scope[] = ['products.read', 'products.write', 'inventory.read'];
/** Met by a few requests, and over soon. */
const slowLimit = { perMinute: 60, burst: 5 };

export async function createForCheck(
  { database, secret }: Pick<Store, 'database' | 'secret'>,
  name: string,
): Promise<MerchantForCheck> {
  const { createMerchant } = await import('../access/operator/merchants.ts');
  const { createService } = await import('../app.ts');
  const service = createService({ database, secret });
  const merchant = (await createMerchant(database, name)).id;
  const other = (await createMerchant(database, `${name} (the other one)`)).id;
  const locate = async (owner: string, code: string) => {
    const body = { name: `tallybook check ${code}`, code };
    const { data } = await service.performAsOperator(owner, 'locations.create', body);
    return (data as { readonly id: string }).id;
  };
  const here = await locate(merchant, 'CHECK-1');
  await locate(merchant, 'CHECK-2');
  await locate(other, 'CHECK-1');
  return {
    merchant_id: merchant,
    other_merchant_id: other,
    ...(await tokensOf(database, merchant, other, here)),
    ...(await applicationOf(database, merchant, name)),
  };
}

async function tokensOf(database: Database, merchant: MerchantId, other: MerchantId, here: string) {
  const { createCredential, revoke } = await import('../access/operator/credentials.ts');
  const { setLimit } = await import('../access/operator/limits.ts');
  const all = { merchant, scopes: allScopes, locations: 'all', lifeSeconds } as const;
  const make = (name: string, more: Partial<Parameters<typeof createCredential>[1]> = {}) =>
    createCredential(database, { ...all, name: `check: ${name}`, ...more });
  const wide = await make('all');
  const narrow = await make('a till', { scopes: narrowScopes, locations: [here] });
  const foreign = await make('the other merchant', { merchant: other });
  const limited = await make('a low limit');
  await setLimit(database, { credential: limited.credential.id }, slowLimit);
  const expired = await make('expired', { lifeSeconds: 0 });
  const revoked = await make('revoked');
  await revoke(database, revoked.credential.id);
  // Whoever checks at once finds it ended.
  await sleep(1_000);
  return {
    token: wide.token,
    narrow_token: narrow.token,
    other_token: foreign.token,
    limited_token: limited.token,
    expired_token: expired.token,
    revoked_token: revoked.token,
  };
}

async function applicationOf(database: Database, merchant: MerchantId, name: string) {
  const { approve, createApplication } = await import('../access/operator/applications.ts');
  const made = await createApplication(database, {
    name: `${name} (check)`,
    scopes: applicationScopes,
    redirectUris: [],
    jwks: undefined,
  });
  const { id } = made.application;
  await approve(database, id, { merchant, scopes: applicationScopes, locations: 'all' });
  if (made.secret === undefined) throw new Error('the application has no secret');
  return { client_id: id, client_secret: made.secret };
}
