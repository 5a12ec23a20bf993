// When a credential was last used: known within a second or so, written once in a quarter of an
// hour however much it is used, and never a reason for a request to wait.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { makeEverywhere, withoutLimits } from '../../test/kit/database.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import type { GivenCredential } from '../../test/kit/given.ts';
import { mintId } from '../core/id.ts';
import type { MerchantId } from '../core/principal.ts';
import { connectDatabase, type Database } from '../database/connect.ts';
import { Authenticator } from './authenticator.ts';
import { LastUses } from './last-use.ts';
import { allCredentials, credentialById } from './operator/credentials.ts';

let service: Environment;
let operator: Database;
let merchant: string;
let credential: GivenCredential;

beforeAll(async () => {
  service = await startEnvironment();
  operator = connectDatabase({ url: service.db.serviceUrl, writers: 1 });
  await withoutLimits(service.db);
  // Counts what is written, by whichever node.
  const table = 'create table public.uses (credential_id text, at timestamptz)';
  await makeEverywhere(service.db, table);
  await service.db.sql(`
    create function count_use() returns trigger language plpgsql security definer as $$
    begin
      insert into public.uses values (new.id, new.last_used_at);
      return new;
    end $$`);
  await service.db.sql(`create trigger count_use after update on credentials
    for each row execute function count_use()`);
  merchant = await service.given.merchant();
});
afterAll(async () => {
  await operator.close();
  await service.stop();
});
beforeEach(async () => {
  credential = await service.given.credential(merchant);
});

async function writesOf({ id }: GivenCredential): Promise<number> {
  return (await service.db.sql('select at from uses where credential_id = $1', [id])).length;
}

/** Sends requests on a node of its own, which writes all that it has noted when it stops. */
async function useOnNode(requests: number, token = credential.token): Promise<Set<number>> {
  const node = await startNode(service.db.serviceUrl);
  const answers = await Promise.all(
    Array.from({ length: requests }, () => node.api.as(token).get('/credential')),
  );
  await node.stop();
  return new Set(answers.map(({ status }) => status));
}

/** As if it had last been used so long ago. */
async function usedBefore(minutes: number): Promise<void> {
  await service.db.sql(
    `update credentials set last_used_at = now() - make_interval(mins => $2) where id = $1`,
    [credential.id, minutes],
  );
  await service.db.sql('delete from uses where credential_id = $1', [credential.id]);
}

describe('the last use of a credential', () => {
  test('is null before the first, and known a second after it', async () => {
    const api = service.api.as(credential.token);
    const [before] = await listed();
    expect(before).toBeNull();
    const startedAt = Date.now();
    const first = await api.get('/credential');
    expect(first.body.data.last_used_at).toBeNull();
    const read = async () => (await api.get('/credential')).body.data.last_used_at;
    await expect.poll(read, { interval: 20 }).not.toBeNull();
    const usedAt = Date.parse(await read());
    // The database of the tests is on the same machine, and so is its clock.
    expect(usedAt).toBeGreaterThanOrEqual(startedAt);
    expect(usedAt).toBeLessThan(startedAt + 5_000);
    for (const shown of await listed()) expect(Date.parse(shown ?? '')).toBe(usedAt);
  });

  test('is written once for 200 requests at the same moment', async () => {
    expect(await useOnNode(200)).toEqual(new Set([200]));
    expect(await writesOf(credential)).toBe(1);
  });

  test('is written once for two nodes at the same moment', async () => {
    await Promise.all([useOnNode(50), useOnNode(50)]);
    expect(await writesOf(credential)).toBe(1);
  });

  test('is not written again within a quarter of an hour', async () => {
    await usedBefore(14);
    const [before] = await listed();
    expect(await useOnNode(200)).toEqual(new Set([200]));
    expect(await writesOf(credential)).toBe(0);
    expect(await listed()).toContain(before);
  });

  test('is no news within a quarter of an hour, and nothing is sent for it', async () => {
    const noted: string[] = [];
    const authenticator = new Authenticator(operator.reserve, ({ id }) => noted.push(id));
    for (const [minutes, isNews] of [
      [14, false],
      [16, true],
    ] as const) {
      await usedBefore(minutes);
      await authenticator.authenticate(credential.token, undefined);
      expect([minutes, noted.includes(credential.id)]).toEqual([minutes, isNews]);
    }
  });

  test('is written again after a quarter of an hour', async () => {
    await usedBefore(16);
    const [before] = await listed();
    await useOnNode(200);
    expect(await writesOf(credential)).toBe(1);
    const [after] = await listed();
    expect(Date.parse(after ?? '') - Date.parse(before ?? '')).toBeGreaterThan(15 * 60_000);
  });

  test('is not noted for a token that is refused', async () => {
    const spoilt = [
      `update credential_tokens set expires_at = now() where credential_id = $1`,
      'update credentials set revoked_at = now() where id = $1',
    ];
    for (const statement of spoilt) {
      const { id, token } = await service.given.credential(merchant);
      await service.db.sql(statement, [id]);
      await service.db.sql('delete from uses where credential_id = $1', [id]);
      expect(await useOnNode(5, token)).toEqual(new Set([401]));
      expect((await credentialById(operator.reader, id)).last_used_at).toBeNull();
    }
  });

  test('is written by a node that stops right after it', async () => {
    expect(await useOnNode(1)).toEqual(new Set([200]));
    expect(await writesOf(credential)).toBe(1);
  });
});

describe('the notes of uses', () => {
  test('are all written when they are closed, however many there are', async () => {
    const credentials = Array.from({ length: 2_100 }, () => ({
      merchant_id: merchant,
      id: mintId('cred_'),
    }));
    await service.db.sql(
      `insert into credentials (merchant_id, id, kind, name, scopes, all_locations, location_ids,
         created_at) select $1, unnest($2::text[]), 'personal_access_token', 'test', '{}', true,
         '{}', now()`,
      [merchant, credentials.map(({ id }) => id)],
    );
    const uses = new LastUses(operator.writer);
    for (const one of credentials) uses.note(one);
    await uses.close();
    const [unused] = await service.db.sql(
      'select count(*)::int as n from credentials where id = any ($1) and last_used_at is null',
      [credentials.map(({ id }) => id)],
    );
    expect(unused).toEqual({ n: 0 });
  });

  test('are lost without a word when the database is away', async () => {
    const away = connectDatabase({ url: 'postgres://nobody@127.0.0.1:1/none', writers: 1 });
    const uses = new LastUses(away.writer);
    uses.note({ merchant_id: merchant, id: credential.id });
    await uses.close();
    await away.close();
    expect((await credentialById(operator.reader, credential.id)).last_used_at).toBeNull();
  });
});

/** As the operator sees it: by itself, and in the list of the merchant. */
async function listed(): Promise<(string | null)[]> {
  const shown = [(await credentialById(operator.reader, credential.id)).last_used_at];
  for await (const one of allCredentials(operator.reader, merchant as MerchantId)) {
    if (one.id === credential.id) shown.push(one.last_used_at);
  }
  expect(shown).toHaveLength(2);
  return shown;
}
