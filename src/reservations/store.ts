// The statements of reservations. Whoever ends one has locked the levels of its lines, which never
// change: its own row needs no lock of its own, and is read behind those of the levels.

import { type ByColumn, byColumn, untilFull } from '../contract/columns.ts';
import { add, canonicalQuantity, type Quantity, zero } from '../core/decimal.ts';
import { lookupId } from '../core/id.ts';
import type { MerchantId } from '../core/principal.ts';
import type { SetStatement, Statement } from '../core/statement.ts';
import { levelKey, type Pair } from '../inventory/ledger.ts';
import { actorName, type VisibleLocations } from '../inventory/read-store.ts';
import type { Status } from './contract.ts';
import type { HeldRow, ReservationRow } from './decide.ts';

const names = [
  ...['id', 'location_id', 'status', 'expires_at', 'note', 'reference', 'operation_id'],
  ...['credential_id', 'actor_kind', 'application_id', 'recorded_at', 'end_operation_id'],
  ...['ended_at', 'end_note', 'movement_ids'],
];
const stored = ['merchant_id', ...names].map((name) => `r.${name}`).join(', ');

/** As it counts: one whose time has come is expired, whether or not anything has said so. */
const isDue = "(r.status = 'active' and r.expires_at <= statement_timestamp())";
const status = `case when ${isDue} then 'expired' else r.status end as status`;
const columns = names.map((name) => (name === 'status' ? status : `r.${name}`)).join(', ');

const lines = `(
  select json_agg(json_build_object('product_id', l.product_id, 'quantity', l.quantity::text)
    order by l.line)
  from inventory_reservation_lines l
  where l.merchant_id = r.merchant_id and l.reservation_id = r.id) as lines`;

/** The moment, of those who hold the levels that they put something aside of. */
export function readMoment(): SetStatement<{ moment: string }> {
  return {
    name: 'read_moment',
    text: `
      select a.merchant_id, clock_timestamp() as moment
      from json_to_recordset($1) as a (merchant_id text)`,
    records: [{}],
  };
}

/** Reservations to end, as they are stored, once the levels of their lines are locked. */
export function findHeld(reservations: readonly { readonly id: string }[]): SetStatement<HeldRow> {
  return {
    name: 'find_reservations_to_end',
    text: `
      with now as materialized (select clock_timestamp() as moment)
      select r.merchant_id, r.id, r.location_id, r.status, r.expires_at, r.note, r.reference,
        ${lines}, r.operation_id, r.credential_id, r.actor_kind, r.application_id,
        r.recorded_at, r.end_operation_id, r.ended_at, r.end_note, r.movement_ids, now.moment,
        (select c.name from credentials c
          where c.merchant_id = r.merchant_id and c.id = r.credential_id limit 1) as actor_name
      from json_to_recordset($1) as a (merchant_id text, id text)
      cross join lateral (
        select * from inventory_reservations r
        where r.merchant_id = a.merchant_id and r.id = a.id limit 1) r
      cross join now`,
    records: reservations,
  };
}

export function saveReservations(reservations: readonly ReservationRow[]): SetStatement[] {
  return [
    {
      name: 'save_held',
      text: `
        insert into inventory_reservations (merchant_id, id, location_id, status, expires_at, note,
          reference, operation_id, credential_id, actor_kind, application_id, recorded_at)
        select s.merchant_id, s.id, s.location_id, s.status, s.expires_at, s.note, s.reference,
          s.operation_id, s.credential_id, s.actor_kind, s.application_id, j.moment
        from json_populate_recordset(null::inventory_reservations, $1) s
        join journal j on j.merchant_id = s.merchant_id`,
      records: reservations.map(({ lines: _, ...row }) => row),
    },
    {
      name: 'save_lines',
      text: `
        insert into inventory_reservation_lines (merchant_id, reservation_id, line, product_id,
          location_id, quantity, expires_at, is_active)
        select s.merchant_id, s.reservation_id, s.line, s.product_id, s.location_id, s.quantity,
          s.expires_at, true
        from json_populate_recordset(null::inventory_reservation_lines, $1) s`,
      records: reservations.flatMap(linesOf),
    },
    {
      name: 'save_sum',
      text: `
        insert into inventory_reserved (merchant_id, product_id, location_id, quantity)
        select s.merchant_id, s.product_id, s.location_id, s.quantity
        from json_populate_recordset(null::inventory_reserved, $1) s
        on conflict (merchant_id, product_id, location_id)
          do update set quantity = inventory_reserved.quantity + excluded.quantity`,
      records: sumsOf(reservations),
    },
  ];
}

export function endReservations(reservations: readonly ReservationRow[]): SetStatement[] {
  return [
    {
      name: 'end_held',
      text: `
        update inventory_reservations r
        set status = s.status, end_operation_id = s.end_operation_id, ended_at = j.moment,
          end_note = s.end_note, movement_ids = s.movement_ids
        from json_populate_recordset(null::inventory_reservations, $1) s
        join journal j on j.merchant_id = s.merchant_id
        where r.merchant_id = s.merchant_id and r.id = s.id`,
      records: reservations.map(({ id, status, end_operation_id, end_note, movement_ids }) => ({
        ...{ id, status, end_operation_id, end_note, movement_ids },
      })),
    },
    {
      name: 'end_lines',
      text: `
        update inventory_reservation_lines l set is_active = false
        from json_to_recordset($1) as s (merchant_id text, reservation_id text, line int)
        where l.merchant_id = s.merchant_id and l.reservation_id = s.reservation_id
          and l.line = s.line`,
      records: reservations.flatMap(linesOf),
    },
    {
      name: 'end_sum',
      text: `
        update inventory_reserved r set quantity = r.quantity - s.quantity
        from json_populate_recordset(null::inventory_reserved, $1) s
        where r.merchant_id = s.merchant_id and r.product_id = s.product_id
          and r.location_id = s.location_id`,
      records: sumsOf(reservations),
    },
  ];
}

