// The statements that read levels and movements. Every walk follows an index that ends in its sort
// key, so that a page costs its own length wherever it lies.

import { type ByColumn, byColumn, rowsOf } from '../contract/columns.ts';
import { type Page, type PageRequest, takePage } from '../contract/page.ts';
import { lookupId } from '../core/id.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import type { Statement } from '../core/statement.ts';
import type { AdjustmentRow } from './adjust.ts';
import type { LastCount, LevelRow, MovementRow } from './ledger.ts';
import { reservedNow } from './store.ts';

export const movementColumns = `m.id, m.sequence, m.product_id, m.location_id, m.type, m.reason,
  m.quantity_before::text as quantity_before, m.quantity_delta::text as quantity_delta,
  m.quantity_after::text as quantity_after, m.note, m.reference, m.operation_id, m.position,
  m.line, m.credential_id, m.actor_kind, m.application_id, m.recorded_at`;

export const movementNames = [
  ...['id', 'sequence', 'product_id', 'location_id', 'type', 'reason', 'quantity_before'],
  ...['quantity_delta', 'quantity_after', 'note', 'reference', 'operation_id', 'position', 'line'],
  ...['credential_id', 'actor_kind', 'application_id', 'recorded_at'],
];

/** What the credential of a row is called. Sought by its key, as one of few. */
export const actorName = (row: string) => `(select c.name from credentials c
  where c.merchant_id = $1 and c.id = ${row}.credential_id limit 1) as actor_name`;

/** The same of a page: each credential once, because a page names few. */
const actorNames = `(select json_object_agg(c.id, c.name) from credentials c
  where c.merchant_id = $1 and c.id = any (array_agg(m.credential_id))) as actor_name`;

type UnnamedRow = Omit<MovementRow, 'actor_name'>;

/** A page of movements, by columns, and the names of those who recorded them. */
interface MovementPage extends ByColumn<UnnamedRow> {
  /** By their IDs. */
  readonly actor_name: Readonly<Record<string, string>> | null;
}

/** Rows have a member by the name of each column: to fill it costs less than to add one. */
export function movementsOf(answer: readonly MovementPage[]): MovementRow[] {
  const names = answer[0]?.actor_name ?? {};
  const rows = rowsOf(answer as unknown as readonly ByColumn<MovementRow>[]);
  for (const row of rows) Object.assign(row, { actor_name: names[row.credential_id] ?? '' });
  return rows;
}

/** Quantities as texts: a number in JSON would lose decimals. */
const levelColumns = `v.product_id, v.location_id, v.quantity::text as quantity, v.sequence,
  v.last_movement_id, v.updated_at`;

export const levelNames = [
  ...['product_id', 'location_id', 'quantity', 'sequence', 'last_movement_id', 'updated_at'],
];

/** Of a read. */
export const now = 'now as (select statement_timestamp() as moment)';

export type ListedLevel = Omit<LevelRow, 'first_position'> & { readonly reserved: string | null };

/** Who counted the levels of a page last, and when, by the key of the page. */
export interface PageCounts {
  readonly counts: Readonly<Record<string, readonly [at: string, by: string]>> | null;
}

/** The cursor of what was looked at last, when the page ends there. */
export interface LookedTo {
  readonly looked_to: string | null;
}

export type LevelPage = ByColumn<ListedLevel> & PageCounts;

/**
 * The same as a column of a page `v`. Only what was counted is there, sought for the page at once:
 * a join that looked for each level, and two columns of nulls, took a third more of the database's
 * time.
 */
export const countsBy = (key: 'product_id' | 'location_id', folder: string) => `(
    select json_object_agg(c.${key}, json_build_array(c.counted_at, c.credential_id))
    from inventory_last_counts c
    where c.merchant_id = $1 and ${folder} and c.${key} = any (array_agg(v.${key}))) as counts`;

