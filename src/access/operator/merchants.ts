// Merchants, as the operator makes and lists them. A merchant is made together with the credential
// that its operator acts as, so that no merchant exists for which a command could not write.

import { mintId } from '../../core/id.ts';
import type { MerchantId } from '../../core/principal.ts';
import { Problem } from '../../core/problem.ts';
import type { Reader } from '../../core/statement.ts';
import { scopes } from '../../resources.ts';
import { type Connections, commitAll, transact } from '../transact.ts';
import { allRows } from './all-rows.ts';
import {
  type CellRow,
  findCells,
  findMerchant,
  insertJournal,
  insertMerchant,
  insertOperator,
  listMerchants,
  type MerchantRow,
  setDisabled,
  setName,
} from './merchant-store.ts';

export type Merchant = MerchantRow;

/**
 * Makes a merchant in a cell, the emptiest unless told otherwise. Names need not be unique. Its
 * journal is made first, in a transaction of its own, because it is the merchant's data; one
 * without a merchant harms nobody.
 */
export async function createMerchant(
  access: Connections,
  name: string,
  wanted?: string,
): Promise<Merchant> {
  const id = mintId('mer_');
  const cell = await cellFor(access.reader, wanted);
  await commitAll(access.inCell(cell).writer, [insertJournal(id, mintId('jrn_'))]);
  const entry = { action: 'merchant.create', merchant_id: id, name, cell };
  const [made] = await transact(access.writer, entry, [
    insertMerchant(id, name, cell),
    insertOperator(id, mintId('cred_'), scopes),
  ]);
  const [merchant] = (made ?? []) as readonly MerchantRow[];
  if (merchant === undefined) throw new Error('the merchant was not made');
  return merchant;
}

async function cellFor(reader: Reader, wanted: string | undefined): Promise<string> {
  const cells = await reader.query(findCells);
  const found = cells.find(({ name }) => wanted === undefined || name === wanted);
  if (found !== undefined) return found.name;
  const names = cells.map(({ name }) => name).sort();
  throw new Problem('not_found', {
    message: `there is no cell ${wanted}, but ${names.join(', ')}: add it with "cell add"`,
  });
}

/** All cells, in the order of their names. */
export async function allCells(reader: Reader): Promise<CellRow[]> {
  const cells = await reader.query(findCells);
  return cells.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The connections for what is about a merchant. @throws Problem not_found */
export async function atMerchant<Of extends Connections>(access: Of, id: string): Promise<Of> {
  const { cell } = await merchantById(access.reader, id);
  return access.inCell(cell) as Of;
}

/** All merchants, the oldest first. */
export function allMerchants(reader: Reader): AsyncGenerator<Merchant> {
  return allRows(reader, listMerchants);
}

/** @throws Problem not_found */
export async function requireMerchant(reader: Reader, id: string): Promise<MerchantId> {
  return (await merchantById(reader, id)).id;
}

/**
 * Gives a merchant another name. When it has that name already, no line is written.
 * @throws Problem not_found
 */
export async function renameMerchant(
  access: Connections,
  id: string,
  name: string,
): Promise<Merchant> {
  const before = await merchantById(access.reader, id);
  if (before.name === name) return before;
  const entry = { action: 'merchant.rename', merchant_id: before.id, name, before: before.name };
  await transact(access.writer, entry, [setName(before.id, name)]);
  return merchantById(access.reader, id);
}

/**
 * Refuses all tokens of a merchant from the next request on, those of applications among them, or
 * admits them again. When that is so already, no line is written.
 * @throws Problem not_found
 */
export async function changeDisabled(
  access: Connections,
  id: string,
  isDisabled: boolean,
): Promise<Merchant> {
  const before = await merchantById(access.reader, id);
  if ((before.disabled_at !== null) === isDisabled) return before;
  const action = isDisabled ? 'merchant.disable' : 'merchant.enable';
  await transact(access.writer, { action, merchant_id: before.id }, [
    setDisabled(before.id, isDisabled),
  ]);
  return merchantById(access.reader, id);
}

async function merchantById(reader: Reader, id: string): Promise<Merchant> {
  const [merchant] = await reader.query(findMerchant(id));
  if (merchant !== undefined) return merchant;
  throw new Problem('not_found', { message: `there is no merchant ${id}` });
}
