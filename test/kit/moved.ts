// An operation with several movements, committed by the owner of the database: until writes make
// such operations, this is how there are any.

import { mintId } from '../../src/core/id.ts';
import type { TestDatabase } from './database.ts';

interface Moved {
  readonly merchant: string;
  readonly credential: string;
  /** Of each line, in their order: the product gets one more there. */
  readonly lines: readonly { readonly product: string; readonly location: string }[];
  readonly note?: string;
}

/** Commits it behind the end of the journal. Returns the ID of the operation. */
export async function moveByHand(db: TestDatabase, moved: Moved): Promise<string> {
  const { merchant, credential, lines, note = null } = moved;
  const operation = mintId('op_');
  const ids = lines.map(() => mintId('imv_'));
  const owner = await db.session();
  await owner.query('begin');
  await owner.query('select from journals where merchant_id = $1 for no key update', [merchant]);
  const values = [merchant, operation, credential, lines.length, ids[0]];
  const { rows } = await owner.query(
    `insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
       fingerprint_version, status, resource_id, movements, position, request_id, created_at)
     select $1, $2, $3, 'inventory.adjust', sha256($2::text::bytea), sha256('x'), 1, 'succeeded',
       $5, $4, coalesce(max(position), 0) + 1, 'req_x', date_trunc('milliseconds', now())
     from operations where merchant_id = $1 returning position`,
    values,
  );
  const [{ position }] = rows;
  for (const [index, { product, location }] of lines.entries()) {
    const id = ids[index];
    const level = await owner.query(
      `insert into inventory_levels (merchant_id, product_id, location_id, quantity, sequence,
         last_movement_id, first_position, updated_at)
       values ($1, $2, $3, 1, 1, $4, $5, now())
       on conflict (merchant_id, product_id, location_id) do update
       set quantity = inventory_levels.quantity + 1, sequence = inventory_levels.sequence + 1,
         last_movement_id = $4, updated_at = now(),
         first_position = coalesce(inventory_levels.first_position, $5)
       returning sequence, quantity`,
      [merchant, product, location, id, position],
    );
    const [{ sequence, quantity }] = level.rows;
    await owner.query(
      `insert into inventory_movements (merchant_id, id, product_id, location_id, sequence, type,
         reason, quantity_before, quantity_delta, quantity_after, note, operation_id, position,
         line, credential_id, actor_kind, recorded_at)
       values ($1, $2, $3, $4, $5, 'adjustment', 'correction', $6::numeric - 1, 1, $6, $7, $8, $9,
         $10, $11, 'personal_access_token', date_trunc('milliseconds', now()))`,
      [
        ...[merchant, id, product, location, sequence, quantity, note, operation, position],
        ...[index + 1, credential],
      ],
    );
  }
  await owner.query('commit');
  await owner.end();
  return operation;
}
