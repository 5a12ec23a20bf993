// The statements that write the ledger. Everything that locks or creates a row joins the operations
// this transaction has claimed (`status = 'claimed'`: no committed row has that), so a replay or a
// conflict touches nothing. Lock order: level creation, then levels, both by (product, location);
// products are read without a lock, after the levels are locked.

import type { Command } from '../core/endpoint.ts';
import { lookupId } from '../core/id.ts';
import type { MerchantId } from '../core/principal.ts';
import type { SaveStatement, Statement } from '../core/statement.ts';
import type { Adjust, LevelRow, MovementRow, ProductRow } from './adjust.ts';

function asked(commands: readonly Command<Adjust>[]): string {
  return JSON.stringify(
    commands.map(({ operationId, body }) => ({
      operation_id: operationId,
      product_id: lookupId(body.product_id),
      location_id: lookupId(body.location_id),
    })),
  );
}

/**
 * Makes rows to lock for pairs that have none, where product and location exist. The foreign key
 * takes a key share lock on the product, which a change of its status or unit waits for.
 */
export function createLevels(
  merchant: MerchantId,
  commands: readonly Command<Adjust>[],
): Statement {
  return {
    name: 'create_levels',
    text: `
      insert into inventory_levels (merchant_id, product_id, location_id)
      select distinct $1, p.id, l.id
      from json_to_recordset($2) as a (operation_id text, product_id text, location_id text)
      join operations o on o.merchant_id = $1 and o.id = a.operation_id and o.status = 'claimed'
      join products p on p.merchant_id = $1 and p.id = a.product_id
      join locations l on l.merchant_id = $1 and l.id = a.location_id
      where not exists (
        select from inventory_levels v
        where v.merchant_id = $1 and v.product_id = p.id and v.location_id = l.id)
      order by p.id, l.id
      on conflict do nothing`,
    values: [merchant, asked(commands)],
  };
}

/** Locks the levels, in (product, location) order, and reads them as they are once locked. */
export function lockLevels(
  merchant: MerchantId,
  commands: readonly Command<Adjust>[],
): Statement<LevelRow> {
  return {
    name: 'lock_levels',
    text: `
      select v.product_id, v.location_id, v.quantity, v.sequence, v.last_movement_id, v.updated_at
      from inventory_levels v
      where v.merchant_id = $1 and (v.product_id, v.location_id) in (
        select a.product_id, a.location_id
        from json_to_recordset($2) as a (operation_id text, product_id text, location_id text)
        join operations o on o.merchant_id = $1 and o.id = a.operation_id
          and o.status = 'claimed')
      order by v.product_id, v.location_id
      for no key update of v`,
    values: [merchant, asked(commands)],
  };
}

export function findProducts(merchant: MerchantId, ids: readonly string[]): Statement<ProductRow> {
  return {
    name: 'find_products_to_adjust',
    text: `
      select id, status, inventory_tracked, unit_precision from products
      where merchant_id = $1 and id = any ($2)`,
    values: [merchant, ids.map(lookupId)],
  };
}

/**
 * The active ones among the locations, kept active until the commit: a change of a location waits
 * for the key share lock, and adjustments share it. One lock per location and batch.
 */
export function shareActiveLocations(
  merchant: MerchantId,
  commands: readonly Command<Adjust>[],
): Statement<{ id: string }> {
  return {
    name: 'share_active_locations',
    text: `
      select l.id from locations l
      where l.merchant_id = $1 and l.status = 'active' and l.id in (
        select a.location_id
        from json_to_recordset($2) as a (operation_id text, location_id text)
        join operations o on o.merchant_id = $1 and o.id = a.operation_id
          and o.status = 'claimed')
      order by l.id
      for key share of l`,
    values: [merchant, asked(commands)],
  };
}

/** Levels go first: the database refuses a movement beyond its level. */
export function saveLevels(merchant: MerchantId, levels: readonly LevelRow[]): SaveStatement {
  return {
    name: 'save_levels',
    text: `
      update inventory_levels v
      set quantity = s.quantity, sequence = s.sequence, last_movement_id = s.last_movement_id,
        updated_at = s.updated_at
      from json_populate_recordset(null::inventory_levels, $2) s
      where v.merchant_id = $1 and v.product_id = s.product_id and v.location_id = s.location_id`,
    values: [merchant, JSON.stringify(levels)],
    rows: levels.length,
  };
}

export function saveMovements(
  merchant: MerchantId,
  movements: readonly MovementRow[],
): SaveStatement {
  return {
    name: 'save_movements',
    text: `
      insert into inventory_movements (merchant_id, id, product_id, location_id, sequence, type,
        reason, quantity_before, quantity_delta, quantity_after, note, reference, operation_id,
        credential_id, actor_kind, application_id, recorded_at)
      select $1, id, product_id, location_id, sequence, type, reason, quantity_before,
        quantity_delta, quantity_after, note, reference, operation_id, credential_id, actor_kind,
        application_id, recorded_at
      from json_populate_recordset(null::inventory_movements, $2)`,
    values: [merchant, JSON.stringify(movements)],
    rows: movements.length,
  };
}
