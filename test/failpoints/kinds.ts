// The kinds of writes that faults are injected into, each with what it waits for and how its
// effects are counted. They differ in what a batch needs to know first: levels and more; nothing at
// all, so that BEGIN goes out with COMMIT; the row that it changes, by its ID or by the merchant's
// own, where it may be missing; a product with all of its levels.

import { served } from '../kit/again.ts';
import { type Api, newKey } from '../kit/api.ts';
import { sampleOf, seed } from '../kit/extent.ts';
import type { Given } from '../kit/given.ts';

/** One logical write: whoever sends it, sends this. */
export interface Write {
  readonly kind: Kind;
  readonly key: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** By what its effects are found. */
  readonly subject: string;
}

/** Where it is written. */
export interface Place {
  readonly given: Given;
  readonly merchant: string;
  readonly location: string;
  /** A node that no fault reaches. */
  readonly api: Api;
}

type Content = Pick<Write, 'path' | 'body' | 'subject'>;

export interface Kind {
  readonly name: string;
  /** Of its operations. */
  readonly type: string;
  readonly method: 'POST' | 'PATCH';
  /** The status of its success. */
  readonly status: number;
  /** What it waits for before it is queued. */
  readonly before: readonly string[];
  /** What loads, saves and commits a batch of it. */
  readonly batch: readonly string[];
  /** The same, once a duplicate has done it. */
  readonly lateBatch: readonly string[];
  /** What shows the resource to a replay. */
  readonly find: string;
  /** All that a replay waits for once its operation is known. */
  readonly replay: readonly string[];
  /** Who may do what is managed by requests of their own: no batch takes it. */
  readonly isOfAccess?: true;
  /** What only the first answer shows; a replay has null. */
  readonly once?: 'token';
  /** A write of something that nobody has written before. */
  content(place: Place): Promise<Content>;
  /** How often it has been done: a number. */
  readonly effects: string;
}

/** Who asks, and what the key is bound to. */
export const looked = 'find_credentials_and_keys';

function kindOf(kind: Omit<Kind, 'lateBatch' | 'replay'> & Partial<Kind>): Kind {
  // Refused, or a change of nothing: what it wants is so already.
  const lateBatch = kind.batch
    .filter((name) => name !== 'lock_journals' && name !== 'append_audit')
    .map((name) => (name.startsWith('bind_keys') ? 'bind_keys' : name));
  return { lateBatch, replay: [kind.find], ...kind };
}

export const adjustment = kindOf({
  name: 'an adjustment',
  type: 'inventory.adjust',
  method: 'POST',
  status: 201,
  before: [looked],
  batch: [
    ...['begin', 'share_locations', 'create_levels', 'lock_levels', 'find_products_to_move'],
    ...['find_reserved', 'find_last_counts'],
    ...['lock_journals', 'bind_keys save_levels save_movements', 'commit'],
  ],
  find: 'find_adjustments',
  async content({ given, merchant, location }) {
    const product = await given.product(merchant);
    const wanted = { target_quantity: '7', reason: 'correction' };
    return {
      path: '/inventory/adjustments',
      body: { product_id: product, location_id: location, ...wanted },
      subject: product,
    };
  },
  effects: 'select count(*)::int from inventory_movements where product_id = $1',
});

// All of it goes out together: no answer is waited for.
const batchOfCreate = ['begin', 'lock_journals', 'bind_keys insert_customers', 'commit'];

export const create = kindOf({
  name: 'a new customer',
  type: 'customers.create',
  method: 'POST',
  status: 201,
  before: [looked],
  batch: batchOfCreate,
  lateBatch: batchOfCreate,
  find: 'find_customers',
  async content() {
    const email = `${newKey()}@example.com`;
    const body = { name: 'Ada', email, metadata: { a: '1' } };
    return { path: '/customers', body, subject: email };
  },
  effects: 'select count(*)::int from customers where email = $1',
});

export const changeOfCustomer = kindOf({
  name: 'a change of a customer',
  type: 'customers.update',
  method: 'PATCH',
  status: 200,
  before: [looked, 'find_customers'],
  batch: ['begin', 'lock_customers', 'lock_journals', 'bind_keys update_customers', 'commit'],
  find: 'find_customers',
  async content({ given, merchant }) {
    const customer = await given.customer(merchant);
    const body = { name: 'Grace', metadata: { a: '1' } };
    return { path: `/customers/${customer}`, body, subject: customer };
  },
  effects: 'select version - 1 from customers where id = $1',
});

export const changeOfProduct = kindOf({
  name: 'a change of a product and its levels',
  type: 'products.update',
  method: 'PATCH',
  status: 200,
  before: [looked, 'find_products'],
  batch: [
    ...['begin', 'lock_products', 'lock_products_fully_by_id', 'lock_levels_of_products_by_id'],
    ...[
      'find_holders_of_products_sku_external_id',
      'lock_journals',
      'bind_keys update_products',
      'commit',
    ],
  ],
  find: 'find_products',
  async content({ given, merchant }) {
    const product = await given.product(merchant);
    const body = { status: 'archived', sku: newKey() };
    return { path: `/products/${product}`, body, subject: product };
  },
  effects: 'select version - 1 from products where id = $1',
});

const upsertOfNew = kindOf({
  name: 'an upsert that creates',
  type: 'customers.upsert',
  method: 'PATCH',
  status: 201,
  before: [looked],
  batch: [
    ...['begin', 'lock_named_customers', 'lock_journals', 'bind_keys insert_customers', 'commit'],
  ],
  find: 'find_customers',
  async content() {
    const named = newKey();
    const body = { name: 'Ada', email: 'ada@example.com' };
    return { path: `/customers?external_id=${named}`, body, subject: named };
  },
  effects: 'select count(*)::int from customers where external_id = $1',
});

