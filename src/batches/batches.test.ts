// Many writes in one request: each is the write that its own request would be.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type Api, newKey } from '../../test/kit/api.ts';
import { freshBody, send, withoutRequestId, writes } from '../../test/kit/cases.ts';
import { type Environment, startEnvironment } from '../../test/kit/environment.ts';
import { createTestMerchant, type TestMerchant } from '../../test/kit/merchant.ts';
import { limits } from '../core/limits.ts';

let service: Environment;
let shop: TestMerchant;

beforeAll(async () => {
  service = await startEnvironment();
  shop = await createTestMerchant(service);
});
afterAll(() => service.stop());

interface Item {
  readonly type: string;
  readonly idempotency_key: string;
  readonly id?: string;
  readonly external_id?: string;
  readonly if_match?: number;
  readonly body: object;
}

let counter = 0;

const customer = (more: Partial<Item> = {}): Item => {
  counter += 1;
  return {
    type: 'customers.create',
    idempotency_key: newKey(),
    body: { name: `Ada ${counter}`, email: `ada.${counter}@example.com` },
    ...more,
  };
};

const adjustment = (target: number | string, more: object = {}): Item => ({
  type: 'inventory.adjust',
  idempotency_key: newKey(),
  body: {
    product_id: shop.products[1],
    location_id: shop.locations[0],
    target_quantity: String(target),
    reason: 'correction',
    ...more,
  },
});

const submit = (operations: readonly unknown[], key = newKey(), api: Api = shop.api) =>
  api.post('/batches', { operations }, { key });

const statusesOf = (answer: Answer): number[] =>
  answer.body.data.results.map(({ status }: { status: number }) => status);

const codesOf = (answer: Answer): (string | undefined)[] =>
  answer.body.data.results.map((one: { error?: { code: string } }) => one.error?.code);

const operationsOf = (answer: Answer): string[] =>
  answer.body.data.results.map(({ meta }: { meta: { operation_id: string } }) => meta.operation_id);

const replaysOf = (answer: Answer): boolean[] =>
  answer.body.data.results.map(
    ({ meta }: { meta: { replayed?: boolean } }) => meta.replayed === true,
  );

const faultsOf = (answer: Answer): [string, string][] =>
  answer.body.error.details.map((one: { field: string; code: string }) => [one.field, one.code]);

/** Its own request. */
const alone = (item: Item, api = shop.api) => {
  const { type, idempotency_key: key, id = '', external_id, if_match, body } = item;
  const one = writes.find(({ name }) => name === type);
  if (one === undefined) throw new Error(`no route writes ${type}`);
  const headers = if_match === undefined ? {} : { 'if-match': `"${if_match}"` };
  const query = external_id === undefined ? {} : { external_id };
  return send(one, shop, api, { id, key, headers, body, query });
};

/** A result as the answer to its own request would have it. */
function bodyOf({ data, error, meta }: Record<string, Record<string, unknown>>) {
  const { request_id: _, replayed: __, ...others } = meta ?? {};
  return { ...(error === undefined ? { data } : { error }), meta: others };
}

const rows = async (table: string): Promise<number> =>
  (await service.db.sql(`select 1 from ${table} where merchant_id = $1`, [shop.merchant])).length;