/** The rows of such a page, each with who counted it last. */
export function countedRows<Row extends object>(
  answer: readonly (ByColumn<Row> & PageCounts)[],
  keyOf: (row: Row) => string,
): (Row & LastCount)[] {
  const counts = answer[0]?.counts ?? {};
  return rowsOf<Row>(answer).map((row) => {
    const [at, by] = counts[keyOf(row)] ?? [];
    const counted_at = at === undefined ? null : new Date(at).toISOString();
    return Object.assign(row, { counted_at, counted_by: by ?? null });
  });
}

/** A page of products with who counted each last, which may end where its statement looked to. */
export function takeLooked<Row extends { readonly product_id: string }, Item>(
  answer: readonly (ByColumn<Row> & PageCounts & LookedTo)[],
  page: PageRequest,
  key: (row: Row) => string,
  present: (row: Row & LastCount) => Item,
): Page<Item> {
  const [first] = answer;
  if (first === undefined) throw new Error('a page has no row');
  const { looked_to, ...columns } = first;
  const counted = [columns as unknown as ByColumn<Row> & PageCounts];
  const rows = countedRows<Row>(counted, (row) => row.product_id);
  const { items, next } = takePage(rows, page, key, present);
  return { items, next: next ?? looked_to ?? undefined };
}

/** Movements by ID, each with its current level: what a replay shows. */
export function findAdjustments(
  merchant: MerchantId,
  ids: readonly string[],
): Statement<AdjustmentRow> {
  return {
    name: 'find_adjustments',
    text: `
      with ${now}
      select ${movementColumns}, ${actorName('m')}, a.quantity as level_quantity,
        a.sequence as level_sequence, a.last_movement_id as level_last_movement_id,
        a.updated_at as level_updated_at, ${reservedNow} as level_reserved,
        c.counted_at as level_counted_at, c.counted_by as level_counted_by
      from inventory_movements m
      join inventory_levels a on a.merchant_id = m.merchant_id
        and a.product_id = m.product_id and a.location_id = m.location_id
      left join lateral (
        select c.counted_at, c.credential_id as counted_by from inventory_last_counts c
        where c.merchant_id = m.merchant_id and c.location_id = m.location_id
          and c.product_id = m.product_id
        limit 1) c on true
      where m.merchant_id = $1 and m.id = any ($2)`,
    values: [merchant, ids.map(lookupId)],
  };
}

/** Movements by ID, as far as they are at one of the locations (null: at any). */
export function findMovements(
  merchant: MerchantId,
  ids: readonly string[],
  locations: VisibleLocations,
): Statement<MovementRow> {
  return {
    name: 'find_movements',
    text: `
      select ${movementColumns}, ${actorName('m')} from inventory_movements m
      where m.merchant_id = $1 and m.id = any ($2)
        and ($3::text[] is null or m.location_id = any ($3))`,
    values: [merchant, ids.map(lookupId), locations],
  };
}

/** Granted locations, or null for all of the merchant's. */
export type VisibleLocations = readonly GrantedLocationId[] | null;

export interface MovementFilter {
  readonly merchant: MerchantId;
  readonly locations: VisibleLocations;
  readonly products: readonly string[] | undefined;
  readonly reason: string | undefined;
  readonly operation: string | undefined;
  /** Only behind this position. */
  readonly behind: number;
  /** Only up to this position. */
  readonly until: number | undefined;
  readonly order: 'asc' | 'desc';
  readonly after: string | undefined;
  readonly limit: number;
}

/**
 * Where the rows of a list come from. Each is walked along an index that ends in position and line,
 * so that a page costs its own length wherever it lies; several walks are merged. The bounds of a
 * level, a location and an operation are rows: told that product and location are equal, the
 * database believes that a level has one or two movements, like most, and a page of one that had
 * 20,000 read and sorted them all.
 */
