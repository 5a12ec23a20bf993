// The demo: a small shop with products, customers and a ledger with a history, for trying the
// service. Everything is written on the ordinary write path, many writes at once.

import type { Command } from 'commander';
import type { Connections } from '../access/transact.ts';
import type { Service } from '../app.ts';
import type { JsonObject } from '../contract/json.ts';
import type { WriteAnswer } from '../operations/dispatch.ts';
import { scopes } from '../resources.ts';
import { type CommonFlags, define, withStore } from './command.ts';
import { count, members, show } from './output.ts';

export interface Demo {
  readonly merchant_id: string;
  readonly merchant_name: string;
  readonly credential_id: string;
  /** For all scopes and all locations. It is stored nowhere. */
  readonly token: string;
  readonly expires_at: string | null;
  readonly locations: number;
  readonly products: number;
  readonly customers: number;
  readonly movements: number;
}

type Writes = Pick<Service, 'performAsOperator'>;

const tokenLifeSeconds = 90 * 86_400;

/** All at once, a busy machine refused some of them as too much work, and the start failed. */
const atOnceMax = 32;

export function defineDemo(program: Command): void {
  define(program, {
    name: 'demo',
    description: 'Make a demo merchant, with a token for it. Again, it makes another one.',
    example: 'tallybook demo --data ./data',
  }).action(demo);
}

async function demo(flags: CommonFlags): Promise<void> {
  const made = await withStore(
    flags,
    async ({ database, secret }) => {
      const { createService } = await import('../app.ts');
      return createDemo(createService({ database, secret }), database);
    },
    { mustExist: false },
  );
  await show(flags, made, (one) =>
    [
      members([
        ['Merchant', `${one.merchant_id} (${one.merchant_name})`],
        ['Credential', one.credential_id],
        ['Token', `${one.token}  (until ${one.expires_at})`],
      ]),
      `It has ${count(one.locations, 'location')}, ${count(one.products, 'product')}, ` +
        `${count(one.customers, 'customer')} and ${count(one.movements, 'movement')}.`,
    ].join('\n\n'),
  );
}

/** Makes a new demo merchant, also in a database that has merchants. */
export async function createDemo(service: Writes, access: Connections): Promise<Demo> {
  const { createMerchant } = await import('../access/operator/merchants.ts');
  const { createCredential } = await import('../access/operator/credentials.ts');
  const shop = await import('./demo-data.ts');
  const merchant = await createMerchant(access.writer, shop.merchantName);
  const write = async (
    type: Parameters<Writes['performAsOperator']>[1],
    bodies: readonly JsonObject[],
  ) => {
    const answers: WriteAnswer[] = [];
    for (let from = 0; from < bodies.length; from += atOnceMax) {
      const some = bodies.slice(from, from + atOnceMax);
      const writes = some.map((body) => service.performAsOperator(merchant.id, type, body));
      answers.push(...(await Promise.all(writes)));
    }
    return answers;
  };
  const locations = await write('locations.create', shop.locations);
  const products = await write('products.create', shop.products);
  const customers = await write('customers.create', shop.customers);
  let movements = 0;
  // Batch by batch, because the movements of one level have an order.
  for (const batch of shop.batches) {
    const adjustments = batch.map(({ product, location, ...rest }) => ({
      ...rest,
      product_id: products[product]?.resourceId ?? '',
      location_id: locations[location]?.resourceId ?? '',
    }));
    movements += (await write('inventory.adjust', adjustments)).length;
  }
  const { credential, token } = await createCredential(access, {
    merchant: merchant.id,
    name: 'demo',
    scopes,
    locations: 'all',
    lifeSeconds: tokenLifeSeconds,
  });
  return {
    merchant_id: merchant.id,
    merchant_name: merchant.name,
    credential_id: credential.id,
    token,
    expires_at: credential.expires_at,
    locations: locations.length,
    products: products.length,
    customers: customers.length,
    movements,
  };
}
