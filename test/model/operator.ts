// What the operator does while requests come in, by the functions behind the command line: it makes
// merchants and credentials, changes what those may do, and erases customers.

import { expect } from 'vitest';
import {
  changeLocations,
  changeScopes,
  createCredential,
  revoke as revokeCredential,
  rotateToken,
} from '../../src/access/operator/credentials.ts';
import type { JsonObject } from '../../src/contract/json.ts';
import type { MerchantId, Scope } from '../../src/core/principal.ts';
import { agedBy, type Command, command } from './commands.ts';
import { statusNow } from './ledger.ts';
import { end } from './reservations.ts';
import {
  actorOf,
  type Credential,
  type Merchant,
  newActor,
  newMerchant,
  nextPosition,
  type World,
} from './world.ts';

/** Numbers name locations of the merchant. */
interface Grant {
  readonly scopes: readonly Scope[];
  readonly locations: 'all' | readonly number[];
}

export const open = (draft: { name: string }): Command =>
  command('open', draft, async (world, real) => {
    world.merchants.push(newMerchant(await real.newMerchant(draft.name), draft.name));
  });

export const issue = (draft: Grant & { merchant: number }): Command =>
  command('issue', draft, async (world, { operator }) => {
    const merchant = world.merchants[draft.merchant % world.merchants.length];
    if (merchant === undefined) return;
    const { scopes } = draft;
    const locations = placesOf(merchant, draft.locations);
    const name = `Till ${world.credentials.length}`;
    const issued = await createCredential(operator, {
      merchant: merchant.id as MerchantId,
      name,
      scopes,
      locations,
      lifeSeconds: 3_600,
    });
    const { id, created_at, expires_at, last_four } = issued.credential;
    const credential: Credential = {
      ...{ merchant, id, actor: newActor(id, name), isIssued: true, role: null, version: 1 },
      ...{ created_at, revoked_at: null, expires_at, last_four },
      ...{ invitation: null, invitation_expires_at: null },
      ...{ scopes, locations, tokens: [issued.token], ended: [] },
    };
    world.credentials.push(credential);
    merchant.tokens.set(id, credential);
  });

export const grant = (draft: { which: number; locations: Grant['locations'] }): Command =>
  command('grant', draft, async (world, { operator }) => {
    const credential = liveCredential(world, draft.which);
    if (credential === undefined) return;
    credential.locations = placesOf(credential.merchant, draft.locations);
    credential.version += 1;
    await changeLocations(operator, credential.id, credential.locations);
  });

export const rescope = (draft: { which: number; scopes: readonly Scope[] }): Command =>
  command('rescope', draft, async (world, { operator }) => {
    const credential = liveCredential(world, draft.which);
    if (credential === undefined) return;
    credential.scopes = draft.scopes;
    credential.version += 1;
    await changeScopes(operator, credential.id, draft.scopes);
  });

export const rotate = (draft: { which: number; hasOverlap: boolean }): Command =>
  command('rotate', draft, async (world, { operator }) => {
    const credential = liveCredential(world, draft.which);
    if (credential === undefined) return;
    const overlap = draft.hasOverlap ? 3_600 : 0;
    const { token, credential: rotated } = await rotateToken(operator, credential.id, overlap);
    credential.expires_at = rotated.expires_at;
    credential.last_four = rotated.last_four;
    if (!draft.hasOverlap) credential.ended = [...credential.ended, ...credential.tokens];
    credential.tokens = [...(draft.hasOverlap ? credential.tokens : []), token];
  });

export const revoke = (draft: { which: number }): Command =>
  command('revoke', draft, async (world, { operator }) => {
    const credential = liveCredential(world, draft.which);
    if (credential === undefined) return;
    credential.ended = [...credential.ended, ...credential.tokens];
    credential.tokens = [];
    credential.version += 1;
    ({ revoked_at: credential.revoked_at } = await revokeCredential(operator, credential.id));
  });

