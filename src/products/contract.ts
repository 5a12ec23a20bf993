// The wire shape and endpoints of products.

import Type from 'typebox';
import { collection, member, write } from '../core/contract.ts';
import { limits } from '../core/limits.ts';
import {
  defaulted,
  ExternalId,
  id,
  Metadata,
  MetadataPatch,
  nullable,
  oneOf,
  SearchWords,
  Timestamp,
  text,
  Version,
} from '../core/schema.ts';

const statuses = ['active', 'archived'] as const;

/** What a member is on a create without it, and after a PATCH with null. */
export const defaults = {
  inventory_tracked: true,
  unit: { code: 'each', precision: 0 },
  metadata: {},
};

const name = text('name', { min: 1, max: 255 }, 'The name.');
const description = text('text', { max: 5000 }, 'A description.');
const sku = text('text', { min: 1, max: 100 }, 'The stock keeping unit; unique, by case as well.');
const barcode = text('text', { max: 64 }, 'A barcode. Several products may share one.');
const status = oneOf(statuses, 'Archived products cannot be adjusted; they keep their SKU.');
const inventoryTracked = Type.Boolean({ description: 'Whether levels are kept.' });

const Unit = Type.Object(
  {
    code: Type.String({
      pattern: '^[a-z][a-z0-9_]{0,15}$',
      maxLength: 16,
      description: 'Such as each or kg.',
    }),
    precision: Type.Integer({
      minimum: 0,
      maximum: limits.quantityDecimalsMax,
      description: 'How many decimals its quantities may have.',
    }),
  },
  { description: 'What quantities count. It cannot change once the product has a movement.' },
);

const Price = Type.Object(
  {
    amount: Type.String({
      maxLength: limits.quantityLengthMax,
      description: 'A decimal string with exactly the decimals of the currency; not negative.',
      examples: ['12.50'],
    }),
    currency: Type.String({ maxLength: 16, description: 'An ISO 4217 code.', examples: ['EUR'] }),
  },
  { description: 'What it sells for.' },
);

const Product = Type.Object(
  {
    id: id('product', 'Its ID.'),
    name: Type.String({ description: 'The name.' }),
    description: nullable(Type.String({ description: 'A description.' })),
    sku: nullable(Type.String({ description: 'The stock keeping unit.' })),
    barcode: nullable(Type.String({ description: 'A barcode.' })),
    status,
    inventory_tracked: inventoryTracked,
    unit: Unit,
    price: nullable(Price),
    external_id: nullable(Type.String({ description: "The ID in the caller's own system." })),
    metadata: Metadata,
    version: Version,
    created_at: Timestamp('When it was created.'),
    updated_at: Timestamp('When it last changed.'),
  },
  { $id: 'Product', description: 'Something the merchant sells.' },
);

export const createProduct = write({
  name: 'products.create',
  method: 'POST',
  path: '/products',
  summary: 'Create a product',
  scope: 'products.write',
  body: Type.Object({
    name,
    description: Type.Optional(nullable(description)),
    sku: Type.Optional(nullable(sku)),
    barcode: Type.Optional(nullable(barcode)),
    inventory_tracked: Type.Optional(defaulted(inventoryTracked, defaults.inventory_tracked)),
    unit: Type.Optional(defaulted(Unit, defaults.unit)),
    price: Type.Optional(nullable(Price)),
    external_id: Type.Optional(nullable(ExternalId)),
    metadata: Type.Optional(defaulted(Metadata, defaults.metadata)),
  }),
  data: Product,
  memberPath: '/products/{id}',
  resourceType: 'product',
  problems: ['sku_taken', 'external_id_taken'],
});

export const updateProduct = write({
  name: 'products.update',
  method: 'PATCH',
  path: '/products/{id}',
  summary: 'Change a product',
  description:
    'Members sent are set, null clears one or takes it back to its default. A change of nothing ' +
    'keeps the version.',
  scope: 'products.write',
  body: Type.Object({
    name: Type.Optional(name),
    description: Type.Optional(nullable(description)),
    sku: Type.Optional(nullable(sku)),
    barcode: Type.Optional(nullable(barcode)),
    status: Type.Optional(status),
    inventory_tracked: Type.Optional(nullable(inventoryTracked)),
    unit: Type.Optional(nullable(Unit)),
    price: Type.Optional(nullable(Price)),
    external_id: Type.Optional(nullable(ExternalId)),
    metadata: Type.Optional(nullable(MetadataPatch)),
  }),
  data: Product,
  memberPath: '/products/{id}',
  resourceType: 'product',
  problems: ['sku_taken', 'external_id_taken'],
});

export const listProducts = collection({
  name: 'products.list',
  path: '/products',
  summary: 'List products',
  description: 'By ID, oldest first, of every status unless one is named.',
  scope: 'products.read',
  query: Type.Object({
    sku: Type.Optional(sku),
    barcode: Type.Optional(barcode),
    external_id: Type.Optional(ExternalId),
    status: Type.Optional(oneOf(statuses, 'Only with this status.')),
    updated_after: Type.Optional(Timestamp('Only changed at or after this.')),
    q: Type.Optional(SearchWords('name or SKU')),
  }),
  data: Product,
  problems: [],
});

export const getProduct = member({
  name: 'products.get',
  path: '/products/{id}',
  summary: 'Read a product',
  scope: 'products.read',
  data: Product,
  etag: true,
  problems: [],
});
