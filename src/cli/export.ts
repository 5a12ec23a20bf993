// What `tallybook merchant export` and `tallybook customer export` write: lines of JSON, each with
// what it is and the resource as the interface shows it, as of one moment. The last line counts the
// others, so that a copy that broke off is told from a whole one.

import { operatorAt } from '../access/operator/operator.ts';
import { endpoints } from '../app.ts';
import type { CollectionEndpoint, MemberEndpoint } from '../contract/endpoint.ts';
import { limits } from '../core/limits.ts';
import type { GrantedLocationId, Principal } from '../core/principal.ts';
import { type Reader, readsOf } from '../core/statement.ts';
import { presentOperation } from '../operations/endpoints.ts';
import { listOperationsOn } from '../operations/store.ts';
import { writeOut } from './write-out.ts';

interface ExportedLine {
  readonly type: string;
  readonly data: unknown;
}

/** The lists of the interface that are, with the levels at each location, all of a merchant. */
const lists = {
  location: 'locations.list',
  product: 'products.list',
  customer: 'customers.list',
  inventory_movement: 'inventory.movements.list',
  inventory_transfer: 'inventory.transfers.list',
  inventory_count: 'inventory.counts.list',
  inventory_reservation: 'inventory.reservations.list',
  operation: 'operations.list',
} as const;

/** Everything of a merchant, but for what belongs to its operator: credentials, limits, audit. */
export async function* linesOfMerchant(
  reader: Reader,
  merchant: string,
): AsyncGenerator<ExportedLine> {
  const principal = await operatorAt(reader, merchant);
  yield { type: 'merchant', data: { id: principal.merchant, name: principal.merchantName } };
  const locations: GrantedLocationId[] = [];
  for (const [type, name] of Object.entries(lists)) {
    for await (const data of allOf(reader, principal, name)) {
      yield { type, data };
      if (type === 'location') locations.push((data as { readonly id: GrantedLocationId }).id);
    }
  }
  for (const location of locations) {
    const levels = allOf(reader, principal, 'inventory.levels.list', location);
    for await (const data of levels) yield { type: 'inventory_level', data };
  }
}

/** The record of one person, and the operations on it. @throws Problem when it was erased. */
export async function* linesOfCustomer(
  reader: Reader,
  merchant: string,
  id: string,
): AsyncGenerator<ExportedLine> {
  const principal = await operatorAt(reader, merchant);
  const { run } = endpointOf('customers.get') as MemberEndpoint;
  yield { type: 'customer', data: await run(readsOf(reader), principal, id) };
  for (let after = ''; ; ) {
    const size = limits.pageSizeMax;
    const page = await reader.query(listOperationsOn(principal.merchant, id, after, size));
    for (const row of page) yield { type: 'operation', data: presentOperation(row) };
    after = page.at(-1)?.id ?? '';
    if (page.length < size) return;
  }
}

async function* allOf(
  reader: Reader,
  principal: Principal,
  name: string,
  location?: GrantedLocationId,
) {
  const { run } = endpointOf(name) as CollectionEndpoint;
  const reads = readsOf(reader);
  const call = { principal, id: '', query: {}, location, keyHash: undefined };
  for (let after: string | undefined; ; ) {
    const page = await run(reads, { ...call, page: { limit: limits.pageSizeMax, after } });
    yield* page.items;
    after = page.next;
    if (after === undefined) return;
  }
}

function endpointOf(name: string) {
  const found = endpoints.find(({ contract }) => contract.name === name);
  if (found === undefined) throw new Error(`there is no ${name}`);
  return found;
}

/** Writes the lines to a file, or to standard output (`-`). Returns how many records they are. */
export async function writeLines(
  lines: AsyncGenerator<ExportedLine>,
  file: string,
): Promise<number> {
  let records = 0;
  async function* texts() {
    for await (const line of lines) {
      yield textOf(line);
      records += 1;
    }
    yield textOf({ type: 'end', data: { records } });
  }
  await writeOut(texts(), file);
  return records;
}

const textOf = (line: ExportedLine) => `${JSON.stringify(line)}\n`;