const upsertOfProduct = kindOf({
  name: 'an upsert that changes a product and its levels',
  type: 'products.upsert',
  method: 'PATCH',
  status: 200,
  before: [looked],
  batch: [
    ...['begin', 'find_holders_of_products_sku', 'lock_named_products'],
    ...['lock_products_fully_by_external_id', 'lock_levels_of_products_by_external_id'],
    ...['lock_journals', 'bind_keys update_products', 'commit'],
  ],
  find: 'find_products',
  async content({ given, merchant }) {
    const externalId = newKey();
    await given.product(merchant, { externalId });
    const body = { status: 'archived', sku: newKey() };
    return { path: `/products?external_id=${externalId}`, body, subject: externalId };
  },
  effects: 'select version - 1 from products where external_id = $1',
});

const startOfStock = [
  ...['begin', 'share_locations', 'create_levels', 'lock_levels', 'find_products_to_move'],
];

const batchOfReceipt = [
  ...[...startOfStock, 'find_reserved', 'lock_journals'],
  ...['bind_keys save_levels save_movements save_transfers', 'commit'],
];

const batchOfCount = [
  ...[...startOfStock, 'find_reserved', 'find_journal_end', 'find_earlier_levels'],
  ...['lock_journals', 'bind_keys save_levels save_movements save_counts save_counted', 'commit'],
];

/** Done once more it would move the same again: only its key keeps it from that. */
const receipt = kindOf({
  name: 'a transfer',
  type: 'inventory.transfer',
  method: 'POST',
  status: 201,
  before: [looked],
  batch: batchOfReceipt,
  lateBatch: batchOfReceipt,
  find: 'find_transfers',
  async content({ given, merchant, location }) {
    const product_id = await given.product(merchant);
    const lines = [{ product_id, quantity: '7' }];
    const body = { to_location_id: location, reason: 'receipt', lines };
    return { path: '/inventory/transfers', body, subject: product_id };
  },
  effects: 'select count(*)::int from inventory_movements where product_id = $1',
});

/** The same, because it adds what has moved since its position. */
const count = kindOf({
  name: 'a count',
  type: 'inventory.count',
  method: 'POST',
  status: 201,
  before: [looked],
  batch: batchOfCount,
  lateBatch: batchOfCount,
  find: 'find_counts',
  async content({ given, merchant, location }) {
    const product_id = await given.product(merchant);
    const lines = [{ product_id, counted_quantity: '7', counted_at_position: '0' }];
    return {
      path: '/inventory/counts',
      body: { location_id: location, lines },
      subject: product_id,
    };
  },
  effects: 'select count(*)::int from inventory_movements where product_id = $1',
});

const batchOfToken = [
  ...['begin', 'lock_managed', 'read_managed', 'append_audit'],
  ...['bind_keys insert_managed insert_managed_tokens', 'commit'],
];

/** One credential, with one token and one line of the audit trail; otherwise how many of each. */
const newToken = kindOf({
  name: 'a new token',
  type: 'tokens.create',
  method: 'POST',
  status: 201,
  before: [looked],
  batch: batchOfToken,
  lateBatch: batchOfToken,
  find: 'find_managed_tokens',
  isOfAccess: true,
  once: 'token',
  async content() {
    const name = newKey();
    return { path: '/tokens', body: { name, scopes: ['products.read'] }, subject: name };
  },
  effects: `select case when (made, tokens, lines) = (1, 1, 1) then 1
      else 100 * made + 10 * tokens + lines end
    from (select count(distinct c.id)::int as made, count(distinct t.token_hash)::int as tokens,
        count(distinct (a.day, a.number))::int as lines
      from credentials c
      left join credential_tokens t on t.merchant_id = c.merchant_id and t.credential_id = c.id
      left join audit_records a on a.line like '%' || c.id || '%'
      where c.name = $1) found`,
});

/** Whether somebody is in reach is asked of whoever is in a path, and again for a replay. */
const changeOfPerson = kindOf({
  name: 'a change of a person',
  type: 'people.update',
  method: 'PATCH',
  status: 200,
  before: [looked, 'find_managed_people'],
  batch: [
    ...['begin', 'lock_managed', 'read_managed', 'append_audit'],
    ...['bind_keys update_managed update_managed_ends', 'commit'],
  ],
  find: 'find_managed_people',
  isOfAccess: true,
  replay: ['find_managed_people', 'find_managed_people'],
  async content({ api }) {
    const asked = { name: newKey(), role: 'viewer' };
    const { body } = await served(() => api.post('/people', asked));
    const { id } = body.data;
    return { path: `/people/${id}`, body: { role: 'cashier' }, subject: id };
  },
  effects: `select case when c.version - 1 = count(a.day) then c.version - 1 else -1 end::int
    from credentials c left join audit_records a
      on a.line like '%"person.change"%' and a.line like '%' || c.id || '%'
    where c.id = $1 group by c.version`,
});

/** COMMIT is sent together with what binds the key, and with the locks before it. */
export const isSentWithCommit = (exchange: string): boolean =>
  ['commit', 'lock_journals', 'append_audit'].includes(exchange) ||
  exchange.startsWith('bind_keys');

const others = [upsertOfNew, upsertOfProduct, receipt, count, newToken, changeOfPerson];

/**
 * Four, in `npm test` two of these, and of those that are much like them another one each time:
 * all take too long.
 */
export const kinds: readonly Kind[] = [
  ...[adjustment, ...sampleOf([create, changeOfCustomer, changeOfProduct], 1)],
  ...others.filter((_, index) => index === seed % others.length),
];
