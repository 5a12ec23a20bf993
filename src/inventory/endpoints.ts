// The endpoints of inventory: which contract, which functions.

import type { DataOf, QueryOf } from '../contract/contract.ts';
import type {
  CollectionEndpoint,
  Endpoint,
  MemberEndpoint,
  WriteEndpoint,
} from '../contract/endpoint.ts';
import { fetchSize, type Page, type PageRequest, takePage } from '../contract/page.ts';
import { canonicalQuantity, type Quantity, subtract, zero } from '../core/decimal.ts';
import type { GrantedLocationId, MerchantId, Principal } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';
import type { Reader } from '../core/statement.ts';
import { journalOf } from '../journal/known.ts';
import { lastPositionAt } from '../journal/store.ts';
import { productExists } from '../products/store.ts';
import { type AdjustmentRow, type CountedStock, decideAdjustment } from './adjust.ts';
import { isAsOf, momentFaults, pageAsOf, requireJournal } from './as-of.ts';
import { listLevelsAsOf, listProductLevelsAsOf } from './as-of-store.ts';
import * as contract from './contract.ts';
import type { LastCount, LevelRow, Movement, MovementRow } from './ledger.ts';
import { listLowLevels } from './low-stock-store.ts';
import * as read from './read-store.ts';
import * as store from './store.ts';

const adjust: WriteEndpoint<
  typeof contract.adjustInventory,
  CountedStock,
  AdjustmentRow,
  Movement
> = {
  contract: contract.adjustInventory,
  load: (writes) => store.loadCountedStock(writes.map(({ body }) => body)),
  decide: decideAdjustment,
  save: store.saveMoved,
  find: read.findAdjustments,
  present: presentAdjustment,
};

const getMovement: MemberEndpoint = {
  contract: contract.getMovement,
  async run(reads, principal, id) {
    const { merchant } = principal;
    const locations = locationsOf(principal);
    const row = await reads.find((ids) => read.findMovements(merchant, ids, locations), id);
    return row === undefined ? undefined : presentMovement(row);
  },
};

const listMovements: CollectionEndpoint<typeof contract.listMovements> = {
  contract: contract.listMovements,
  async run(reader, { principal, location, query, page }) {
    const { merchant } = principal;
    const { order = 'desc', after_position: behind = '0' } = query;
    const isFollowed = order === 'asc' || behind !== '0' || query.journal !== undefined;
    const named = { parameter: 'after_position', position: behind, journal: query.journal };
    const journal = isFollowed ? await journalOf(reader, merchant, named) : undefined;
    const answer = await reader.query(
      read.listMovements({
        merchant,
        locations: location === undefined ? locationsOf(principal) : [location],
        products: query.product_id,
        reason: query.reason,
        operation: query.operation_id,
        ...(await boundsOf(reader, merchant, query)),
        order,
        after: page.after,
        limit: fetchSize(page),
      }),
    );
    const rows = read.movementsOf(answer);
    const { items, next } = takePage(rows, page, read.movementKey, presentMovement);
    if (journal === undefined || order === 'desc') return { items, next };
    const whole = read.lastWhole(rows, items.length) ?? Number(behind);
    return { items, next, meta: { through_position: String(whole), journal: journal.id } };
  },
};

/** The positions that are asked for, as far as times and a position say: both have one order. */
async function boundsOf(
  reader: Reader,
  merchant: MerchantId,
  query: QueryOf<typeof contract.listMovements>,
) {
  const { after_position = '0', recorded_after, recorded_before } = query;
  const lastBefore = async (time: string | undefined) => {
    if (time === undefined) return undefined;
    const [found] = await reader.query(lastPositionAt(merchant, time, 'before'));
    return found?.position;
  };
  const from = (await lastBefore(recorded_after)) ?? 0;
  return {
    behind: Math.max(Number(after_position), from),
    until: await lastBefore(recorded_before),
  };
}

const listLevels: CollectionEndpoint<typeof contract.listLevels> = {
  contract: contract.listLevels,
  check: momentFaults,
  async run(reader, { principal, location, query, page }) {
    if (location === undefined) throw new Problem('location_not_granted');
    const { merchant } = principal;
    const products = query.product_id;
    if (isAsOf(query)) {
      const walk = { merchant, location, products, limit: fetchSize(page) };
      return pageAsOf(
        reader,
        merchant,
        { query, page },
        (to) => listLevelsAsOf({ ...walk, ...to }),
        { key: (row) => row.product_id, present: presentLevel },
      );
    }
    await requireJournal(reader, merchant, query);
    if (query.low_stock !== undefined)
      return lowLevels(reader, merchant, { location, query, page });
    const answer = await reader.query(
      read.listLevels({
        merchant,
        location,
        products,
        updatedAfter: query.updated_after,
        after: page.after,
        limit: fetchSize(page),
      }),
    );
    const rows = read.countedRows(answer, (row) => row.product_id);
    return takePage(rows, page, (row) => row.product_id, presentLevel);
  },
};

