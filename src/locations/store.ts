// The statements of locations. A statement that locks joins the operations this transaction has
// claimed (`status = 'claimed'`: no committed row has that), so that a replay locks nothing.

import type { Command } from '../core/endpoint.ts';
import { lookupId } from '../core/id.ts';
import type { GrantedLocationId, MerchantId } from '../core/principal.ts';
import type { Holder } from '../core/revision.ts';
import type { SaveStatement, Statement } from '../core/statement.ts';
import type { LocationPatch, LocationRow } from './edit.ts';

const columns = `l.id, l.name, l.code, l.type, l.status, l.timezone, l.external_id, l.metadata,
  l.version, l.created_at, l.updated_at`;

/** Who holds the codes and external IDs that the commands want. */
export function findHolders(
  merchant: MerchantId,
  commands: readonly Command<LocationPatch>[],
): Statement<Holder> {
  return {
    name: 'find_location_holders',
    text: `
      select 'code' as field, l.code as value, l.id from locations l
      where l.merchant_id = $1 and l.code = any ($2)
      union all
      select 'external_id', l.external_id, l.id from locations l
      where l.merchant_id = $1 and l.external_id = any ($3)`,
    values: [
      merchant,
      commands.flatMap(({ body }) => body.code ?? []),
      commands.flatMap(({ body }) => body.external_id ?? []),
    ],
  };
}

/**
 * Locks the locations, in the order of IDs, and reads them as they are once locked. Fully, so that
 * it waits for adjustments that were judged on the status as it was.
 */
export function lockLocations(
  merchant: MerchantId,
  commands: readonly Command<LocationPatch>[],
): Statement<LocationRow> {
  const asked = commands.map(({ operationId, id }) => ({
    operation_id: operationId,
    id: lookupId(id),
  }));
  return {
    name: 'lock_locations',
    text: `
      select ${columns} from locations l
      where l.merchant_id = $1 and l.id in (
        select a.id from json_to_recordset($2) as a (operation_id text, id text)
        join operations o on o.merchant_id = $1 and o.id = a.operation_id
          and o.status = 'claimed')
      order by l.id
      for update of l`,
    values: [merchant, JSON.stringify(asked)],
  };
}

/** In the order of codes: two imports of the same list wait for each other in one order. */
export function insertLocations(merchant: MerchantId, rows: readonly LocationRow[]): SaveStatement {
  return {
    name: 'insert_locations',
    text: `
      insert into locations (merchant_id, id, name, code, type, status, timezone, external_id,
        metadata, version, created_at, updated_at)
      select $1, id, name, code, type, status, timezone, external_id,
        metadata, version, created_at, updated_at
      from json_populate_recordset(null::locations, $2)
      order by code, external_id`,
    values: [merchant, JSON.stringify(rows)],
    rows: rows.length,
  };
}

export function updateLocations(merchant: MerchantId, rows: readonly LocationRow[]): SaveStatement {
  return {
    name: 'update_locations',
    text: `
      update locations l
      set name = s.name, code = s.code, type = s.type, status = s.status, timezone = s.timezone,
        external_id = s.external_id, metadata = s.metadata, version = s.version,
        updated_at = s.updated_at
      from json_populate_recordset(null::locations, $2) s
      where l.merchant_id = $1 and l.id = s.id`,
    values: [merchant, JSON.stringify(rows)],
    rows: rows.length,
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
 * A page of locations, only granted ones (null: all). One text for all filters: even a large
 * merchant has few locations.
 */
export function listLocations(filter: {
  merchant: MerchantId;
  granted: readonly GrantedLocationId[] | null;
  status: string | undefined;
  code: string | undefined;
  after: string | undefined;
  limit: number;
}): Statement<LocationRow> {
  return {
    name: 'list_locations',
    text: `
      select ${columns} from locations l
      where l.merchant_id = $1 and l.id > $2 and ($3::text[] is null or l.id = any ($3))
        and ($4::text is null or l.status = $4) and ($5::text is null or l.code = $5)
      order by l.id limit $6`,
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
