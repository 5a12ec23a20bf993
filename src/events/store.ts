// The statements of the feed. One walks a part of the journal, judges it, and reads the end of the
// journal from the same snapshot: so "judged up to here" is true. What a page looks at is bounded
// by positions, and what it reads of movements by bytes.

import { byColumn } from '../contract/columns.ts';
import type { OperationType } from '../contract/resource.ts';
import { lookupId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import type { Statement } from '../core/statement.ts';
import { movementColumns, movementNames } from '../inventory/read-store.ts';
import { journalOfMerchant, lastInJournal } from '../journal/store.ts';

/** What a caller may see, and asks for. */
export interface Reach {
  /** Types of operations on records that are at no location. */
  readonly elsewhere: readonly OperationType[];
  /** On locations. */
  readonly ofLocations: readonly OperationType[];
  /** With movements. */
  readonly ofMovements: readonly OperationType[];
  /** But of these types, which create or change, not the operations that did this. */
  readonly except: {
    readonly created: readonly OperationType[];
    readonly changed: readonly OperationType[];
  };
  /** Only at these locations; null: at any. */
  readonly locations: readonly string[] | null;
  /** Only of these products; null: of any. */
  readonly products: readonly string[] | null;
  /** Only what runs out. */
  readonly lowStock: boolean;
  /** Movements elsewhere are cut out. */
  readonly granted: readonly GrantedLocationId[] | null;
}

/** What a page is made from. Its parts are columns, as `rowsOf` takes them. */
interface FeedRow {
  /** Of the merchant. */
  readonly id: string;
  readonly journal: string;
  readonly last: number;
  readonly events: object;
  readonly movements: object;
}

const eventNames = [
  ...['operation_id', 'position', 'type', 'occurred_at', 'resource_id', 'created'],
  ...['credential_id', 'name', 'kind', 'application_id', 'counted', 'location_id', 'notices'],
];

/** A page may be read to here, so that the event that makes it full is there as a whole. */
const bytesRead = limits.pageBytesMax + limits.eventMovementsMax * 4 * 1024;

const movementBytes = `${limits.movementBytes} + coalesce(octet_length(m.note), 0)
  + coalesce(octet_length(m.reference), 0)`;

/**
 * The movements of an operation, in their order, and of them those that a condition lets through.
 * The order and the limit, and the ID, which only the table has, leave the planner one index.
 * Without them it read whole tables for one operation; with bounds of rows instead, where merchants
 * are expected to be small, it sought each operation through all movements of the merchant in an
 * index that has all columns: 40 s for a page.
 */
const movementsOf = (operation: string, condition: string, limit: number) => `(
  select * from inventory_movements m
  where m.merchant_id = $1 and m.position = ${operation}.position
    and m.operation_id = ${operation}.id and ${condition}
  order by m.line limit ${limit}) m`;

/** What the event of an operation says beside. */
const noticesOf = (operation: string) => `json_each(${operation}.notices) kind
  cross join json_to_recordset(kind.value) as n (location_id text, product_id text)`;

/** More than an operation has. */
const all = 100_000;

const isGranted = '($8::text[] is null or m.location_id = any ($8))';
const isWantedOf = (one: string) => `($6::text[] is null or ${one}.location_id = any ($6))
  and ($7::text[] is null or ${one}.product_id = any ($7))`;
const isWanted = isWantedOf('m');

/**
 * So many positions behind that in `$2`. As bounds of the column: with bounds of rows beside an
 * equal merchant, the index was read from the merchant's first position on.
 */
const operationsBehind = (most: number) => `operations o
  where o.merchant_id = $1 and o.position > $2::bigint and o.position <= $2::bigint + ${most}`;

/** In these words the planner takes nearly all to be wanted, and follows the index of positions. */
const isOutcomeWanted = `nullif(
    o.type = any (case when o.created then $9::text[] else $10::text[] end), true) is not null`;

/** In these words the planner takes half to be wanted, and follows the index of positions. */
const isNoticeWanted = (kind: string) => `case when o.notices is not null then exists (
  select from ${noticesOf('o')} where ${isWantedOf('n')} and ${kind}) end`;

/** All of it, or what runs out. */
const isInventoryInReach = {
  all: `(($6::text[] is null and $7::text[] is null) or coalesce(
    (select true from ${movementsOf('o', isWanted, 1)}), false)
    or ${isNoticeWanted('true')}
    or (o.movements = 0 and $7::text[] is null and o.location_id = any ($6)))`,
  low_stock: isNoticeWanted("kind.key = 'low_stock'"),
} as const;

const isInReach = (inventory: keyof typeof isInventoryInReach) => `${isOutcomeWanted} and (
  (o.type = any ($3) and ($7::text[] is null or o.resource_id = any ($7)))
  or (o.type = any ($4) and ($6::text[] is null or o.resource_id = any ($6)))
  or (o.type = any ($5) and ${isInventoryInReach[inventory]}))`;

const feed = (limit: number, inventory: keyof typeof isInventoryInReach) => `
  with journal as materialized (${journalOfMerchant}),
  judged as materialized (
    select o.id, o.position, o.type, o.created_at, o.resource_id, o.created, o.credential_id,
      o.movements, o.location_id, o.notices
    from ${operationsBehind(limits.eventsJudgedMax)} and ${isInReach(inventory)}
    order by o.position limit ${limit}),
  shown as (
    select j.id as operation_id, j.position, j.type, j.created_at as occurred_at, j.resource_id,
      j.created, j.credential_id, c.name, c.kind, c.application_id,
      case when j.movements > ${limits.eventMovementsMax} then (
        select json_build_object('count', count(*), 'locations', json_agg(distinct m.location_id))
        from ${movementsOf('j', isGranted, all)})
      end as counted, j.location_id, j.notices
    from judged j
    left join lateral (
      select c.name, c.kind, c.application_id from credentials c
      where c.merchant_id = $1 and c.id = j.credential_id limit 1) c on true
    order by j.position),
  moved as (
    select m.*, sum(bytes) over (order by m.position, m.line) as running from (
      select ${movementColumns}, ${movementBytes} as bytes
      from judged j
      cross join lateral ${movementsOf('j', isGranted, limits.eventMovementsMax)}
      where j.movements > 0) m)
  select $1 as id, journal.id as journal, journal.last,
    (select to_json(e) from (select ${byColumn(eventNames)} from shown) e) as events,
    (select to_json(m) from (select ${byColumn([...movementNames, 'bytes'])} from (
      select * from moved where running - bytes < ${bytesRead} order by position, line) m) m)
      as movements
  from journal`;

/** What is in reach behind a position, in so many rows at most. */
export function readFeed(
  merchant: MerchantId,
  after: number | string,
  reach: Reach,
  limit: number,
): Statement<FeedRow> {
  const inventory = reach.lowStock ? 'low_stock' : 'all';
  return {
    name: `feed_${reach.lowStock ? 'low_stock_' : ''}${limit}`,
    text: feed(limit, inventory),
    values: [
      merchant,
      after,
      reach.elsewhere,
      reach.ofLocations,
      reach.ofMovements,
      reach.locations,
      reach.products?.map(lookupId) ?? null,
      reach.granted,
      reach.except.created,
      reach.except.changed,
    ],
  };
}

export interface HappeningRow {
  readonly position: number;
  readonly type: OperationType;
  readonly created: boolean;
  readonly resource_id: string;
  /** Null when it was nowhere. */
  readonly location_id: string | null;
  readonly product_id: string | null;
  /** Null where nothing moved. */
  readonly is_low: boolean | null;
}

/**
 * What happened behind a position: a row for each movement and each notice, and one for what has
 * none of them.
 */
export function readHappenings(merchant: string, after: number): Statement<HappeningRow> {
  return {
    name: 'happenings',
    text: `
      select o.position, o.type, o.created, o.resource_id, m.product_id, m.is_low,
        coalesce(m.location_id, o.location_id) as location_id
      from (
        select o.id, o.position, o.type, o.created, o.resource_id, o.location_id, o.movements,
          o.notices
        from ${operationsBehind(limits.eventsPerLookMax)}
        order by o.position) o
      left join lateral (
        select m.location_id, m.product_id, false as is_low
        from ${movementsOf('o', 'o.movements > 0', all)}
        union all
        select n.location_id, n.product_id, kind.key = 'low_stock' from ${noticesOf('o')}) m
        on true
      order by o.position`,
    values: [merchant, after],
  };
}

/** The last positions of merchants that have any. */
export function readLastPositions(
  merchants: readonly string[],
): Statement<{ merchant_id: string; last: number }> {
  return {
    name: 'last_positions',
    text: `
      select a.merchant_id, o.position as last
      from json_to_recordset($1) as a (merchant_id text)
      cross join lateral ${lastInJournal('a')} o
      where o.merchant_id = a.merchant_id`,
    values: [JSON.stringify(merchants.map((merchant_id) => ({ merchant_id })))],
  };
}
