// The statements that write the ledger, on records of several merchants at once. Lock order:
// locations, by (merchant, location); then level creation, then levels, both by (merchant, product,
// location). Products are read without a lock, after the levels are locked.

import type { Load } from '../contract/endpoint.ts';
import { canonicalQuantity } from '../core/decimal.ts';
import { lookupId } from '../core/id.ts';
import type { SetStatement } from '../core/statement.ts';
import type { CountedStock } from './adjust.ts';
import {
  type LastCount,
  type LevelRow,
  levelKey,
  type Movement,
  type Pair,
  type ProductRow,
  type Stock,
} from './ledger.ts';

/** Locks and reads what deciding on these levels needs. */
export function loadStock(pairs: readonly Pair[]): Load<Stock> {
  return loadLevels(pairsOf(pairs));
}

function loadLevels(pairs: readonly Pair[]): Load<Stock> {
  return {
    statements: [
      shareLocations(pairs),
      createLevels(pairs),
      lockLevels(pairs),
      findProducts(pairs),
      findReserved(pairs),
    ],
    state: ([locations = [], , levels = [], products = [], reserved = []]) =>
      stockOf({ locations, levels, products, reserved }),
  };
}

/**
 * The same for the levels of reservations, whose lines never change. What is reserved is not read:
 * they have their part of it.
 */
export function loadStockOf(reservations: readonly { readonly id: string }[]): Load<Stock> {
  return {
    statements: [
      shareLocationsOf(reservations),
      lockLevelsOf(reservations),
      findProductsOf(reservations),
    ],
    state: ([locations = [], levels = [], products = []]) =>
      stockOf({ locations, levels, products, reserved: [] }),
  };
}

function stockOf(
  read: Readonly<Record<'locations' | 'levels' | 'products' | 'reserved', readonly unknown[]>>,
): Stock {
  const active = (read.locations as { id: string; status: string }[]).filter(
    ({ status }) => status === 'active',
  );
  const reserved = read.reserved as (Pair & { quantity: string })[];
  return {
    levels: new Map((read.levels as LevelRow[]).map((level) => [levelKey(level), level])),
    reserved: new Map(reserved.map((one) => [levelKey(one), canonicalQuantity(one.quantity)])),
    products: new Map((read.products as ProductRow[]).map((product) => [product.id, product])),
    activeLocations: new Set(active.map(({ id }) => id)),
  };
}

/** The same, and who counted these levels last. */
export function loadCountedStock(pairs: readonly Pair[]): Load<CountedStock> {
  const asked = pairsOf(pairs);
  const stock = loadLevels(asked);
  return {
    statements: [...stock.statements, findLastCounts(asked)],
    state(rows) {
      const counted = (rows[stock.statements.length] ?? []) as (Pair & LastCount)[];
      return {
        ...stock.state(rows),
        lastCounts: new Map(counted.map((one) => [levelKey(one), one])),
      };
    },
  };
}

/** Saves movements, and the levels as they leave them. */
export function saveMoved(changes: readonly Movement[]) {
  return [saveLevels(changes), saveMovements(changes)];
}

/** The levels that writes name, each once. Statements that share them are sent one text. */
function pairsOf(pairs: readonly Pair[]): Pair[] {
  return [...new Map(pairs.map((pair) => [levelKey(pair), pair])).values()].map((pair) => ({
    product_id: lookupId(pair.product_id),
    location_id: lookupId(pair.location_id),
  }));
}

/** Each ID once: batches often name one location. */
function idsOf(pairs: readonly Pair[], field: keyof Pair) {
  return [...new Set(pairs.map((pair) => pair[field]))].map((id) => ({ id }));
}

const asked = 'json_to_recordset($1) as a (merchant_id text, product_id text, location_id text)';
const askedIds =
  '(select a.merchant_id, a.id from json_to_recordset($1) as a (merchant_id text, id text))';
