// Products: their members, and their endpoints on the wire.

import Type from 'typebox';
import { collection, member, ownIdQuery, upsertText, write } from '../contract/contract.ts';
import { searchText, sortText } from '../contract/format.ts';
import {
  anyOf,
  ExternalId,
  idIn,
  oneOf,
  QuantityIn,
  QuantityOut,
  SearchWords,
  Timestamp,
  text,
} from '../contract/schema.ts';
import { limits } from '../core/limits.ts';
import { defaulted, externalId, metadata, optional, required, state } from '../records/members.ts';
import { record } from '../records/record.ts';

const statuses = ['active', 'archived'] as const;
const sku = text('text', { min: 1, max: 100 }, 'The stock keeping unit; unique, by case as well.');
const barcode = text(
  'text',
  { max: 64 },
  'The code printed on it, such as an EAN. Several products may share one.',
);

const Unit = Type.Object(
  {
    code: Type.String({
      pattern: '^[a-z][a-z0-9_]{0,15}$',
      maxLength: 16,
      description: 'What one is, such as `each`, `kg` or `m`.',
    }),
    precision: Type.Integer({
      minimum: 0,
      maximum: limits.quantityDecimalsMax,
      description:
        'How many decimals a quantity may have: 0 for pieces, 3 for kilograms down to the gram.',
    }),
  },
  {
    description:
      'What one of it is, such as a piece or a kilogram, and how finely it is counted. It cannot ' +
      'change once the product has a movement.',
  },
);

export const Price = Type.Object(
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

const lowStockText =
  'What is available at a location is low once it is no more than this, in as many decimals as ' +
  'the unit has; null: never.';

export const products = record({
  name: 'products',
  noun: 'product',
  prefix: 'prod_',
  description: 'What the merchant sells.',
  schema: { $id: 'Product', description: 'Something the merchant sells.' },
  members: {
    name: required(text('name', { min: 1, max: 255 }, 'What the product is called.'), {
      shown: 'What the product is called.',
      example: 'Wheat flour 1 kg',
    }),
    description: optional(text('text', { max: 5000 }, 'What a buyer should know.'), {
      shown: 'What a buyer should know.',
      example: 'Wheat flour, type 550.',
      isLarge: true,
    }),
    sku: optional(sku, {
      shown: 'The stock keeping unit.',
      example: 'FLOUR-550',
      unique: 'sku_taken',
    }),
    barcode: optional(barcode, {
      shown: 'The code printed on it, such as an EAN.',
      example: '4006381333931',
    }),
    status: state(statuses, 'Archived products cannot be adjusted; they keep their SKU.'),
    inventory_tracked: defaulted(Type.Boolean({ description: 'Whether levels are kept.' }), true),
    unit: defaulted(
      Unit,
      { code: 'each', precision: 0 },
      {
        example: { code: 'kg', precision: 3 },
        columns: { code: 'unit_code', precision: 'unit_precision' },
      },
    ),
    price: optional(Price, {
      example: { amount: '1.29', currency: 'EUR' },
      columns: { amount: 'price_amount', currency: 'price_currency' },
    }),
    low_stock_at: optional(QuantityIn(lowStockText), {
      shown: QuantityOut(lowStockText),
      example: '5',
      isQuantity: true,
    }),
    external_id: externalId,
    metadata,
  },
  computed: {
    search: ({ name, sku, barcode }) => searchText(name, sku, barcode),
    name_key: ({ name }) => sortText(name),
  },
});

export const create = write({
  resource: products,
  name: 'products.create',
  method: 'POST',
  path: '/products',
  summary: 'Create a product',
  scope: 'products.write',
  body: products.createBody,
  data: products.answer,
  problems: ['sku_taken', 'external_id_taken'],
});

export const update = write({
  resource: products,
  name: 'products.update',
  method: 'PATCH',
  path: '/products/{id}',
  summary: 'Change a product',
  description:
    'Members sent are set, null clears one or takes it back to its default. A change of nothing ' +
    'keeps the version.',
  scope: 'products.write',
  body: products.patchBody,
  data: products.answer,
  problems: ['sku_taken', 'external_id_taken'],
});

export const upsert = write({
  resource: products,
  name: 'products.upsert',
  method: 'PATCH',
  path: '/products',
  summary: 'Create or change a product by your own ID',
  description: upsertText,
  scope: 'products.write',
  body: products.patchBody,
  data: products.answer,
  query: ownIdQuery,
  problems: ['sku_taken'],
});

export const list = collection({
  resource: products,
  name: 'products.list',
  path: '/products',
  summary: 'List products',
  description: 'By ID, oldest first, of every status unless one is named.',
  scope: 'products.read',
  query: Type.Object({
    id: Type.Optional(anyOf(idIn('prod_', 'A product.'), 'IDs')),
    sku: Type.Optional(anyOf(sku, 'SKUs')),
    barcode: Type.Optional(barcode),
    external_id: Type.Optional(anyOf(ExternalId, 'external IDs')),
    status: Type.Optional(oneOf(statuses, 'Only with this status.')),
    updated_after: Type.Optional(Timestamp('Only changed at or after this.')),
    q: Type.Optional(SearchWords('name, SKU or barcode')),
  }),
  data: products.answer,
  problems: [],
});

export const get = member({
  resource: products,
  name: 'products.get',
  path: '/products/{id}',
  summary: 'Read a product',
  scope: 'products.read',
  data: products.answer,
  etag: true,
  problems: [],
});
