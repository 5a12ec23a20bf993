// What can be imported: what a row says, and by what its record is found. All of it comes from
// what the resources declare, so a new member is a new column.

import type { TSchema } from 'typebox';
import type { WriteContract } from '../contract/contract.ts';
import type { JsonObject } from '../contract/json.ts';
import { BodyParser } from '../contract/parse.ts';
import type { Detail } from '../core/problem.ts';
import { countInventory } from '../counts/contract.ts';
import * as customers from '../customers/contract.ts';
import { listLevels } from '../inventory/contract.ts';
import * as locations from '../locations/contract.ts';
import * as products from '../products/contract.ts';
import { productFaults } from '../products/faults.ts';
import type { RecordResource } from '../records/record.ts';
import { type Column, columnsOf } from './columns.ts';

export type NounName = 'products' | 'customers' | 'locations' | 'counts';

export interface Noun {
  readonly name: NounName;
  /** What one row is. */
  readonly singular: string;
  /** What a row can say. */
  readonly columns: readonly Column[];
  /** What an export has beside it; it is passed over. */
  readonly passedOver: ReadonlySet<string>;
  /** By which members a record can be found; the first that the file has, unless told. */
  readonly finders: readonly string[];
  /** No two rows may have the same. */
  readonly unique: readonly string[];
  /** Other names of columns. */
  readonly aliases: Readonly<Record<string, string>>;
  readonly scopes: readonly string[];
  /** Everything that is wrong with a row. */
  faults(body: JsonObject): readonly Detail[];
}

/** What the rows of a noun that is a record become. */
export interface RecordNoun extends Noun {
  readonly name: Exclude<NounName, 'counts'>;
  readonly resource: RecordResource;
}

/** The column that a file of refused rows has; it may stay there. */
export const reasonColumn = 'refused_because';

interface Contracts {
  readonly create: WriteContract;
  readonly upsert: WriteContract;
}

function recordNoun(
  resource: RecordResource,
  { upsert }: Contracts,
  check: (body: JsonObject) => readonly Detail[] = () => [],
): RecordNoun {
  const settable = new Set(Object.keys(resource.patchBody.properties));
  const shown = columnsOf(resource.answer);
  const isSettable = ({ path: [first = ''] }: Column) => settable.has(first);
  const unique = Object.keys(resource.unique);
  const parser = new BodyParser(upsert);
  return {
    name: resource.name as RecordNoun['name'],
    singular: resource.noun,
    resource,
    columns: shown.filter(isSettable),
    passedOver: passedOverOf(resource.answer, shown.filter(isSettable)),
    finders: ['external_id', ...unique.filter((member) => member !== 'external_id')],
    unique,
    aliases: {},
    scopes: resource.scopes,
    faults(body) {
      const faults = parser.faults(body);
      return faults.length > 0 ? faults : check(body);
    },
  };
}

function passedOverOf(answer: TSchema, settable: readonly Column[]): ReadonlySet<string> {
  const names = columnsOf(answer).map(({ name }) => name);
  const taken = new Set(settable.map(({ name }) => name));
  return new Set([...names.filter((name) => !taken.has(name)), reasonColumn]);
}

const line = countInventory.body.properties.lines.items;
const countParser = new BodyParser(countInventory);

const productOf = (name: string): Column => ({
  name,
  path: [name],
  kind: 'text',
  isFree: false,
});

/** What a file of counts calls its products, beside their IDs. */
const productNames = ['external_id', 'sku'] as const;

const counts: Noun = {
  name: 'counts',
  singular: 'count',
  columns: [
    ...columnsOf(line).filter(({ name }) => name !== 'counted_at_position'),
    ...[...productNames, 'location_code'].map(productOf),
  ],
  passedOver: new Set(
    [
      ...columnsOf(listLevels.data).map(({ name }) => name),
      ...['name', 'barcode', 'location_name', reasonColumn],
    ].filter((name) => name !== 'product_id' && name !== 'quantity'),
  ),
  finders: ['external_id', 'sku', 'product_id'],
  unique: ['external_id', 'sku', 'product_id'],
  // As exports of levels call it.
  aliases: { quantity: 'counted_quantity' },
  scopes: ['inventory.read', 'inventory.write', 'products.read', 'locations.read'],
  faults({ external_id: _, sku: __, location_code: ___, ...body }) {
    const asked = {
      product_id: 'prod_',
      ...body,
      ...(body.product_id === null ? { product_id: 'prod_' } : {}),
    };
    const all = countParser.faults({ location_id: 'loc_', lines: [asked] });
    return all.map((fault) => ({ ...fault, field: (fault.field ?? '').replace('lines.0.', '') }));
  },
};

export const nouns = {
  products: recordNoun(products.products, products, (body) =>
    productFaults(body as Parameters<typeof productFaults>[0]),
  ),
  customers: recordNoun(customers.customers, customers),
  locations: recordNoun(locations.locations, locations),
  counts,
} as const satisfies Readonly<Record<NounName, Noun>>;

export function isRecordNoun(noun: Noun): noun is RecordNoun {
  return 'resource' in noun;
}
