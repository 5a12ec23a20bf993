// What is measured: requests to the service, and the same work as statements for the raw figure.

import {
  hotProduct,
  type MerchantGroup,
  merchantDigits,
  productDigits,
  single,
} from '../test/kit/many-rows.ts';
import type { Caller, LoadPlan, RequestTemplate } from './load.ts';
import { anyMovement, anyProduct, type RawStatement, type RawWork, rawOf } from './raw.ts';
import { listStatement, memberStatement, type PageQuestion } from './statements.ts';

export interface Case {
  /** As it is named on the command line. */
  readonly name: string;
  readonly title: string;
  readonly server: 'service' | 'bare-route' | 'bare-list';
  readonly plan: LoadPlan;
  /** Undefined: there is nothing to compare with. */
  readonly raw: RawWork | undefined;
}

/** A group that the service works on, and one of the same size for the raw statements. */
export interface Pair {
  readonly served: MerchantGroup;
  readonly raw: MerchantGroup;
}

/** One kind of request. */
interface Part {
  readonly request: RequestTemplate;
  readonly raw?: RawStatement | undefined;
}

const usedKeysMax = 10_000;
const fewLevels = 64;
const fewMerchants = 64;
const filters = 100;
export const pageSize = 50;

export const namesOfOne = [
  ...['adjust-spread', 'adjust-64', 'adjust-one', 'reserve', 'create-customer', 'replay'],
  ...[
    'list-products',
    'list-products-br',
    'list-products-gzip',
    'list-levels',
    'list-levels-as-of',
    'filter-levels',
    'list-movements',
    'list-movements-100',
    'follow-events',
  ],
  ...['get-product', 'get-movement', 'mixed', 'bare-route', 'bare-list'],
];
export const namesOfMany = ['adjust-few-merchants', 'adjust-many-merchants'];
export const nameOfLarge = 'adjust-large-merchant';

const key = 'bench-0000-0000-{count}';

/** The target grows from request to request, so it is never what the level is already. */
export function adjustment(product: string): RequestTemplate {
  const body = JSON.stringify({
    product_id: product,
    location_id: '{location}',
    target_quantity: '{count}',
    reason: 'stock_count',
  });
  return { method: 'POST', path: '/api/v1/inventory/adjustments', body, key, answer: 'movement' };
}

/** Of one, from the outside, so that there is always enough. */
function receipt(product: string): RequestTemplate {
  const body = JSON.stringify({
    to_location_id: '{location}',
    reason: 'receipt',
    lines: [{ product_id: product, quantity: '1' }],
  });
  return { method: 'POST', path: '/api/v1/inventory/transfers', body, key, answer: 'other' };
}

/** Of one, until it is released: what is on hand is more. */
function reservation(product: string): RequestTemplate {
  const body = JSON.stringify({
    location_id: '{location}',
    lines: [{ product_id: product, quantity: '1' }],
    reference: 'order {count}',
  });
  return { method: 'POST', path: '/api/v1/inventory/reservations', body, key, answer: 'other' };
}

const reserving: Part = { request: reservation('{prefix}{product}') };

const customer: RequestTemplate = {
  method: 'POST',
  path: '/api/v1/customers',
  body: JSON.stringify({
    name: 'Ada Bench {count}',
    email: 'c{count}@example.com',
    phone: '+493012345678',
  }),
  key,
  answer: 'other',
};

/** What is sent before the measurements: the same with the same key, for each of the keys. */
const used: RequestTemplate = {
  ...adjustment('{prefix}{used}'),
  body: (adjustment('{prefix}{used}').body ?? '').replace('{count}', '7{used}'),
  key: 'bench-used-0000-{used}',
  answer: 'other',
};

export function usingKeys({ served }: Pair): LoadPlan {
  return planOf([{ weight: 1, request: used }], served.merchants, served);
}

export function get(path: string): RequestTemplate {
  return { method: 'GET', path: `/api/v1${path}`, answer: 'other' };
}

export function planOf(
  parts: readonly { readonly weight: number; readonly request: RequestTemplate }[],
  callers: readonly Caller[],
  { products, movements }: Pick<MerchantGroup, 'products' | 'movements'>,
): LoadPlan {
  const requests = parts.map(({ weight, request }) => ({ weight, template: request }));
  const usedKeys = Math.min(products, usedKeysMax);
  return { requests, callers, numbers: { products, movements, usedKeys } };
}