export const erase = (draft: { merchant: number; which: number }): Command =>
  command('erase', draft, async (world, { erase }) => {
    const merchant = world.merchants[draft.merchant % world.merchants.length];
    const rows = [...(merchant?.customers.values() ?? [])];
    const row = rows[draft.which % rows.length];
    if (merchant === undefined || row === undefined) return;
    const id = String(row.id);
    const operation = await erase(merchant.id, id);
    const resource = { type: 'customer', id };
    const written = { type: 'customers.erase', resource, location_id: null };
    record(merchant, operation, written, !merchant.erased.has(id));
    merchant.erased.add(id);
    // Another one may have it now.
    merchant.customers.set(id, { ...row, external_id: null });
  });

/** Lets the time of an active reservation come. Nothing tells it: from now on it counts no more. */
export const lapse = (draft: { merchant: number; which: number }): Command =>
  command('lapse', draft, async (world, real) => {
    const { merchant, rows: active } = held(world, draft.merchant, 'active');
    const rows = active.filter(({ expires_at }) => expires_at !== null);
    const row = rows[draft.which % rows.length];
    if (merchant === undefined || row === undefined) return;
    const at = new Date(Date.now() - 1_000).toISOString();
    await real.lapse(merchant.id, String(row.id), at);
    merchant.reservations.set(String(row.id), { ...row, expires_at: at });
  });

/** Tells that one has expired, as the sweep does. */
export const expire = (draft: { merchant: number; which: number }): Command =>
  command('expire', draft, async (world, real) => {
    const { merchant, rows } = held(world, draft.merchant, 'expired');
    const row = rows[draft.which % rows.length];
    if (merchant === undefined || row === undefined) return;
    const id = String(row.id);
    const operation = await real.expire(merchant.id, id);
    const resource = { type: 'inventory_reservation', id };
    const written = { type: 'inventory.expire', resource, location_id: row.location_id ?? null };
    record(merchant, operation, written, true);
    const at = String(operation.created_at);
    end(merchant, row, { status: 'expired', at, operation: String(operation.id), note: null });
    real.note('inventory.expire done');
  });

/** Those of a merchant that nothing has ended, by what they are now. */
function held({ merchants }: World, n: number, status: string) {
  const merchant = merchants[n % merchants.length];
  const rows = [...(merchant?.reservations.values() ?? [])].filter(
    (row) => row.ended_at === null && statusNow(row) === status,
  );
  return { merchant, rows };
}

/** What the operator's credential has written. */
function record(
  merchant: Merchant,
  { created_at, ...operation }: JsonObject,
  written: JsonObject,
  isChange: boolean,
): void {
  const position = isChange ? nextPosition(merchant, String(created_at)) : null;
  expect(operation.position).toBe(position);
  merchant.operations.set(String(operation.id), {
    ...operation,
    ...{ status: 'succeeded', error: null, created_at: null },
    ...written,
    actor: actorOf({ actor: newActor(String(operation.credential_id), 'operator') }),
  });
}

/** Lets so much time pass for all that has happened that levels can be asked for by it. */
export const age = (): Command =>
  command('age', {}, async (world, { age }) => {
    await age(world.merchants.map(({ id }) => id));
    const earlier = (at: unknown) => new Date(Date.parse(String(at)) - agedBy).toISOString();
    world.begun -= agedBy;
    for (const { journal, movements, levels, operations } of world.merchants) {
      for (const [n, at] of journal.times.entries()) journal.times[n] = earlier(at);
      for (const [rows, member] of [
        [movements, 'recorded_at'],
        [levels, 'updated_at'],
        [operations, 'created_at'],
      ] as const) {
        for (const [id, row] of rows) {
          const at = row[member] === null ? null : earlier(row[member]);
          rows.set(id, { ...row, [member]: at });
        }
      }
    }
  });

function liveCredential({ credentials }: World, n: number): Credential | undefined {
  const live = credentials.filter(({ role, tokens }) => role === null && tokens.length > 0);
  return live[n % live.length];
}

function placesOf({ locations }: Merchant, wanted: Grant['locations']): 'all' | readonly string[] {
  if (wanted === 'all') return 'all';
  const ids = [...locations.keys()];
  const chosen = wanted.flatMap((n) => ids[n % ids.length] ?? []);
  return [...new Set(chosen)].sort();
}