/** Those that are low: a page may end where its statement has looked to. */
async function lowLevels(
  reader: Reader,
  merchant: MerchantId,
  {
    location,
    query,
    page,
  }: {
    readonly location: GrantedLocationId;
    readonly query: QueryOf<typeof contract.listLevels>;
    readonly page: PageRequest;
  },
): Promise<Page<DataOf<typeof contract.listLevels>>> {
  const { product_id: products, updated_after: updatedAfter } = query;
  const filter = { merchant, location, products, updatedAfter, after: page.after };
  const answer = await reader.query(listLowLevels({ ...filter, limit: fetchSize(page) }));
  return read.takeLooked<read.ListedLevel, DataOf<typeof contract.listLevels>>(
    answer,
    page,
    (row) => row.product_id,
    presentLevel,
  );
}

const listProductLevels: CollectionEndpoint<typeof contract.listProductLevels> = {
  contract: contract.listProductLevels,
  check: momentFaults,
  async run(reader, { principal, id, query, page }) {
    const { merchant } = principal;
    const [product] = await reader.query(productExists(merchant, id));
    if (product === undefined) throw new Problem('not_found');
    const locations = locationsOf(principal);
    const limit = fetchSize(page);
    if (isAsOf(query)) {
      const walk = { merchant, product: id, locations, limit };
      return pageAsOf(
        reader,
        merchant,
        { query, page },
        (to) => listProductLevelsAsOf({ ...walk, ...to }),
        { key: (row) => row.location_id, present: presentLevel },
      );
    }
    await requireJournal(reader, merchant, query);
    const answer = await reader.query(
      read.listProductLevels({ merchant, product: id, locations, after: page.after, limit }),
    );
    const rows = read.countedRows(answer, (row) => row.location_id);
    return takePage(rows, page, (row) => row.location_id, presentLevel);
  },
};

export const inventoryEndpoints: readonly Endpoint[] = [
  listLevels,
  listProductLevels,
  listMovements,
  getMovement,
  adjust,
];

/** Where a caller sees stock. */
export function locationsOf(principal: Principal): read.VisibleLocations {
  return principal.locations === 'all' ? null : principal.locations;
}

type ActorColumns = 'credential_id' | 'actor_name' | 'actor_kind' | 'application_id';

/** Who recorded a row. */
export const actorOf = (row: Pick<MovementRow, ActorColumns>) => ({
  credential_id: row.credential_id,
  name: row.actor_name,
  kind: row.actor_kind,
  application_id: row.application_id,
});

export function presentMovement(row: MovementRow): DataOf<typeof contract.getMovement> {
  return {
    id: row.id,
    sequence: row.sequence,
    product_id: row.product_id,
    location_id: row.location_id,
    type: row.type,
    reason: row.reason,
    quantity_before: canonicalQuantity(row.quantity_before),
    quantity_delta: canonicalQuantity(row.quantity_delta),
    quantity_after: canonicalQuantity(row.quantity_after),
    note: row.note,
    reference: row.reference,
    operation_id: row.operation_id,
    position: String(row.position),
    line: row.line,
    actor: actorOf(row),
    recorded_at: row.recorded_at,
  };
}

/** As of a moment nothing says who had counted it by then, or what was reserved. */
type ShownLevel = Omit<LevelRow, 'first_position'> & {
  /** Null: nothing. Absent: not known, because the level is one as of a moment. */
  readonly reserved?: string | null;
} & Partial<LastCount>;

function presentLevel(row: ShownLevel): DataOf<typeof contract.listLevels> {
  const quantity = canonicalQuantity(row.quantity);
  return {
    product_id: row.product_id,
    location_id: row.location_id,
    quantity,
    ...shareOf(quantity, row.reserved),
    version: row.sequence,
    // Of a level that never moved both are null, and it is shown nowhere.
    last_movement_id: row.last_movement_id ?? '',
    updated_at: row.updated_at ?? '',
    counted_at: row.counted_at ?? null,
    counted_by: row.counted_by ?? null,
  };
}

/** What of it is put aside, and what is not. */
export function shareOf(quantity: Quantity, reserved: string | null | undefined) {
  if (reserved === undefined) return { reserved_quantity: null, available_quantity: null };
  if (reserved === null) return { reserved_quantity: zero, available_quantity: quantity };
  const aside = canonicalQuantity(reserved);
  return { reserved_quantity: aside, available_quantity: subtract(quantity, aside) };
}

function presentAdjustment(row: AdjustmentRow): DataOf<typeof contract.adjustInventory> {
  const level: ShownLevel = {
    product_id: row.product_id,
    location_id: row.location_id,
    quantity: row.level_quantity,
    sequence: row.level_sequence,
    last_movement_id: row.level_last_movement_id,
    updated_at: row.level_updated_at,
    reserved: row.level_reserved,
    counted_at: row.level_counted_at,
    counted_by: row.level_counted_by,
  };
  return { ...presentMovement(row), level: presentLevel(level) };
}