const movementSources = {
  operation: `(select position from operations where merchant_id = $1 and id = $8) o
    cross join lateral (select * from inventory_movements m where m.merchant_id = $1
      and (m.position, m.line) > (o.position, 0)
      and (m.position, m.line) < (o.position, 2147483647)
      order by m.position, m.line) m where %WHERE%`,
  products: `(select product_id, location_id from inventory_levels where merchant_id = $1
      and product_id = any ($3) and ($2::text[] is null or location_id = any ($2))) v
    cross join lateral (select * from inventory_movements m where m.merchant_id = $1
      and (m.product_id, m.location_id, m.position, m.line)
        > (v.product_id, v.location_id, $4::bigint, $5::int)
      and (m.product_id, m.location_id, m.position, m.line)
        < (v.product_id, v.location_id, $6::bigint, $7::int)
      and %FILTERS%
      order by m.product_id %ORDER%, m.location_id %ORDER%, m.position %ORDER%, m.line %ORDER%
      limit $9) m`,
  locations: `unnest($2::text[]) l (id)
    cross join lateral (select * from inventory_movements m where m.merchant_id = $1
      and (m.location_id, m.position, m.line) > (l.id, $4::bigint, $5::int)
      and (m.location_id, m.position, m.line) < (l.id, $6::bigint, $7::int)
      and ($3::text[] is null or m.product_id = any ($3)) and %FILTERS%
      order by m.location_id %ORDER%, m.position %ORDER%, m.line %ORDER% limit $9) m`,
  merchant: `inventory_movements m where m.merchant_id = $1 and %WHERE%`,
} as const;

const movementFilters = `($8::text is null or m.operation_id = $8)
  and ($10::text is null or m.reason = $10)`;

const movementConditions = `(m.position, m.line) > ($4::bigint, $5::int)
  and (m.position, m.line) < ($6::bigint, $7::int) and ${movementFilters}
  and ($2::text[] is null or m.location_id = any ($2))
  and ($3::text[] is null or m.product_id = any ($3))`;

/** Where a movement is in the journal. */
type Key = readonly [position: number | string, line: number];

const start: Key = [0, 0];
const end: Key = ['9223372036854775807', 0];
const lastLine = 2_147_483_647;

type Placed = Pick<MovementRow, 'position' | 'line'>;

/** The sort key of a movement, as cursors have it. */
export const movementKey = ({ position, line }: Placed): string => `${position}.${line}`;

export function listMovements(filter: MovementFilter): Statement<MovementPage> {
  const { order, after, behind, until } = filter;
  const source = movementSource(filter);
  const [position = '', line = ''] = (after ?? '').split('.');
  const reached: Key | undefined = after === undefined ? undefined : [position, Number(line)];
  const low: Key = (order === 'asc' && reached) || (behind === 0 ? start : [behind, lastLine]);
  const high: Key = (order === 'desc' && reached) || (until === undefined ? end : [until + 1, 0]);
  const isWalk = source === 'merchant' && filter.reason === undefined;
  if (isWalk) return walkMovements(filter, low, high);
  const from = movementSources[source]
    .replace('%WHERE%', movementConditions)
    .replace('%FILTERS%', movementFilters)
    .replaceAll('%ORDER%', order);
  // Only the value of a reason shows how far a walk has to go. Of a location one plan for any
  // values expects few movements: a page read and sorted all 200,000 (147 ms instead of 0.5).
  const isPlannedAnew = filter.reason !== undefined || source === 'locations';
  return {
    name: isPlannedAnew ? '' : `list_movements_${source}_${order}`,
    text: `
      select ${byColumn(movementNames)}, ${actorNames} from (
        select ${movementColumns} from ${from}
        order by m.position ${order}, m.line ${order} limit $9) m`,
    values: [
      filter.merchant,
      filter.locations,
      filter.products?.map(lookupId) ?? null,
      ...low,
      ...high,
      filter.operation === undefined ? null : lookupId(filter.operation),
      filter.limit,
      filter.reason ?? null,
    ],
  };
}

