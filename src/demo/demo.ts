// The demo: a small shop with products, customers and a ledger with a history, for trying the
// service. Everything is written on the ordinary write path, many writes at once.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCredential } from '../access/operator/credentials.ts';
import { createMerchant } from '../access/operator/merchants.ts';
import type { Connections } from '../access/transact.ts';
import type { JsonObject } from '../contract/json.ts';
import type { OperationType } from '../contract/resource.ts';
import { isRetryable, Problem } from '../core/problem.ts';
import { DatabaseFailure } from '../core/statement.ts';
import type { WriteAnswer } from '../operations/dispatch.ts';
import { scopes } from '../resources.ts';
import * as shop from './data.ts';

export interface Demo {
  readonly merchant_id: string;
  readonly merchant_name: string;
  readonly credential_id: string;
  /** For all scopes and all locations. It is stored nowhere. */
  readonly token: string;
  readonly expires_at: string | null;
  readonly owner: InvitedOwner;
  readonly locations: number;
  readonly products: number;
  readonly customers: number;
  readonly movements: number;
}

/** The person who is let into the console. */
export interface InvitedOwner {
  readonly id: string;
  /** For a link: good once, for ten minutes. It is stored nowhere. */
  readonly invitation: string;
}

/** The part of a service that writes. */
interface Writes {
  performAsOperator(
    merchant: string,
    type: OperationType,
    body: JsonObject,
    options?: { readonly id?: string; readonly key?: string },
  ): Promise<WriteAnswer>;
}

const tokenLifeSeconds = 90 * 86_400;

/** All at once, a busy machine refused some of them as too much work, and the start failed. */
const atOnceMax = 32;

/** While the database of a busy machine answers too late, or not at all. In milliseconds. */
const patience = 30_000;
const pause = 250;

/** Writes that are sent again, with their keys, when the database failed. */
const insisting = (service: Writes): Writes => ({
  async performAsOperator(merchant, type, body, options) {
    const until = performance.now() + patience;
    const asked = { ...options, key: randomUUID() };
    for (;;) {
      try {
        return await service.performAsOperator(merchant, type, body, asked);
      } catch (error) {
        if (!isPassing(error) || performance.now() > until) throw error;
        await sleep(pause);
      }
    }
  },
});

const isPassing = (error: unknown): boolean =>
  error instanceof DatabaseFailure || (error instanceof Problem && isRetryable(error.status));

const idOf = (made: readonly WriteAnswer[], n: number) => made[n]?.resourceId ?? '';

const linesOf = (
  products: readonly WriteAnswer[],
  lines: readonly { readonly product: number; readonly quantity: string }[],
) => lines.map(({ product, quantity }) => ({ product_id: idOf(products, product), quantity }));

type Made = Readonly<Record<'locations' | 'products', readonly WriteAnswer[]>>;

/** Counts one after the other. Returns how much has moved. */
async function countShelves(
  service: Writes,
  merchant: string,
  { locations, products }: Made,
): Promise<number> {
  let movements = 0;
  for (const { location, lines, ...rest } of shop.counts) {
    const { data } = await service.performAsOperator(merchant, 'inventory.count', {
      ...rest,
      location_id: idOf(locations, location),
      lines: lines.map(({ product, counted }) => ({
        product_id: idOf(products, product),
        counted_quantity: counted,
      })),
    });
    const found = (data as { lines: readonly { movement_id: string | null }[] }).lines;
    movements += found.filter(({ movement_id }) => movement_id !== null).length;
  }
  return movements;
}

/** Reserves what was ordered, and ends what was sent or cancelled. Returns how much has moved. */
async function takeOrders(
  service: Writes,
  merchant: string,
  { locations, products }: Made,
): Promise<number> {
  let movements = 0;
  for (const { location, lines, end, reference } of shop.orders) {
    const { resourceId: id } = await service.performAsOperator(merchant, 'inventory.reserve', {
      location_id: idOf(locations, location),
      reference,
      lines: linesOf(products, lines),
    });
    if (end === undefined) continue;
    const body = end === 'inventory.fulfil' ? { reason: 'sale' } : { note: 'Cancelled' };
    const { data } = await service.performAsOperator(merchant, end, body, { id });
    movements += (data as { movement_ids: readonly string[] }).movement_ids.length;
  }
  return movements;
}

const ownerName = 'Owner';

/** Invites the owner, or somebody who has not come yet again. */
export async function inviteOwner(
  service: Writes,
  merchant: string,
  id?: string,
): Promise<InvitedOwner> {
  const { data } = await (id === undefined
    ? service.performAsOperator(merchant, 'people.invite', {
        ...{ name: ownerName, role: 'owner', all_locations: true },
      })
    : service.performAsOperator(merchant, 'people.invite_again', {}, { id }));
  const person = data as { readonly id: string; readonly invitation: string | null };
  const { invitation } = person;
  // A write that was sent again says what it did, without the secret.
  if (invitation === null) return inviteOwner(service, merchant, person.id);
  return { id: person.id, invitation };
}

/** Makes a new demo merchant, also in a database that has merchants. */
export async function createDemo(given: Writes, access: Connections): Promise<Demo> {
  const service = insisting(given);
  const merchant = await createMerchant(access, shop.merchantName);
  const write = async (type: OperationType, bodies: readonly JsonObject[]) => {
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
  const opening = shop.opening.map(({ product, location, ...rest }) => ({
    ...rest,
    product_id: idOf(products, product),
    location_id: idOf(locations, location),
  }));
  let movements = (await write('inventory.adjust', opening)).length;
  // Step by step, because what is sold was delivered before.
  for (const step of shop.transfers) {
    const bodies = step.map(({ from, to, lines, ...rest }) => ({
      ...rest,
      from_location_id: from === undefined ? null : idOf(locations, from),
      to_location_id: to === undefined ? null : idOf(locations, to),
      lines: linesOf(products, lines),
    }));
    await write('inventory.transfer', bodies);
    const sidesOf = ({ from, to }: (typeof step)[number]) =>
      (from === undefined ? 0 : 1) + (to === undefined ? 0 : 1);
    for (const one of step) movements += sidesOf(one) * one.lines.length;
  }
  movements += await countShelves(service, merchant.id, { locations, products });
  movements += await takeOrders(service, merchant.id, { locations, products });
  const { credential, token } = await createCredential(access, {
    merchant: merchant.id,
    name: 'demo',
    scopes,
    locations: 'all',
    lifeSeconds: tokenLifeSeconds,
  });
  const owner = await inviteOwner(service, merchant.id);
  return {
    merchant_id: merchant.id,
    merchant_name: merchant.name,
    credential_id: credential.id,
    token,
    expires_at: credential.expires_at,
    owner,
    locations: locations.length,
    products: products.length,
    customers: customers.length,
    movements,
  };
}
