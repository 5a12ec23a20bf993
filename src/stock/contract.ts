// What a shop asks of its stock, on the wire.

import Type from 'typebox';
import { collection } from '../contract/contract.ts';
import {
  Day,
  id,
  idIn,
  nullable,
  oneOf,
  QuantityOut,
  SearchWords,
  Timestamp,
} from '../contract/schema.ts';
import { limits } from '../core/limits.ts';
import { asOf, asOfMeta, inventory, movementReasons } from '../inventory/contract.ts';
import { stock } from './resource.ts';

const DayOfStock = Type.Object(
  {
    date: Day('The day, by the clocks of the location.'),
    movements: Type.Integer({ minimum: 0, description: 'How many there were.' }),
    reasons: Type.Array(
      Type.Object({
        reason: oneOf(movementReasons, 'Of the movements.'),
        movements: Type.Integer({ minimum: 1, description: 'How many had this reason.' }),
        quantity_in: QuantityOut('What they added, as one sum over all products.'),
        quantity_out: QuantityOut('What they took away; not negative.'),
      }),
      { description: 'Those that the day had, by name.' },
    ),
  },
  { $id: 'InventoryDay', description: 'What the movements of a day came to, by reason.' },
);

export const listDays = collection({
  resource: inventory,
  name: 'inventory.daily.list',
  path: '/inventory/daily',
  summary: 'Sum up the movements of each day',
  description:
    `At one location, each day from the first to the last, ${limits.daysMax} at most. Days begin ` +
    'by the time zone that the location has now, which `meta.timezone` names. Sums add up ' +
    'whatever the units are: with `product_id` they are those of one product. All pages show one ' +
    `moment. A page sums up ${limits.movementsSummedMax.toLocaleString('en')} movements at most: ` +
    'it may have fewer days than `limit`, or none, and a cursor.',
  scope: 'inventory.read',
  query: Type.Object({
    location_id: idIn('loc_', 'The location; it must be granted.'),
    from: Day('The first day.'),
    to: Day(`The last day: at most ${limits.daysMax} in all.`),
    product_id: Type.Optional(idIn('prod_', 'Only movements of this product.')),
  }),
  data: DayOfStock,
  meta: {
    name: 'DayPageMeta',
    members: {
      timezone: Type.String({
        description: 'By which days begin and end.',
        examples: ['Europe/Berlin'],
      }),
    },
  },
  problems: ['location_not_granted', 'missing_parameter', 'journal_mismatch'],
});

const statuses = ['active', 'archived'] as const;

const StockItem = Type.Object(
  {
    product_id: id('prod_', 'The product.'),
    location_id: id('loc_', 'The location.'),
    name: Type.String({ description: 'What the product is called.' }),
    sku: nullable(Type.String({ description: 'The stock keeping unit.' })),
    barcode: nullable(Type.String({ description: 'The code printed on it.' })),
    status: oneOf(statuses, 'Archived products cannot be adjusted.'),
    unit: Type.Object(
      {
        code: Type.String({ description: 'What one is.', examples: ['kg'] }),
        precision: Type.Integer({ minimum: 0, description: 'How many decimals it may have.' }),
      },
      { description: 'What one of it is.' },
    ),
    low_stock_at: nullable(
      QuantityOut('What is available has run out once it is no more than this; null: never.'),
    ),
    quantity: QuantityOut('What is on hand there: 0 where it never moved.'),
    reserved_quantity: nullable(
      QuantityOut('How much of it is put aside by reservations, now. Null as of a moment.'),
    ),
    available_quantity: nullable(
      QuantityOut('What is on hand and not put aside; below 0 when that is less.'),
    ),
    updated_at: nullable(Timestamp('When that changed last; null where it never moved.')),
    counted_at: nullable(
      Timestamp('When its last count was recorded; null: never. Null as of a moment.'),
    ),
    counted_by: nullable(id('cred_', 'The credential that recorded that count.')),
  },
  { $id: 'StockItem', description: 'A product, with what is on hand at a location.' },
);

export const listStock = collection({
  resource: stock,
  name: 'stock.list',
  path: '/stock',
  summary: 'List products with what is on hand',
  description:
    'At one location: every product whose inventory is tracked, also those that never moved ' +
    'there. By name, without regard to case and accents, or by SKU, those without one last, ' +
    'or by quantity, the least first: of a location with ' +
    `${limits.stockSortedMax.toLocaleString('en')} levels at most, or with a filter of as many ` +
    'products. A page by quantity, or with `q` or `low_stock`, may have fewer than `limit`, or ' +
    'none, and a cursor. It needs `products.read` as well: without it, nothing is listed. With ' +
    '`as_of_position` or `as_of` quantities are those of one moment on all pages, which ' +
    '`meta.as_of_position` and `meta.journal` name; products and their names are those of now.',
  scope: 'inventory.read',
  query: Type.Object({
    location_id: idIn('loc_', 'The location; it must be granted.'),
    q: Type.Optional(SearchWords('name, SKU or barcode')),
    sort: Type.Optional(
      oneOf(
        ['name', 'sku', 'quantity'],
        'What they are sorted by: `name`, unless told. `quantity` is refused with `as_of` and ' +
          '`as_of_position`.',
      ),
    ),
    status: Type.Optional(oneOf(statuses, 'Only with this status: `active`, unless told.')),
    low_stock: Type.Optional(
      oneOf(
        ['true'],
        'Only active products of which no more is available there than `low_stock_at`; what ' +
          'never moved there is 0. Not with `as_of` or `as_of_position`.',
      ),
    ),
    ...asOf,
  }),
  data: StockItem,
  meta: asOfMeta,
  problems: ['location_not_granted', 'missing_parameter', 'journal_mismatch'],
});