describe('a batch', () => {
  test('does each write once, and answers one result for each, in order', async () => {
    const items = [customer(), adjustment(71), customer({ body: { name: 'Ada' } }), adjustment(71)];
    const answer = await submit(items);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('idempotent-replayed')).toBeNull();
    expect(statusesOf(answer).sort()).toEqual([201, 201, 422, 422]);
    const [first, , third] = answer.body.data.results;
    expect(first.data).toMatchObject(items[0]?.body ?? {});
    expect(third.error.details).toEqual([expect.objectContaining({ field: 'email' })]);
    expect(third.meta).not.toHaveProperty('operation_id');
    const codes = codesOf(answer);
    expect(codes.filter((code) => code === 'inventory_no_change')).toHaveLength(1);
    expect(answer.body.data.id).toBe(answer.body.meta.operation_id);
    expect(answer.body.meta).not.toHaveProperty('position');
  });

  test('sent again replays what is done and does what is not, as one operation', async () => {
    const key = newKey();
    const missing = customer({ body: { name: 'Ada' } });
    const items = [customer(), missing];
    const done = await submit(items, key);
    const again = await submit(items, key);
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
    expect(again.body.meta.operation_id).toBe(done.body.meta.operation_id);
    expect([statusesOf(done), statusesOf(again)]).toEqual([
      [201, 422],
      [201, 422],
    ]);
    expect(replaysOf(again)).toEqual([true, false]);
    expect(withoutRequestId(again)).toEqual(withoutRequestId(done));
  });

  test('of another list under its key is 409, and nothing of it is done', async () => {
    const key = newKey();
    const [one, two, three] = [customer(), customer(), customer()];
    const done = await submit([one, two], key);
    const before = await rows('operations');
    const others = [
      [one],
      [two, one],
      [one, two, three],
      [one, { ...two, body: { name: 'Eve', email: 'eve@example.com' } }],
      [one, { ...two, idempotency_key: newKey() }],
      [{ type: 'nonsense' }],
      [],
    ];
    for (const list of others) {
      const answer = await submit(list, key);
      expect([answer.status, answer.code]).toEqual([409, 'idempotency_key_reused']);
      expect(answer.body.error.details[0].operation_id).toBe(done.body.meta.operation_id);
    }
    expect(await rows('operations')).toBe(before);
  });

  test('means the same in other words: order, white space, decimals, nulls', async () => {
    const key = newKey();
    const item = adjustment('72.0');
    const done = await submit([item], key);
    const same = {
      body: { note: null, ...item.body, target_quantity: '72' },
      if_match: null,
      id: null,
      idempotency_key: item.idempotency_key,
      type: item.type,
    };
    const text = JSON.stringify({ operations: [same] }, null, 2);
    const again = await shop.api.send('POST', '/batches', text, { key });
    expect(operationsOf(again)).toEqual(operationsOf(done));
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });

  test('that is refused as a whole binds no key, and does nothing', async () => {
    const before = await rows('operations');
    const key = newKey();
    const one = customer();
    const update = { ...customer(), type: 'customers.update' };
    const refused: [unknown, [string, string][]][] = [
      [[], [['operations', 'value_not_allowed']]],
      [Array(201).fill(one), [['operations', 'too_many']]],
      [[one, 7], [['operations.1', 'invalid_type']]],
      [
        [one, { ...customer(), type: 'batches.submit' }],
        [['operations.1.type', 'value_not_allowed']],
      ],
      [
        [one, { ...customer(), type: 'customers.erase' }],
        [['operations.1.type', 'value_not_allowed']],
      ],
      // An answer that shows a secret once is for one request.
      ...[
        'people.invite',
        'people.update',
        'people.invite_again',
        'tokens.create',
        'tokens.update',
        'tokens.rotate',
      ].map((type): [unknown, [string, string][]] => [
        [one, { ...customer(), type }],
        [['operations.1.type', 'value_not_allowed']],
      ]),
      [[{ ...one, colour: 'red' }], [['operations.0.colour', 'unknown_field']]],
      [[{ ...one, body: [] }], [['operations.0.body', 'invalid_type']]],
      [[{ ...one, idempotency_key: 'short' }], [['operations.0.idempotency_key', 'too_short']]],
      [
        [{ ...one, idempotency_key: `${newKey()} x` }],
        [['operations.0.idempotency_key', 'invalid_format']],
      ],
      [
        [one, { ...customer(), idempotency_key: one.idempotency_key }],
        [['operations.1.idempotency_key', 'value_not_allowed']],
      ],
      [[{ ...one, id: shop.customers[0] }], [['operations.0.id', 'unknown_field']]],
      [[{ ...one, if_match: 1 }], [['operations.0.if_match', 'unknown_field']]],
      [[update], [['operations.0.id', 'required']]],
      [[{ ...update, id: 'x', if_match: '"1"' }], [['operations.0.if_match', 'invalid_type']]],
      [
        [{ ...one, body: { metadata: Object.fromEntries(Array(200).fill(1).entries()) } }],
        [['operations.0.body', 'too_large']],
      ],
    ];
    for (const [operations, faults] of refused) {
      const answer = await shop.api.post('/batches', { operations }, { key });
      expect([faults, answer.status, answer.code]).toEqual([faults, 422, 'validation_failed']);
      expect(faultsOf(answer)).toEqual(faults);
    }
    expect(await rows('operations')).toBe(before);
    expect((await submit([one], key)).status).toBe(200);
  });

  test('has room for 200 writes in 1 MiB', async () => {
    const note = 'n'.repeat(2_000);
    const items = Array.from({ length: limits.batchItemsMax }, () =>
      customer({ body: { name: 'Ada', email: `ada.${newKey()}@example.com`, note } }),
    );
    const text = JSON.stringify({ operations: items }).padEnd(1024 * 1024);
    const answer = await shop.api.send('POST', '/batches', text, { key: newKey() });
    expect(new Set(statusesOf(answer))).toEqual(new Set([201]));
    const over = await shop.api.send('POST', '/batches', `${text} `, { key: newKey() });
    expect([over.status, over.code]).toEqual([413, 'content_too_large']);
  });

  test('is an operation that changed nothing and has no position', async () => {
    const answer = await submit([customer()]);
    const { operation_id: id } = answer.body.meta;
    const shown = await shop.api.get(`/operations/${id}`);
    expect(shown.body.data).toMatchObject({
      id,
      type: 'batches.submit',
      status: 'succeeded',
      resource: { type: 'batch', id },
      position: null,
    });
  });
});