function linesOf(row: ReservationRow) {
  const { id: reservation_id, location_id, expires_at } = row;
  return row.lines.map(({ product_id, quantity }, index) => ({
    ...{ reservation_id, line: index + 1, product_id, location_id, quantity, expires_at },
  }));
}

/** What they hold of each level. */
function sumsOf(reservations: readonly ReservationRow[]) {
  const sums = new Map<string, Pair & { quantity: Quantity }>();
  for (const { product_id, location_id, quantity } of reservations.flatMap(linesOf)) {
    const key = levelKey({ product_id, location_id });
    const sum = add(sums.get(key)?.quantity ?? zero, canonicalQuantity(quantity));
    sums.set(key, { product_id, location_id, quantity: sum });
  }
  return [...sums.values()];
}

/** Reservations by ID, as far as they are at one of the locations (null: at any). */
export function findReservations(
  merchant: MerchantId,
  ids: readonly string[],
  locations: VisibleLocations,
): Statement<ReservationRow> {
  return {
    name: 'find_reservations',
    text: `
      select ${columns}, ${lines}, ${actorName('r')} from inventory_reservations r
      where r.merchant_id = $1 and r.id = any ($2)
        and ($3::text[] is null or r.location_id = any ($3))`,
    values: [merchant, ids.map(lookupId), locations],
  };
}

export interface ReservationFilter {
  readonly merchant: MerchantId;
  readonly locations: VisibleLocations;
  readonly status: Status | undefined;
  readonly reference: string | undefined;
  readonly after: string | undefined;
  readonly limit: number;
}

const isListed = `r.merchant_id = $1 and r.id < $2
  and ($3::text[] is null or r.location_id = any ($3))`;

/** What is stored as active may have expired since: few, because that is told soon. */
const statusConditions: Readonly<Record<Status, string>> = {
  active: `r.status = 'active' and not coalesce(${isDue}, false)`,
  fulfilled: "r.status = 'fulfilled'",
  released: "r.status = 'released'",
  expired: `(r.status = 'expired' or ${isDue})`,
};

/** Where the rows of a list come from: walks along indexes that end in the ID. */
function sourceOf(filter: ReservationFilter) {
  const { locations, status: asked, reference, limit } = filter;
  const all = (condition: string) => `
    select ${stored} from inventory_reservations r where ${isListed} and ${condition}`;
  const walk = (condition: string) => `${all(condition)} order by r.id desc limit ${limit}`;
  const wanted = asked === undefined ? 'true' : statusConditions[asked];
  const name = asked ?? 'any';
  if (reference !== undefined) {
    return { name: `reference_${name}`, text: walk(`r.reference = $4 and ${wanted}`) };
  }
  if (locations === null && asked === undefined) {
    return { name: 'all', text: walk('$4::text is null') };
  }
  const some = locations !== null;
  const places = some ? 'unnest($3::text[])' : '(select id from locations where merchant_id = $1)';
  const under = asked === undefined ? Object.keys(statusConditions) : [asked];
  const here = 'r.location_id = p.id and r.status = s.status and $4::text is null';
  const walks = `
    select ${stored} from ${places} p (id)
    cross join unnest(array['${under.join("', '")}']) s (status)
    cross join lateral (${walk(`${here} and ${wanted}`)}) r`;
  const text = asked === 'expired' ? `${walks} union all ${all(isDue)}` : walks;
  return { name: `${name}_${some ? 'here' : 'everywhere'}`, text };
}

/** Newest first. A page ends where its lines, movements and remarks make it full. */
export function listReservations(filter: ReservationFilter): Statement<ByColumn<ReservationRow>> {
  const { merchant, locations, reference, after, limit } = filter;
  const source = sourceOf(filter);
  return {
    name: `list_reservations_${source.name}_${limit}`,
    text: `
      select ${byColumn([...names, 'lines', 'actor_name', 'followed'])} from (
        select *, ${actorName('r')} from ${untilFull(
          `select *,
              octet_length(concat(lines, movement_ids, note, reference, end_note)) as bytes
            from (
            select ${columns}, ${lines} from (${source.text}) r where r.merchant_id = $1
            order by r.id desc limit ${limit}) r`,
          'id desc',
        )} r
        order by r.id desc) r`,
    values: [merchant, after ?? '~', locations, reference ?? null],
  };
}

/** Those of all merchants that have expired and were not told yet, the oldest first. */
export function findDue(limit: number): Statement<{ merchant_id: string; id: string }> {
  return {
    name: 'find_due_reservations',
    text: `
      select r.merchant_id, r.id from inventory_reservations r
      where r.status = 'active' and r.expires_at <= statement_timestamp()
      order by r.expires_at limit $1`,
    values: [limit],
  };
}
