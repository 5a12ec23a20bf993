// The statements of locations. Writes work on records of several merchants at once.

import type { Command } from '../core/endpoint.ts';
import { lookupId } from '../core/id.ts';
import { bytesOf, type Cut, cutAt } from '../core/page.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import { type Holder, pathIds, wantedValues } from '../core/revision.ts';
import type { SetStatement, Statement } from '../core/statement.ts';
import type { LocationPatch, LocationRow } from './edit.ts';

const columns = `l.id, l.name, l.code, l.type, l.status, l.timezone, l.external_id, l.metadata,
  l.version, l.created_at, l.updated_at`;

/** Who holds the codes and external IDs that the commands want. */
export function findHolders(commands: readonly Command<LocationPatch>[]): SetStatement<Holder> {
  return {
    name: 'find_location_holders',
    text: `
      with asked as (
        select * from json_to_recordset($1) as a (merchant_id text, code text, external_id text))
      select l.merchant_id, 'code' as field, l.code as value, l.id
      from asked a join locations l on l.merchant_id = a.merchant_id and l.code = a.code
      union all
      select l.merchant_id, 'external_id', l.external_id, l.id
      from asked a
      join locations l on l.merchant_id = a.merchant_id and l.external_id = a.external_id`,
    records: wantedValues(commands, ['code', 'external_id']),
  };
}

/**
 * Locks the locations, in the order of IDs, and reads them as they are once locked. Fully, so that
 * it waits for adjustments that were judged on the status as it was.
 */
export function lockLocations(
  commands: readonly Command<LocationPatch>[],
): SetStatement<LocationRow> {
  return {
    name: 'lock_locations',
    text: `
      select l.merchant_id, ${columns} from locations l
      where (l.merchant_id, l.id) in (
        select a.merchant_id, a.id from json_to_recordset($1) as a (merchant_id text, id text))
      order by l.merchant_id, l.id
      for update of l`,
    records: pathIds(commands),
  };
}

/** In the order of codes: two imports of the same list wait for each other in one order. */
export function insertLocations(rows: readonly LocationRow[]): SetStatement {
  return {
    name: 'insert_locations',
    text: `
      insert into locations (merchant_id, id, name, code, type, status, timezone, external_id,
        metadata, version, created_at, updated_at)
      select merchant_id, id, name, code, type, status, timezone, external_id,
        metadata, version, created_at, updated_at
      from json_populate_recordset(null::locations, $1)
      order by merchant_id, code, external_id`,
    records: rows,
  };
}

export function updateLocations(rows: readonly LocationRow[]): SetStatement {
  return {
    name: 'update_locations',
    text: `
      update locations l
      set name = s.name, code = s.code, type = s.type, status = s.status, timezone = s.timezone,
        external_id = s.external_id, metadata = s.metadata, version = s.version,
        updated_at = s.updated_at
      from json_populate_recordset(null::locations, $1) s
      where l.merchant_id = s.merchant_id and l.id = s.id`,
    records: rows,
  };
}

export function findLocations(
  merchant: MerchantId,
  ids: readonly string[],
): Statement<LocationRow> {
  return {
    name: 'find_locations',
    text: `select ${columns} from locations l where l.merchant_id = $1 and l.id = any ($2)`,
    values: [merchant, ids.map(lookupId)],
  };
}

/**
 * A page of locations, only granted ones (null: all). One text for all filters, and for rows of all
 * sizes: even a large merchant has few locations.
 */
export function listLocations(filter: {
  merchant: MerchantId;
  granted: readonly GrantedLocationId[] | null;
  status: string | undefined;
  code: string | undefined;
  after: string | undefined;
  limit: number;
}): Statement<LocationRow & Cut> {
  return {
    name: 'list_locations',
    text: `select ${columns}, l.followed from ${cutAt(walk)} l order by l.id`,
    values: [
      filter.merchant,
      filter.after ?? '',
      filter.granted,
      filter.status ?? null,
      filter.code ?? null,
      filter.limit,
    ],
  };
}

const walk = `
  select ${columns}, ${bytesOf('l.metadata')} as bytes from locations l
  where l.merchant_id = $1 and l.id > $2 and ($3::text[] is null or l.id = any ($3))
    and ($4::text is null or l.status = $4) and ($5::text is null or l.code = $5)
  order by l.id limit $6`;
