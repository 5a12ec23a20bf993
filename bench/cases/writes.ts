// The writes that are measured, each with its raw twin: one transaction, as one function call.

import type { RequestTemplate } from '../load/template.ts';
import { anyProduct, type RawStatement } from '../raw/statement.ts';
import { hotProduct, type MerchantGroup, merchantDigits, single } from '../setup/merchants.ts';
import type { Part } from './case.ts';

const key = 'bench-0000-0000-{count}';

/** The target grows from request to request, so it is never what the level is already. */
function adjustment(product: string): RequestTemplate {
  const body = JSON.stringify({
    product_id: product,
    location_id: '{location}',
    target_quantity: '{count}',
    reason: 'stock_count',
  });
  return { method: 'POST', path: '/api/v1/inventory/adjustments', body, key, answer: 'movement' };
}

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

/** What was sent before the benchmark began: the same with the same key, for each of the keys. */
export const used: RequestTemplate = {
  method: 'POST',
  path: '/api/v1/inventory/adjustments',
  body: JSON.stringify({
    product_id: '{prefix}{used}',
    location_id: '{location}',
    target_quantity: '7{used}',
    reason: 'stock_count',
  }),
  key: 'bench-used-0000-{used}',
  answer: 'movement',
};

/** Any of the first `levels` levels of the merchant. */
export function adjustSpread(raw: MerchantGroup, levels: number): Part {
  const { id, credential, location, productPrefix } = single(raw);
  return {
    request: adjustment('{prefix}{product}'),
    raw: {
      text: `select bench_adjust(:merchant, :credential, :location, ${anyProduct})`,
      constants: { merchant: id, credential, location, prefix: productPrefix },
      numbers: { n: levels },
    },
  };
}

export function adjustOne(raw: MerchantGroup): Part {
  const { id, credential, location } = single(raw);
  return {
    request: adjustment(`{prefix}${hotProduct({ productPrefix: '' })}`),
    raw: {
      text: 'select bench_adjust(:merchant, :credential, :location, :product)',
      constants: { merchant: id, credential, location, product: hotProduct(raw) },
      numbers: {},
    },
  };
}

/** Any level of any of the first `merchants` merchants. */
export function adjustMerchants(raw: MerchantGroup, merchants: number): Part {
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

export function createCustomer(raw: MerchantGroup): Part {
  const { id, credential } = single(raw);
  return {
    request: customer,
    raw: {
      text: 'select bench_create_customer(:merchant, :credential)',
      constants: { merchant: id, credential },
      numbers: {},
    },
  };
}

export function replay(raw: MerchantGroup, usedKeys: number): Part {
  const { id, credential } = single(raw);
  const statement: RawStatement = {
    text: `select * from bench_replay(:merchant, :credential, lpad(:n::text, 6, '0'))`,
    constants: { merchant: id, credential },
    numbers: { n: usedKeys },
  };
  return { request: { ...used, answer: 'replay' }, raw: statement };
}
