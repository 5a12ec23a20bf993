// The rules of creating and changing a product. Its unit is fixed by its first movement: the
// quantities in the ledger count that unit.

import type { Command, Decision } from '../core/endpoint.ts';
import { mintId } from '../core/id.ts';
import type { Detail } from '../core/problem.ts';
import {
  accept,
  type Drafts,
  draftOf,
  type Edit,
  type Editable,
  firstVersion,
  isSame,
  type Metadata,
  type Patch,
  refusalByVersion,
  revise,
} from '../core/revision.ts';
import { defaults } from './contract.ts';
import type { Price } from './price.ts';

/** The body of a create, normalised. */
export interface ProductFields {
  readonly name: string;
  readonly description: string | null;
  readonly sku: string | null;
  readonly barcode: string | null;
  readonly inventory_tracked: boolean;
  readonly unit: { readonly code: string; readonly precision: number };
  readonly price: Price | null;
  readonly external_id: string | null;
  readonly metadata: Metadata;
}

export interface ProductRow extends ProductFields, Editable {
  readonly sku: string | null;
  readonly status: string;
}

export type ProductPatch = Patch<ProductFields & Pick<ProductRow, 'status'>>;

export interface ProductDrafts extends Drafts<ProductRow> {
  /** Products that have a movement, among those whose levels were locked. */
  readonly moved: ReadonlySet<string>;
}

/** Whether a PATCH concerns what adjustments are judged on, and so must not cross one. */
export const concernsInventory = ({ body }: Command<ProductPatch>): boolean =>
  body.status !== undefined || body.inventory_tracked !== undefined || body.unit !== undefined;

export function decideCreate(
  drafts: ProductDrafts,
  { body }: Command<ProductFields>,
  now: string,
): Decision<Edit<ProductRow>> {
  const fields = { ...body, status: 'active' };
  return accept(drafts, undefined, firstVersion(mintId('product'), fields, now));
}

export function decideUpdate(
  drafts: ProductDrafts,
  command: Command<ProductPatch>,
  now: string,
): Decision<Edit<ProductRow>> {
  const row = draftOf(drafts, command);
  const revised = revise(row, command.body, defaults, now);
  return (
    refusalByVersion(row, command.ifMatch) ??
    accept(drafts, row, revised, unitFaults(drafts, row, revised))
  );
}

function unitFaults(drafts: ProductDrafts, row: ProductRow, revised: ProductRow): Detail[] {
  if (!drafts.moved.has(row.id) || isSame(row.unit, revised.unit)) return [];
  const message = 'cannot change once the product has a movement';
  return [{ field: 'unit', code: 'value_not_allowed', message }];
}
