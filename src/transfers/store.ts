// The statements of transfers.

import { type ByColumn, byColumn, untilFull } from '../contract/columns.ts';
import { lookupId } from '../core/id.ts';
import type { MerchantId } from '../core/principal.ts';
import type { SetStatement, Statement } from '../core/statement.ts';
import { actorName, type VisibleLocations } from '../inventory/read-store.ts';
import type { TransferRow } from './decide.ts';

const names = [
  ...['id', 'from_location_id', 'to_location_id', 'reason', 'note', 'reference', 'lines'],
  ...['is_short', 'operation_id', 'position', 'credential_id', 'actor_kind', 'application_id'],
  'recorded_at',
];
const columns = names.map((name) => `t.${name}`).join(', ');

/** Whatever is at one of the locations (null: at any), on either side. */
const isAt = (locations: string) => `(${locations}::text[] is null
  or t.from_location_id = any (${locations}) or t.to_location_id = any (${locations}))`;

export function saveTransfers(transfers: readonly TransferRow[]): SetStatement {
  return {
    name: 'save_transfers',
    text: `
      insert into inventory_transfers (merchant_id, id, from_location_id, to_location_id, reason,
        note, reference, lines, is_short, operation_id, position, credential_id, actor_kind,
        application_id, recorded_at)
      select s.merchant_id, s.id, s.from_location_id, s.to_location_id, s.reason, s.note,
        s.reference, s.lines, s.is_short, s.operation_id, j.last + s.position, s.credential_id,
        s.actor_kind, s.application_id, j.moment
      from json_populate_recordset(null::inventory_transfers, $1) s
      join journal j on j.merchant_id = s.merchant_id`,
    records: transfers,
  };
}

/** Transfers by ID, as far as one of their sides is at one of the locations. */
export function findTransfers(
  merchant: MerchantId,
  ids: readonly string[],
  locations: VisibleLocations,
): Statement<TransferRow> {
  return {
    name: 'find_transfers',
    text: `
      select ${columns}, ${actorName('t')} from inventory_transfers t
      where t.merchant_id = $1 and t.id = any ($2) and ${isAt('$3')}`,
    values: [merchant, ids.map(lookupId), locations],
  };
}

export interface TransferFilter {
  readonly merchant: MerchantId;
  readonly locations: VisibleLocations;
  readonly isShort: boolean;
  readonly after: string | undefined;
  readonly limit: number;
}

/** Where the rows of a list come from. */
function sourceOf({ locations, isShort, limit }: TransferFilter) {
  const all = (condition: string) => `
    select ${columns} from inventory_transfers t
    where t.merchant_id = $1 and t.id < $2 and ${condition}`;
  if (isShort) return { name: 'short', text: all(`t.is_short and ${isAt('$3')}`) };
  if (locations === null) return { name: 'all', text: all('$3::text[] is null') };
  const side = (name: string) => `
    select ${columns} from unnest($3::text[]) l (id)
    cross join lateral (${all(`t.${name} = l.id`)} order by t.id desc limit ${limit}) t`;
  return { name: 'at', text: `${side('from_location_id')} union all ${side('to_location_id')}` };
}

/**
 * Newest first. Where locations are named, each side of each is walked along an index that ends in
 * the ID, so that a page costs its own length. What was short is rare, and has an index of its own.
 */
export function listTransfers(filter: TransferFilter): Statement<ByColumn<TransferRow>> {
  const { merchant, locations, after, limit } = filter;
  const source = sourceOf(filter);
  return {
    name: `list_transfers_${source.name}_${limit}`,
    text: `
      select ${byColumn([...names, 'actor_name', 'followed'])} from (
        select *, ${actorName('t')} from ${untilFull(
          `select *, octet_length(lines::text) as bytes from (
            select distinct on (t.id) * from (${source.text}) t
            order by t.id desc limit ${limit}) t`,
          'id desc',
        )} t
        order by t.id desc) t`,
    values: [merchant, after ?? '~', locations],
  };
}