/** A text of its own without filters, with the limit in it, because these decide the plan. */
function walkMovements(
  { merchant, order, limit }: MovementFilter,
  low: Key,
  high: Key,
): Statement<MovementPage> {
  return {
    name: `walk_movements_${order}_${limit}`,
    text: `
      select ${byColumn(movementNames)}, ${actorNames} from (
        select ${movementColumns} from inventory_movements m
        where m.merchant_id = $1 and (m.position, m.line) > ($2::bigint, $3::int)
          and (m.position, m.line) < ($4::bigint, $5::int)
        order by m.position ${order}, m.line ${order} limit ${limit}) m`,
    values: [merchant, ...low, ...high],
  };
}

/**
 * The last position of which a page shows all movements, when `shown` rows of those that were read
 * are on it. Undefined when there is none.
 */
export function lastWhole(
  rows: readonly { readonly position: number }[],
  shown: number,
): number | undefined {
  const last = rows[shown - 1]?.position;
  if (last === undefined || rows[shown]?.position !== last) return last;
  return rows.slice(0, shown).findLast(({ position }) => position !== last)?.position;
}

function movementSource(filter: MovementFilter): keyof typeof movementSources {
  if (filter.operation !== undefined) return 'operation';
  if (filter.products !== undefined) return 'products';
  return filter.locations === null ? 'merchant' : 'locations';
}

export interface LevelFilter {
  readonly merchant: MerchantId;
  readonly location: GrantedLocationId;
  readonly products: readonly string[] | undefined;
  readonly updatedAfter: string | undefined;
  readonly after: string | undefined;
  readonly limit: number;
}

/**
 * The levels at one location by product. A level with sequence 0 never moved and is not shown. The
 * limit stands in the text, because it decides the plan. Filters have texts of their own:
 * with `$5 is null or …` in one for all, a hundred products were sought in every level there is.
 */
export function listLevels(filter: LevelFilter): Statement<LevelPage> {
  const { products, updatedAfter, limit } = filter;
  const walk = [filter.merchant, filter.location, filter.after ?? ''];
  if (products === undefined && updatedAfter === undefined) {
    return { name: `list_levels_${limit}`, text: levelsAt(String(limit), ''), values: walk };
  }
  const since = [...walk, updatedAfter ?? '-infinity', limit];
  // Planned anew with a time: one plan for any took twice as long where few levels have changed.
  return products === undefined
    ? { name: '', text: levelsAt('$5', changedSince), values: since }
    : {
        name: updatedAfter === undefined ? 'list_levels_of_products' : '',
        text: levelsAt('$5', `${changedSince} and v.product_id = any ($6)`),
        values: [...since, products.map(lookupId)],
      };
}

const changedSince = 'and v.updated_at >= $4::timestamptz';

/**
 * With what is reserved now, sought for the levels of the page only, 2 to 5 µs for each: a merchant
 * who never reserves anything is spared that.
 */
const shownLevels = (counts: string) => `
  with ${now}
  select ${byColumn([...levelNames, 'reserved'])}, ${counts} from (
    select *,
      case when exists (select from inventory_reserved o where o.merchant_id = $1)
        then ${reservedNow} end as reserved
    from (
      select ${levelColumns}, v.merchant_id from inventory_levels v`;

const levelsAt = (limit: string, conditions: string) => `
  ${shownLevels(countsBy('product_id', 'c.location_id = $2'))}
  where v.merchant_id = $1 and v.location_id = $2 and v.product_id > $3 and v.sequence > 0
    ${conditions}
  order by v.product_id limit ${limit}) a) v`;

/** The levels of one product by location. */
export function listProductLevels(filter: {
  merchant: MerchantId;
  product: string;
  locations: VisibleLocations;
  after: string | undefined;
  limit: number;
}): Statement<LevelPage> {
  return {
    name: 'list_product_levels',
    text: `${shownLevels(countsBy('location_id', 'c.product_id = $2'))}
      where v.merchant_id = $1 and v.product_id = $2 and v.location_id > $3 and v.sequence > 0
        and ($4::text[] is null or v.location_id = any ($4))
      order by v.location_id limit $5) a) v`,
    values: [
      filter.merchant,
      lookupId(filter.product),
      filter.after ?? '',
      filter.locations,
      filter.limit,
    ],
  };
}
