// The demo: a small shop with products, customers and a ledger with a history, so that a stranger
// has something to look at. Everything is written on the ordinary write path, many writes at once.

import type { Command } from 'commander';
import type { Access } from '../access/operator/credentials.ts';
import type { Service } from '../app.ts';
import { type MerchantId, scopes } from '../core/principal.ts';
import { type CommonFlags, define, withStore } from './command.ts';
import { count, members, show } from './output.ts';

export interface Demo {
  readonly merchant_id: string;
  readonly merchant_name: string;
  readonly credential_id: string;
  /** For all scopes and all locations. It is nowhere else. */
  readonly token: string;
  readonly expires_at: string | null;
  readonly locations: number;
  readonly products: number;
  readonly customers: number;
  readonly movements: number;
}

type Writes = Pick<Service, 'performAsOperator'>;

const tokenLifeSeconds = 90 * 86_400;

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

/** Makes a demo merchant of its own, whatever the database holds already. */
export async function createDemo(service: Writes, access: Access): Promise<Demo> {
  const { createMerchant } = await import('../access/operator/merchants.ts');
  const { createCredential } = await import('../access/operator/credentials.ts');
  const shop = await import('./demo-data.ts');
  const merchant = await createMerchant(access.writer, shop.merchantName);
  const write = (type: Parameters<Writes['performAsOperator']>[1], bodies: readonly object[]) =>
    Promise.all(bodies.map((body) => service.performAsOperator(merchant.id, type, body)));
  const [locations, products, customers] = await Promise.all([
    write('locations.create', shop.locations),
    write('products.create', shop.products),
    write('customers.create', shop.customers),
  ]);
  let movements = 0;
  // Round by round: the movements of a level have an order, those of different levels have none.
  for (const round of shop.rounds) {
    const adjustments = round.map(({ product, location, ...rest }) => ({
      ...rest,
      product_id: products[product]?.resourceId,
      location_id: locations[location]?.resourceId,
    }));
    movements += (await write('inventory.adjust', adjustments)).length;
  }
  const { credential, token } = await createCredential(access, {
    merchant: merchant.id as MerchantId,
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
