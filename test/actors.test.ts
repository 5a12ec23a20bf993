// Who did something is shown by name wherever it is shown: the name that the credential has now.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Api, newKey } from './kit/api.ts';
import { type Environment, startEnvironment } from './kit/environment.ts';

let service: Environment;
let merchant: string;
let api: Api;
let other: Api;
/** Of the two, by their IDs. */
let actors: Readonly<Record<string, object>>;
let product: string;
let location: string;

beforeAll(async () => {
  service = await startEnvironment();
  merchant = await service.given.merchant();
  product = await service.given.product(merchant);
  location = await service.given.location(merchant);
  const first = await service.given.credential(merchant);
  const second = await service.given.credential(merchant);
  api = service.api.as(first.token);
  other = service.api.as(second.token);
  await rename(first.id, 'Till 1');
  await rename(second.id, 'Till "2"');
  const rest = { kind: 'personal_access_token', application_id: null };
  actors = {
    [first.id]: { credential_id: first.id, name: 'Till 1', ...rest },
    [second.id]: { credential_id: second.id, name: 'Till "2"', ...rest },
  };
});
afterAll(() => service.stop());

async function rename(credential: string, name: string): Promise<void> {
  await service.db.sql('update credentials set name = $2 where id = $1', [credential, name]);
}

async function adjust(by: Api, target: number, key = newKey()) {
  const body = { product_id: product, location_id: location, reason: 'correction' };
  const sent = { ...body, target_quantity: String(target) };
  const answer = await by.post('/inventory/adjustments', sent, { key });
  expect(answer.status).toBe(201);
  return answer.body;
}

interface Shown {
  readonly actor: { readonly credential_id: string };
  readonly data?: { readonly movements?: readonly Shown[] };
}

/** Every actor in an answer is one of the two, as it is now. */
function expectNamed(shown: readonly Shown[], count: number): void {
  const all = shown.flatMap((one) => [one, ...(one.data?.movements ?? [])]);
  expect(all).toHaveLength(count);
  for (const { actor } of all) expect(actor).toEqual(actors[actor.credential_id]);
}

describe('an actor is shown with the name of its credential', () => {
  test('by the answer to a write, its replay and its movement', async () => {
    const key = newKey();
    const { data } = await adjust(api, 1, key);
    const replay = await adjust(api, 1, key);
    const movement = (await other.get(`/inventory/movements/${data.id}`)).body.data;
    expectNamed([data, replay.data, movement], 3);
  });

  test('by each list of movements, by events and by operations', async () => {
    const { meta } = await adjust(other, 2);
    const movements = '/inventory/movements';
    for (const query of ['', `?location_id=${location}`, `?product_id=${product}&order=asc`]) {
      const { data } = (await api.get(movements + query)).body;
      expectNamed(data, 2);
      expect(new Set(data.map((one: Shown) => one.actor.credential_id)).size).toBe(2);
    }
    const { operation_id } = meta;
    expectNamed((await api.get(`${movements}?operation_id=${operation_id}`)).body.data, 1);
    expectNamed((await api.get('/events')).body.data, 4);
    expectNamed((await api.get('/operations')).body.data, 2);
    expectNamed([(await api.get(`/operations/${operation_id}`)).body.data], 1);
    expect((await api.get(`${movements}?reason=stock_count`)).body.data).toEqual([]);
  });

  test('as it is now, also of what was done before', async () => {
    for (const [id, actor] of Object.entries(actors)) {
      await rename(id, 'Counter');
      actors = { ...actors, [id]: { ...actor, name: 'Counter' } };
    }
    expectNamed((await api.get('/inventory/movements')).body.data, 2);
    expectNamed((await api.get('/events')).body.data, 4);
    expectNamed((await api.get('/operations')).body.data, 2);
  });
});
