// Merchants, as the operator makes and lists them. A merchant is made together with the credential
// that its operator acts as, so that no merchant exists for which a command could not write.

import { mintId } from '../../core/id.ts';
import type { MerchantId } from '../../core/principal.ts';
import { Problem } from '../../core/problem.ts';
import type { Reader, Writer } from '../../core/statement.ts';
import { scopes } from '../../resources.ts';
import { transact } from '../transact.ts';
import { allRows } from './all-rows.ts';
import {
  findMerchant,
  insertMerchant,
  insertOperator,
  listMerchants,
  type MerchantRow,
} from './merchant-store.ts';

export type Merchant = MerchantRow;

/** Makes a merchant. Names need not be unique. */
export async function createMerchant(writer: Writer, name: string): Promise<Merchant> {
  const id = mintId('mer_');
  const [made] = await transact(writer, { action: 'merchant.create', merchant_id: id, name }, [
    insertMerchant(id, name),
    insertOperator(id, mintId('cred_'), scopes),
  ]);
  const [merchant] = (made ?? []) as readonly MerchantRow[];
  if (merchant === undefined) throw new Error('the merchant was not made');
  return merchant;
}

/** All merchants, the oldest first. */
export function allMerchants(reader: Reader): AsyncGenerator<Merchant> {
  return allRows(reader, listMerchants);
}

/** @throws Problem not_found */
export async function requireMerchant(reader: Reader, id: string): Promise<MerchantId> {
  const [merchant] = await reader.query(findMerchant(id));
  if (merchant === undefined) {
    throw new Problem('not_found', { message: `there is no merchant ${id}` });
  }
  return merchant.id;
}