/** The lines of the reservations that are asked for. */
const askedLines = `json_to_recordset($1) as s (merchant_id text, id text)
  cross join lateral (
    select l.merchant_id, l.product_id, l.location_id from inventory_reservation_lines l
    where l.merchant_id = s.merchant_id and l.reservation_id = s.id) a`;

/**
 * Locations, kept as they are until the commit: a change of a location waits for the key share
 * lock, and adjustments share it. One lock per location and batch, sought one by one: joined, all
 * locations of all merchants were read while the table was small. They come first, inactive ones
 * too: a level that is made locks its location as well, in the order of levels, and a batch that
 * changes several locations waits in theirs.
 */
function shareLocations(pairs: readonly Pair[]): SetStatement<{ id: string; status: string }> {
  return {
    name: 'share_locations',
    text: `
      select l.merchant_id, l.id, l.status
      from (
        select a.merchant_id, a.id from json_to_recordset($1) as a (merchant_id text, id text)
        order by a.merchant_id, a.id) a
      ${locationOf}`,
    records: idsOf(pairs, 'location_id'),
  };
}

function shareLocationsOf(reservations: readonly object[]): SetStatement {
  return {
    name: 'share_locations_of_reservations',
    text: `
      select l.merchant_id, l.id, l.status
      from (
        select distinct a.merchant_id, a.location_id as id from ${askedLines}
        order by a.merchant_id, id) a
      ${locationOf}`,
    records: reservations,
  };
}

const locationOf = `cross join lateral (
  select l.merchant_id, l.id, l.status from locations l
  where l.merchant_id = a.merchant_id and l.id = a.id
  limit 1 for key share) l`;

/**
 * Makes rows to lock for pairs that have none, where product and location exist. The foreign key
 * takes a key share lock on the product, which a change of its status or unit waits for. What is
 * there already is left out first: nearly all of them, and the joins would cost 13 µs for each.
 */
function createLevels(pairs: readonly Pair[]): SetStatement {
  return {
    name: 'create_levels',
    text: `
      insert into inventory_levels (merchant_id, product_id, location_id)
      select p.merchant_id, p.id, l.id
      from (
        select distinct a ->> 'merchant_id' as merchant_id, a ->> 'product_id' as product_id,
          a ->> 'location_id' as location_id
        from json_array_elements($1) a
        where not exists (
          select from inventory_levels v where v.merchant_id = a ->> 'merchant_id'
            and v.product_id = a ->> 'product_id' and v.location_id = a ->> 'location_id')) a
      join products p on p.merchant_id = a.merchant_id and p.id = a.product_id
      join locations l on l.merchant_id = a.merchant_id and l.id = a.location_id
      order by p.merchant_id, p.id, l.id
      on conflict do nothing`,
    records: pairs,
  };
}

/** Locks the levels, in order, and reads them as they are once locked. */
function lockLevels(pairs: readonly Pair[]): SetStatement<LevelRow> {
  return {
    name: 'lock_levels',
    text: `
      ${lockedLevels} where (v.merchant_id, v.product_id, v.location_id) in (
        select a.merchant_id, a.product_id, a.location_id from ${asked})
      ${inOrder}`,
    records: pairs,
  };
}

export function lockLevelsOf(
  reservations: readonly { readonly id: string }[],
): SetStatement<LevelRow> {
  return {
    name: 'lock_levels_of_reservations',
    text: `
      ${lockedLevels} where (v.merchant_id, v.product_id, v.location_id) in (
        select a.merchant_id, a.product_id, a.location_id from ${askedLines})
      ${inOrder}`,
    records: reservations,
  };
}

const lockedLevels = `
  select v.merchant_id, v.product_id, v.location_id, v.quantity, v.sequence, v.last_movement_id,
    v.first_position, v.updated_at
  from inventory_levels v`;
const inOrder = 'order by v.merchant_id, v.product_id, v.location_id for no key update of v';

function findProducts(pairs: readonly Pair[]): SetStatement<ProductRow> {
  return {
    name: 'find_products_to_move',
    text: `${movedProducts} where (p.merchant_id, p.id) in ${askedIds}`,
    records: idsOf(pairs, 'product_id'),
  };
}

