import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { served } from '../../test/kit/again.ts';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { withoutLimits } from '../../test/kit/database.ts';
import { type Environment, startEnvironment, startNode } from '../../test/kit/environment.ts';
import { extent } from '../../test/kit/extent.ts';

// Each round on two nodes. Which request comes first differs; what is right then does not.

const rounds = extent(8, 200);

let service: Environment;
let second: Awaited<ReturnType<typeof startNode>>;
let nodes: readonly [Api, Api];

beforeAll(async () => {
  service = await startEnvironment();
  await withoutLimits(service.db);
  second = await startNode(service.db.serviceUrl);
  const merchant = await service.given.merchant();
  const { token } = await service.given.credential(merchant);
  nodes = [service.api.as(token), second.api.as(token)];
});
afterAll(async () => {
  await second.stop();
  await service.stop();
});

let counter = 0;
function freshId(): string {
  counter += 1;
  return `sync-${counter}`;
}

const upsertOnce = (api: Api, id: string, body: object, key = newKey()) =>
  api.patch(`/products?external_id=${id}`, body, { key });

/** A definite answer: what was not done is sent again with its key. */
const upsert = (api: Api, id: string, body: object, key = newKey()) =>
  served(() => upsertOnce(api, id, body, key));

const saidBy = (answers: readonly Answer[]) => answers.map(({ status, code }) => code ?? status);

async function found(
  id: string,
): Promise<readonly { id: string; name: string; version: number }[]> {
  return (await nodes[0].get(`/products?external_id=${id}`)).body.data;
}

describe('at one moment on two nodes', () => {
  test('two upserts of a new ID make one product, and the second one changes it', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const id = freshId();
      const bodies = [
        { name: 'One', sku: id },
        { name: 'Two', sku: id },
      ];
      const answers = await Promise.all(
        bodies.map((body, n) => upsert(nodes[n % 2 ? 1 : 0], id, body)),
      );
      expect(saidBy(answers).sort()).toEqual([200, 201]);
      const last = answers.findIndex(({ status }) => status === 200);
      expect(await found(id)).toMatchObject([{ ...bodies[last], version: 2, external_id: id }]);
      expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
    }
  });

  test('two that ask for the same make one product, and change nothing more', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const id = freshId();
      const answers = await Promise.all(nodes.map((node) => upsert(node, id, { name: 'Rye' })));
      expect(saidBy(answers).sort()).toEqual([200, 201]);
      const positions = answers.filter(({ body }) => 'position' in body.meta);
      expect(saidBy(positions)).toEqual([201]);
      expect(await found(id)).toMatchObject([{ name: 'Rye', version: 1 }]);
    }
  });

  test('two with one key are one upsert, with one status', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const [id, key] = [freshId(), newKey()];
      const answers = await Promise.all(
        nodes.map((node) => upsert(node, id, { name: 'Rye' }, key)),
      );
      expect(saidBy(answers)).toEqual([201, 201]);
      expect(new Set(answers.map(({ body }) => body.meta.operation_id)).size).toBe(1);
      const replays = answers.filter(({ headers }) => headers.get('idempotent-replayed') !== null);
      expect(replays).toHaveLength(1);
    }
  });

  test('an upsert and a create with its ID make one product', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const id = freshId();
      const [changed, made] = await Promise.all([
        upsert(nodes[round % 2 ? 1 : 0], id, { name: 'Upsert' }),
        nodes[round % 2 ? 0 : 1].post('/products', { name: 'Create', external_id: id }),
      ]);
      const said = saidBy([changed, made]).join();
      expect(['200,201', '201,external_id_taken']).toContain(said);
      expect(await found(id)).toMatchObject([
        { name: 'Upsert', version: said === '200,201' ? 2 : 1 },
      ]);
    }
  });

  test('an upsert and a change that takes the ID away leave nothing between them', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const [id, other] = [freshId(), freshId()];
      const { id: before } = (await upsert(nodes[0], id, { name: 'Before' })).body.data;
      const [put, moved] = await Promise.all([
        upsert(nodes[round % 2 ? 1 : 0], id, { name: 'Upsert' }),
        nodes[round % 2 ? 0 : 1].patch(`/products/${before}`, { external_id: other }),
      ]);
      expect(moved.status).toBe(200);
      expect([200, 201]).toContain(put.status);
      const isFirst = put.status === 200;
      expect(await found(other)).toMatchObject([
        { id: before, name: isFirst ? 'Upsert' : 'Before', version: isFirst ? 3 : 2 },
      ]);
      expect(await found(id)).toMatchObject(isFirst ? [] : [{ name: 'Upsert', version: 1 }]);
    }
  });

  test('an upsert and a change that takes its ID for another product make one holder', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const id = freshId();
      const { id: other } = (await nodes[0].post('/products', { name: 'Other' })).body.data;
      const [put, moved] = await Promise.all([
        upsert(nodes[round % 2 ? 1 : 0], id, { name: 'Upsert' }),
        nodes[round % 2 ? 0 : 1].patch(`/products/${other}`, { external_id: id }),
      ]);
      const said = saidBy([put, moved]).join();
      expect(['200,200', '201,external_id_taken']).toContain(said);
      const [holder, ...more] = await found(id);
      expect([more, holder?.id === other]).toEqual([[], said === '200,200']);
      expect(holder?.name).toBe('Upsert');
    }
  });

  test('many of few new IDs make each once, and no answer is 5xx', async () => {
    const ids = Array.from({ length: 10 }, freshId);
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, n) => {
        const id = ids[n % 10] ?? '';
        return upsertOnce(nodes[n % 3 ? 1 : 0], id, { name: `Name ${n}`, sku: id });
      }),
    );
    const made = answers.filter(({ status }) => status === 201);
    expect(saidBy(answers).filter((one) => one !== 200 && one !== 201)).toEqual([]);
    expect(new Set(made.map(({ body }) => body.data.external_id))).toEqual(new Set(ids));
    expect(made).toHaveLength(10);
    for (const id of ids) expect(await found(id)).toMatchObject([{ version: 20 }]);
  });

  test('two programs with one list, in opposite orders, make each once, and end', async () => {
    const ids = Array.from({ length: extent(150, 3_000) }, freshId);
    const program = async (api: Api, list: readonly string[]) => {
      const queue = [...list];
      const statuses: (number | string)[] = [];
      const client = async () => {
        for (let id = queue.shift(); id !== undefined; id = queue.shift()) {
          statuses.push(...saidBy([await upsert(api, id, { name: id, sku: id })]));
        }
      };
      await Promise.all(Array.from({ length: 32 }, client));
      return statuses;
    };
    const [forth, back] = await Promise.all([
      program(nodes[0], ids),
      program(nodes[1], [...ids].reverse()),
    ]);
    const counted = (status: number) => [...forth, ...back].filter((one) => one === status).length;
    expect([counted(201), counted(200)]).toEqual([ids.length, ids.length]);
    const rows = await service.db.sql(
      `select count(*)::int as count, max(version) as version from products
       where external_id = any ($1)`,
      [ids],
    );
    expect(rows).toEqual([{ count: ids.length, version: 1 }]);
  });
});
