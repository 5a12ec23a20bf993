// Examples from schemas: a schema's own `examples` first, else what its members are usually called.
// Every example is valid against its schema; a test checks that.

import type { Schema } from './model.ts';

/** Values that make an example read like one record. A member's name decides. */
const memberExamples: Readonly<Record<string, unknown>> = {
  application: null,
  application_id: null,
  barcode: '4006381333931',
  code: 'BER-1',
  description: 'Wheat flour, type 550.',
  email: 'ada@example.com',
  error: null,
  expected_quantity: '10',
  external_id: 'shop-1042',
  metadata: { channel: 'web' },
  name: 'Ada Lovelace',
  note: 'Counted twice.',
  phone: '+4930123456',
  price: { amount: '1.29', currency: 'EUR' },
  quantity: '12.5',
  quantity_after: '12.5',
  quantity_before: '10',
  quantity_delta: '2.5',
  rate_limit: { requests_per_minute: 6000, burst: 1000 },
  reference: 'count-2026-01',
  sequence: 2,
  sku: 'FLOUR-550',
  target_quantity: '12.5',
  timezone: 'Europe/Berlin',
  unit: { code: 'kg', precision: 3 },
  version: 2,
};

/** Finds a component schema by its reference. */
export type Resolve = (ref: string) => Schema;

/** Examples where another word than the common one is needed. */
export type Overrides = Readonly<Record<string, unknown>>;

export function exampleOf(schema: Schema, resolve: Resolve, overrides: Overrides = {}): unknown {
  if (typeof schema.$ref === 'string') return exampleOf(resolve(schema.$ref), resolve, overrides);
  if (Array.isArray(schema.examples)) return schema.examples[0];
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (Array.isArray(schema.anyOf)) {
    return exampleOf((schema.anyOf as Schema[])[0] ?? {}, resolve, overrides);
  }
  const [type] = [schema.type].flat();
  switch (type) {
    case 'object':
      return objectExample(schema, resolve, overrides);
    case 'array':
      return [exampleOf(schema.items as Schema, resolve, overrides)];
    case 'integer':
      return schema.default ?? schema.minimum ?? 1;
    case 'boolean':
      return schema.default ?? true;
    default:
      return schema.default ?? 'text';
  }
}

function objectExample(schema: Schema, resolve: Resolve, overrides: Overrides): unknown {
  const known = { ...memberExamples, ...overrides };
  const members = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
  return Object.fromEntries(
    members.map(([name, one]) => {
      const isWord = Array.isArray(one.enum) || 'const' in one;
      const hasOwn = Object.hasOwn(known, name) && !isWord && typeof one.$ref !== 'string';
      return [name, hasOwn ? known[name] : exampleOf(one, resolve, overrides)];
    }),
  );
}