function findProductsOf(reservations: readonly object[]): SetStatement<ProductRow> {
  return {
    name: 'find_products_of_reservations',
    text: `
      ${movedProducts} where (p.merchant_id, p.id) in (
        select a.merchant_id, a.product_id from ${askedLines})`,
    records: reservations,
  };
}

const movedProducts = `
  select p.merchant_id, p.id, p.status, p.inventory_tracked, p.unit_precision, p.low_stock_at
  from products p`;

/**
 * What is reserved of levels, once they are locked: whoever reserves, or ends a reservation, has
 * the same lock. Read behind it, and by the clock of the database at this moment, so that what has
 * expired counts no more, whatever the clock of a node says and whether or not it was swept.
 */
function findReserved(pairs: readonly Pair[]): SetStatement<Pair & { quantity: string }> {
  return {
    name: 'find_reserved',
    text: `
      with now as materialized (select clock_timestamp() as moment)
      select a.merchant_id, a.product_id, a.location_id, reserved.quantity
      from ${asked}
      cross join lateral ${reservedNow} reserved (quantity)`,
    records: pairs,
  };
}

/** What is reserved of a level `a` at the moment of `now`, as a text; no row: nothing is. */
export const reservedNow = `(
  select (r.quantity - coalesce((
      select sum(l.quantity) from inventory_reservation_lines l
      where l.merchant_id = r.merchant_id and l.product_id = r.product_id
        and l.location_id = r.location_id and l.is_active
        and l.expires_at <= (select moment from now)), 0))::text
  from inventory_reserved r
  where r.merchant_id = a.merchant_id and r.product_id = a.product_id
    and r.location_id = a.location_id and r.quantity > 0
  limit 1)`;

/** Read once the levels are locked: whoever counts locks them. */
function findLastCounts(pairs: readonly Pair[]): SetStatement<Pair & LastCount> {
  return {
    name: 'find_last_counts',
    text: `
      select c.merchant_id, c.product_id, c.location_id, c.counted_at,
        c.credential_id as counted_by
      from ${asked}
      cross join lateral (
        select c.merchant_id, c.product_id, c.location_id, c.counted_at, c.credential_id
        from inventory_last_counts c
        where c.merchant_id = a.merchant_id and c.location_id = a.location_id
          and c.product_id = a.product_id
        limit 1) c`,
    records: pairs,
  };
}

/**
 * Levels go first: the database refuses a movement beyond its level. Several movements of one level
 * leave one row: the last.
 */
function saveLevels(changes: readonly Movement[]): SetStatement {
  return {
    name: 'save_levels',
    text: `
      update inventory_levels v
      set quantity = s.quantity, sequence = s.sequence, last_movement_id = s.last_movement_id,
        first_position = coalesce(v.first_position, j.last + s.first_position),
        updated_at = j.moment
      from json_populate_recordset(null::inventory_levels, $1) s
      join journal j on j.merchant_id = s.merchant_id
      where v.merchant_id = s.merchant_id and v.product_id = s.product_id
        and v.location_id = s.location_id`,
    records: [...new Map(changes.map(({ level }) => [levelKey(level), level])).values()],
  };
}

function saveMovements(changes: readonly Movement[]): SetStatement {
  return {
    name: 'save_movements',
    text: `
      insert into inventory_movements (merchant_id, id, product_id, location_id, sequence, type,
        reason, quantity_before, quantity_delta, quantity_after, note, reference, operation_id,
        position, line, credential_id, actor_kind, application_id, recorded_at)
      select s.merchant_id, s.id, s.product_id, s.location_id, s.sequence, s.type, s.reason,
        s.quantity_before, s.quantity_delta, s.quantity_after, s.note, s.reference,
        s.operation_id, j.last + s.position, s.line, s.credential_id, s.actor_kind,
        s.application_id, j.moment
      from json_populate_recordset(null::inventory_movements, $1) s
      join journal j on j.merchant_id = s.merchant_id`,
    records: changes.map(({ movement }) => movement),
  };
}
