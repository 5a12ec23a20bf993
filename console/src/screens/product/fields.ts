// What can be changed of a product, as it stands in the fields of a form: texts, as somebody types
// them.

import type { Product, ProductsCreateBody, ProductsUpdateBody } from '@tallybook/client';
import { quantityOf, quantityText } from '../../format.ts';
import { texts } from '../../texts.ts';

export interface Fields {
  readonly name: string;
  readonly description: string;
  readonly sku: string;
  readonly barcode: string;
  readonly isTracked: boolean;
  readonly unit: string;
  readonly precision: string;
  readonly amount: string;
  readonly currency: string;
  readonly lowStockAt: string;
  readonly externalId: string;
}

export type FieldName = keyof Fields;

/** What a person changes. */
export interface Edit {
  /** The version that was read when the person began, and what stood there. */
  readonly version: number;
  readonly base: Fields;
  readonly typed: Fields;
}

export const emptyFields: Fields = {
  name: '',
  description: '',
  sku: '',
  barcode: '',
  isTracked: true,
  unit: 'each',
  precision: '0',
  amount: '',
  currency: '',
  lowStockAt: '',
  externalId: '',
};

export function fieldsOf(product: Product): Fields {
  const { price, low_stock_at: low } = product;
  return {
    name: product.name,
    description: product.description ?? '',
    sku: product.sku ?? '',
    barcode: product.barcode ?? '',
    isTracked: product.inventory_tracked,
    unit: product.unit.code,
    precision: String(product.unit.precision),
    amount: price === null ? '' : quantityText(price.amount),
    currency: price?.currency ?? '',
    lowStockAt: low === null ? '' : quantityText(low),
    externalId: product.external_id ?? '',
  };
}

const fieldNames = Object.keys(emptyFields) as FieldName[];

export const changedFields = (from: Fields, to: Fields): FieldName[] =>
  fieldNames.filter((name) => from[name] !== to[name]);

/** Only what was changed: what others changed meanwhile stays. */
export function changesOf(base: Fields, typed: Fields): ProductsUpdateBody {
  const all = bodyOf(typed);
  const members = new Set(changedFields(base, typed).map((name) => memberOf[name]));
  return Object.fromEntries(Object.entries(all).filter(([member]) => members.has(member)));
}

/** The member of the record in which a field ends up. */
const memberOf: Readonly<Record<FieldName, string>> = {
  name: 'name',
  description: 'description',
  sku: 'sku',
  barcode: 'barcode',
  isTracked: 'inventory_tracked',
  unit: 'unit',
  precision: 'unit',
  amount: 'price',
  currency: 'price',
  lowStockAt: 'low_stock_at',
  externalId: 'external_id',
};

export function bodyOf(typed: Fields): ProductsCreateBody {
  return {
    name: typed.name.trim(),
    description: orNull(typed.description.replaceAll(/\s*\n\s*/g, ' ')),
    sku: orNull(typed.sku),
    barcode: orNull(typed.barcode),
    inventory_tracked: typed.isTracked,
    unit: { code: typed.unit.trim().toLowerCase(), precision: precisionOf(typed) },
    price:
      typed.amount.trim() === ''
        ? null
        : {
            amount: amountOf(typed.amount, typed.currency),
            currency: typed.currency.trim().toUpperCase(),
          },
    low_stock_at: orNull(quantityOf(typed.lowStockAt) ?? typed.lowStockAt),
    external_id: orNull(typed.externalId),
  };
}

const orNull = (typed: string): string | null => (typed.trim() === '' ? null : typed.trim());

/** A digit; no quantity. */
const precisionOf = ({ precision }: Fields): number => '012345'.indexOf(precision);

/** With all decimals of the currency, as the service wants it: 12.5 is 12.50. */
function amountOf(typed: string, currency: string): string {
  const amount = quantityOf(typed) ?? typed.trim();
  const [whole = '', fraction = ''] = amount.split('.');
  const padded = fraction.padEnd(decimalsOf(currency), '0');
  return padded === '' ? whole : `${whole}.${padded}`;
}

function decimalsOf(currency: string): number {
  try {
    const style = { style: 'currency', currency: currency.trim() } as const;
    return new Intl.NumberFormat('en', style).resolvedOptions().maximumFractionDigits ?? 0;
  } catch {
    return 0;
  }
}

/** What stands in a field, for reading. */
export function fieldText(fields: Fields, name: FieldName): string {
  const value = fields[name];
  if (typeof value === 'boolean') return value ? texts.product.yes : texts.product.no;
  return value.trim() === '' ? texts.product.empty : value;
}