function caseOf(
  name: string,
  title: string,
  parts: readonly (Part & { readonly weight: number })[],
  group: Pick<MerchantGroup, 'merchants' | 'products' | 'movements'>,
): Case {
  const raw = parts.flatMap(({ weight, raw: statement }) =>
    statement === undefined ? [] : [{ weight, statement }],
  );
  const server = name === 'bare-route' || name === 'bare-list' ? name : 'service';
  const plan = planOf(parts, group.merchants, group);
  return { name, title, server, plan, raw: raw.length === parts.length ? raw : undefined };
}

/** The cases of one merchant that has nothing but its own rows. */
export async function casesOfOne({ served, raw }: Pair): Promise<Case[]> {
  const one = (name: string, title: string, part: Part) =>
    caseOf(name, title, [{ ...part, weight: 1 }], served);
  const { products, levels, levelsAsOf, ...reads } = await readsOf({ served, raw });
  const { movements, product, movement } = reads;
  return [
    ...writesOfOne({ served, raw }),
    one('list-products', 'list 50 products', products),
    ...(['br', 'gzip'] as const).map((coding) => {
      const request = { ...products.request, coding };
      return one(`list-products-${coding}`, `list 50 products, ${coding}`, { request });
    }),
    one('list-levels', 'list 50 levels', levels),
    one('list-levels-as-of', 'list 50 levels as of a moment', levelsAsOf),
    one('filter-levels', 'levels of 100 products', await filteredLevels(raw)),
    one('list-movements', 'list 50 movements, newest first', movements),
    ...hundreds.map(([name, title, path]) => one(name, title, { request: get(path) })),
    one('get-product', 'get product', product),
    one('get-movement', 'get movement', movement),
    caseOf(
      'mixed',
      'mixed: 80 % reads',
      [
        { ...adjustSpread(raw, raw.products), weight: 4 },
        { ...product, weight: 6 },
        { ...movement, weight: 2 },
        { ...products, weight: 3 },
        { ...levels, weight: 3 },
        { ...movements, weight: 2 },
      ],
      served,
    ),
    one('bare-route', 'bare route, as large as a product', { request: get('/products/any') }),
    one('bare-list', 'bare server, list 50 products', { request: get('/products') }),
  ];
}

function writesOfOne({ served, raw }: Pair): Case[] {
  const one = (name: string, title: string, part: Part, group = served) =>
    caseOf(name, title, [{ ...part, weight: 1 }], group);
  const { id: merchant, credential } = single(raw);
  const spread = adjustSpread(raw, raw.products);
  return [
    one('adjust-spread', `adjust, ${raw.products.toLocaleString('en')} levels`, spread),
    one('adjust-64', `adjust, ${fewLevels} levels`, adjustSpread(raw, fewLevels), {
      ...served,
      products: fewLevels,
    }),
    one('adjust-one', 'adjust, one level', adjustOne(raw)),
    one('transfer', 'transfer one line', { request: receipt('{prefix}{product}') }),
    one('transfer-one', 'transfer one line, one level', {
      request: receipt(`{prefix}${hotProduct({ productPrefix: '' })}`),
      ...rawOfOne(raw),
    }),
    one('reserve', 'reserve, behind adjustments', reserving),
    one('create-customer', 'create customer', {
      request: customer,
      raw: {
        text: 'select bench_create_customer(:merchant, :credential)',
        constants: { merchant, credential },
        numbers: {},
      },
    }),
    one('replay', 'replay an adjustment', {
      request: { ...used, answer: 'replay' },
      raw: {
        text: `select * from bench_replay(:merchant, :credential, lpad(:n::text, 6, '0'))`,
        constants: { merchant, credential },
        numbers: { n: Math.min(raw.products, usedKeysMax) },
      },
    }),
  ];
}

/** The feed beside a list that shows the same movements. */
const hundreds = [
  ['list-movements-100', 'list 100 movements', '/inventory/movements?limit=100'],
  ['follow-events', 'follow 100 events', '/events?limit=100&type=inventory.adjusted'],
] as const;