describe('a write of a batch', () => {
  test('is a replay by itself, and one done by itself is a replay in a batch', async () => {
    const items = [customer(), adjustment(73), customer()];
    const [first, second, third] = items as [Item, Item, Item];
    const before = await alone(first);
    const answer = await submit(items);
    expect(replaysOf(answer)).toEqual([true, false, false]);
    expect(operationsOf(answer)[0]).toBe(before.body.meta.operation_id);
    for (const [index, item] of [second, third].entries()) {
      const again = await alone(item);
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(again.body.meta.operation_id).toBe(operationsOf(answer)[index + 1]);
    }
    const elsewhere = await submit([third, second, customer()]);
    expect(replaysOf(elsewhere)).toEqual([true, true, false]);
  });

  test('with a key of another request is 409, as by itself', async () => {
    const item = customer();
    await alone(item);
    const other = { ...item, body: { name: 'Eve', email: 'eve@example.com' } };
    const answer = await submit([other, customer()]);
    expect(statusesOf(answer)).toEqual([409, 201]);
    const own = await alone(other);
    expect(bodyOf(answer.body.data.results[0])).toEqual(withoutRequestId(own));
  });

  test.each(writes.filter(({ name }) => !/^(batches|people|tokens)\./.test(name)))(
    '$name is answered as its own request would be',
    async (one) => {
      const id = one.example.id?.(shop);
      const query = one.example.query?.(shop) ?? {};
      const item: Item = {
        type: one.name,
        idempotency_key: newKey(),
        ...(id === undefined ? {} : { id }),
        ...query,
        body: freshBody(one, shop),
      };
      const { token: noScope } = await service.given.credential(shop.merchant, { scopes: [] });
      const { token: nowhere } = await service.given.credential(shop.merchant, { locations: [] });
      const bad: Item[] = [
        { ...item, body: { ...item.body, colour: 'red' } },
        ...(id === undefined ? [] : [{ ...item, id: 'nobody' }]),
        ...('location_id' in item.body
          ? [{ ...item, body: { ...item.body, location_id: 'nowhere' } }]
          : []),
      ];
      for (const [asked, token] of [
        [item, noScope],
        [item, nowhere],
        ...bad.map((other) => [other, shop.token] as const),
        [item, shop.token],
      ] as const) {
        const api = service.api.as(token);
        const inBatch = await submit([asked], newKey(), api);
        const [result] = inBatch.body.data.results;
        const own = await alone(asked, api);
        expect([result.status, bodyOf(result)]).toEqual([own.status, withoutRequestId(own)]);
      }
    },
  );

  test('needs its own scope and its own location', async () => {
    const { token } = await service.given.credential(shop.merchant, {
      scopes: ['inventory.write'],
      locations: [shop.locations[0] ?? ''],
    });
    const elsewhere = adjustment(5, { location_id: shop.locations[1] });
    const answer = await submit(
      [customer(), adjustment(74), elsewhere],
      newKey(),
      service.api.as(token),
    );
    expect(answer.body.data.results.map((one: { status: number }) => one.status)).toEqual([
      403, 201, 403,
    ]);
    const codes = codesOf(answer);
    expect(codes).toEqual(['insufficient_scope', undefined, 'location_not_granted']);
  });

  test('changes only the version that if_match names', async () => {
    const id = shop.customers[1] ?? '';
    const { body } = await shop.api.get(`/customers/${id}`);
    const { version } = body.data;
    const change = (if_match: number) =>
      customer({ type: 'customers.update', id, if_match, body: { note: newKey() } });
    const answer = await submit([change(version + 7)]);
    expect(answer.body.data.results[0].error.code).toBe('precondition_failed');
    expect(statusesOf(await submit([change(version)]))).toEqual([200]);
  });
});