/** The reads, with the service's own statements. */
async function readsOf({ served, raw }: Pair) {
  const { id: merchant, credential, location } = single(raw);
  const asked = { merchant, credential };
  const list = async (path: string, more: Partial<PageQuestion> = {}) =>
    rawOf(await listStatement({ ...asked, path, ...more }));
  const products = { request: get(`/products?limit=${pageSize}`), raw: await list('/products') };
  const levels = {
    request: get(`/inventory/levels?location_id={location}&limit=${pageSize}`),
    raw: await list('/inventory/levels', { location }),
  };
  const levelsAsOf = {
    request: get(`/inventory/levels?location_id={location}&as_of=now&limit=${pageSize}`),
    raw: await list('/inventory/levels', { location, query: { as_of: 'now' } }),
  };
  const movements = {
    request: get(`/inventory/movements?limit=${pageSize}`),
    raw: await list('/inventory/movements'),
  };
  const product = {
    request: get('/products/{prefix}{product}'),
    raw: rawOf(
      await memberStatement('/products/{id}', asked, hotProduct(raw)),
      { 2: `array[${anyProduct}]` },
      { constants: { prefix: raw.productPrefix }, numbers: { n: raw.products } },
    ),
  };
  const movement = {
    request: get(`/inventory/movements/${served.movementPrefix}{movement}`),
    raw: rawOf(
      await memberStatement('/inventory/movements/{id}', asked, ''),
      { 2: `array[${anyMovement}]` },
      { constants: { prefix: raw.movementPrefix }, numbers: { v: raw.movements } },
    ),
  };
  return { products, levels, levelsAsOf, movements, product, movement };
}

/** The cases of many merchants, each request by any of them. */
export function casesOfMany({ served, raw }: Pair): Case[] {
  const all = served.merchants.length;
  const of = (name: string, merchants: number) =>
    caseOf(
      name,
      `adjust, ${merchants.toLocaleString('en')} merchants`,
      [{ ...adjustMerchants(raw, merchants), weight: 1 }],
      { ...served, merchants: served.merchants.slice(0, merchants) },
    );
  const [few = '', many = ''] = namesOfMany;
  const some = Math.min(fewMerchants, all);
  return [of(few, some), ...(all > some ? [of(many, all)] : [])];
}

/** One merchant that is much larger than the many it is among. */
export function caseOfLarge({ served, raw }: Pair): Case {
  const part = { ...adjustSpread(raw, raw.products), weight: 1 };
  return caseOf(nameOfLarge, 'adjust, a large one of these', [part], served);
}

/** Any of the first `levels` levels of the merchant. */
function adjustSpread(raw: MerchantGroup, levels: number): Part {
  const { id: merchant, credential, location, productPrefix: prefix } = single(raw);
  return {
    request: adjustment('{prefix}{product}'),
    raw: {
      text: `select bench_adjust(:merchant, :credential, :location, ${anyProduct})`,
      constants: { merchant, credential, location, prefix },
      numbers: { n: levels },
    },
  };
}

function adjustOne(raw: MerchantGroup): Part {
  return {
    request: adjustment(`{prefix}${hotProduct({ productPrefix: '' })}`),
    ...rawOfOne(raw),
  };
}

/** The database alone: a transaction for each adjustment, which is less than a transfer. */
function rawOfOne(raw: MerchantGroup): Pick<Part, 'raw'> {
  const { id: merchant, credential, location } = single(raw);
  return {
    raw: {
      text: 'select bench_adjust(:merchant, :credential, :location, :product)',
      constants: { merchant, credential, location, product: hotProduct(raw) },
      numbers: {},
    },
  };
}

/** Any level of any of the first `merchants` merchants. */
function adjustMerchants(raw: MerchantGroup, merchants: number): Part {
  const any = (prefix: string) => `:${prefix} || lpad(:m::text, ${merchantDigits}, '0')`;
  return {
    request: adjustment('{prefix}{product}'),
    raw: {
      text: `select bench_adjust(${any('merchant')}, ${any('credential')}, ${any('location')},
        ${anyProduct})`,
      constants: { ...raw.prefixes, prefix: raw.productPrefix },
      numbers: { m: merchants, n: raw.products },
    },
  };
}

/** A hundred products, others in each request. */
async function filteredLevels(raw: MerchantGroup): Promise<Part> {
  const { id: merchant, credential, location } = single(raw);
  const named = '&product_id={prefix}{product}'.repeat(filters);
  const hot = [hotProduct(raw)];
  const statement = await listStatement({
    ...{ path: '/inventory/levels', merchant, credential, location, limit: filters },
    query: { product_id: hot },
  });
  const products = statement.values.findIndex((value) => Array.isArray(value)) + 1;
  const drawn = `array(select :prefix || lpad((1 + floor(random() * :products::int))::text,
    ${productDigits}, '0') from generate_series(1, ${filters}))`;
  const constants = { prefix: raw.productPrefix, products: String(raw.products) };
  return {
    request: get(`/inventory/levels?location_id={location}&limit=${filters}${named}`),
    raw: rawOf(statement, { [products]: drawn }, { constants }),
  };
}
