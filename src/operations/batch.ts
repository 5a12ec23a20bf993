// One batch, one transaction, two round trips, one commit, whatever its size and its merchants:
// lock and load; then lock the journals, bind the keys to their operations, save, commit. What is
// decided counts only if all keys could be bound: a duplicate request that was decided on what the
// first one had just written fails at the unique constraint, and the whole batch with it.

import type { AnyWriteEndpoint, Decision, Load, Operation, Write } from '../contract/endpoint.ts';
import { isJournaled } from '../contract/resource.ts';
import { groupBy } from '../core/group-by.ts';
import type { MerchantId } from '../core/principal.ts';
import {
  begin,
  type Connection,
  commit,
  pendingTime,
  type Result,
  requireCommitted,
  type SetStatement,
  type Statement,
  type Writer,
  waitForDisk,
} from '../core/statement.ts';
import { type JournalEnd, journalEnds, lockJournals, placedAt } from '../journal/store.ts';
import { bindKeys, operationOf } from './keys.ts';

/** What has become of a write: its operation, and what it wrote if this run performed it. */
export interface Performed {
  readonly operation: Operation;
  readonly row?: unknown;
}

/**
 * Runs writes of one operation type as one transaction. `lockTimeout` (ms) shortens the role's
 * own.
 * @throws DatabaseFailure; nothing is committed then, unless its kind is `lost`: the same writes,
 *   run again, are `taken` if they are.
 */
export async function runBatch(
  writer: Writer,
  writes: readonly Write[],
  lockTimeout: number | undefined,
): Promise<Performed[]> {
  const connection = await writer.connect();
  try {
    const performed = await transact(connection, writes, lockTimeout);
    connection.release();
    return performed;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

async function transact(
  connection: Connection,
  writes: readonly Write[],
  lockTimeout: number | undefined,
): Promise<Performed[]> {
  const [first] = writes;
  if (first === undefined) return [];
  // All writes are of one type.
  const { endpoint } = first;
  const loads = loadsOf(endpoint, writes);
  const asked = merged([...loads].map(([merchant, load]) => ({ merchant, ...load })));
  const sent = asked.filter(({ count }) => count > 0);
  const opening = [begin, ...shorterWait(lockTimeout)];
  // What needs to know nothing is decided at once, and takes one round trip.
  const isOpen = sent.length > 0;
  const statements = isOpen ? [...opening, ...sent.map(asStatement)] : [];
  const answers = isOpen ? (await connection.send(statements)).slice(opening.length) : [];
  const rowsOfLoad = new Map(sent.map((one, index) => [one, rowsByMerchant(answers[index])]));
  const stateOf = (merchant: MerchantId, load: Load<unknown>) =>
    load.state(asked.map((one) => rowsOfLoad.get(one)?.get(merchant) ?? []));
  const states = new Map([...loads].map(([merchant, load]) => [merchant, stateOf(merchant, load)]));
  const decided = decideAll(endpoint, writes, states);
  const changed = decided.filter(({ operation }) => operation.position !== null);
  const locking = merchantsOf(changed);
  const saving = together(merchantsOf(decided), [
    asMerged(bindKeys(decided.map(({ operation }) => operation))),
    ...savesOf(endpoint, decided),
  ]);
  const results = await connection.send([
    ...(isOpen ? [] : opening),
    ...besideOf(endpoint, decided),
    ...(locking.length === 0 ? [] : [{ ...lockJournals, values: [JSON.stringify(locking)] }]),
    saving,
    commit,
  ]);
  requireCommitted(results.at(-1));
  const ends = rowsOf<JournalEnd>(results.at(-2));
  const endOf = new Map(ends.map((end) => [end.merchant_id, end]));
  return decided.map(({ decision, operation }) => {
    const end = endOf.get(operation.merchant_id);
    if (end === undefined) throw new Error(`${operation.merchant_id} has no journal`);
    const placed = { journal: end.id, ...placedAt(operation, end) };
    return decision.kind === 'succeeded'
      ? { operation: placed, row: placedAt(decision.row, end) }
      : { operation: placed };
  });
}

/**
 * In arrival order, each write seeing what those of its merchant before it decided. Positions are
 * given in this order to what changes something.
 */
function decideAll(
  endpoint: AnyWriteEndpoint,
  writes: readonly Write[],
  states: ReadonlyMap<MerchantId, unknown>,
): Decided[] {
  const last = new Map<MerchantId, number>();
  const { resource, name } = endpoint.contract;
  const mayMove = isJournaled(resource, name);
  return writes.map((write) => {
    const { merchant } = write;
    const position = (last.get(merchant) ?? 0) + 1;
    const decision = endpoint.decide(states.get(merchant), write, { position, time: pendingTime });
    const isSuccess = decision.kind === 'succeeded';
    const isChange = mayMove && isSuccess && decision.changes.length > 0;
    if (isChange) last.set(merchant, position);
    return { write, decision, operation: operationOf(write, decision, isChange ? position : null) };
  });
}

function merchantsOf(decided: readonly Decided[]): { merchant_id: MerchantId }[] {
  return [...new Set(decided.map(({ write }) => write.merchant))].map((merchant_id) => ({
    merchant_id,
  }));
}

/** What each merchant's writes need. They see no rows of any other merchant. */
function loadsOf(
  endpoint: AnyWriteEndpoint,
  writes: readonly Write[],
): Map<MerchantId, Load<unknown>> {
  const groups = [...groupBy(writes, ({ merchant }) => merchant)];
  return new Map(groups.map(([merchant, own]) => [merchant, endpoint.load(own)]));
}

/** A statement with the records of several merchants. */
interface Merged extends Omit<SetStatement, 'records'> {
  readonly count: number;
  /** As JSON. */
  readonly records: string;
}

/**
 * The statements of all merchants, those of the same name as one. What several statements are sent
 * becomes a text once.
 */
function merged(
  parts: readonly { merchant: MerchantId; statements: readonly SetStatement[] }[],
): Merged[] {
  const byName = new Map<
    string,
    Pick<Merged, 'name' | 'text'> & { parts: string[]; count: number }
  >();
  for (const { merchant, statements } of parts) {
    const texts = new Map<readonly object[], string>();
    for (const { name, text, records } of statements) {
      const one = byName.get(name) ?? { name, text, parts: [], count: 0 };
      byName.set(name, one);
      if (records.length === 0) continue;
      const sent = texts.get(records) ?? rowsAsText(merchant, records);
      texts.set(records, sent);
      one.parts.push(sent);
      one.count += records.length;
    }
  }
  return [...byName.values()].map(({ name, text, count, parts: sent }) => {
    return { name, text, count, records: `[${sent.join(',')}]` };
  });
}

function rowsAsText(merchant_id: MerchantId, records: readonly object[]): string {
  const own = records.map((record) => {
    const row = { merchant_id, ...record };
    // Again, because no record may name another merchant.
    row.merchant_id = merchant_id;
    return row;
  });
  return JSON.stringify(own).slice(1, -1);
}

function asMerged({ name, text, records }: SetStatement): Merged {
  return { name, text, count: records.length, records: JSON.stringify(records) };
}

function asStatement({ name, text, records }: Merged): Statement {
  return { name, text, values: [records] };
}

function rowsByMerchant(result: Result | undefined): Map<string, unknown[]> {
  return groupBy(rowsOf<{ merchant_id: string }>(result), ({ merchant_id }) => merchant_id);
}

function shorterWait(lockTimeout: number | undefined): Statement[] {
  if (lockTimeout === undefined) return [];
  const text = "select set_config('lock_timeout', $1, true)";
  return [{ name: 'shorter_wait', text, values: [`${lockTimeout}ms`] }];
}

interface Decided {
  readonly write: Write;
  readonly decision: Decision<unknown>;
  readonly operation: Omit<Operation, 'journal'>;
}

/** Before keys are bound: whoever waits for a key has all other locks, and none in a circle. */
function besideOf(endpoint: AnyWriteEndpoint, decided: readonly Decided[]): readonly Statement[] {
  const done = decided.flatMap(({ write, decision }) =>
    decision.kind === 'succeeded' && decision.changes.length > 0
      ? [{ write, row: decision.row }]
      : [],
  );
  return done.length === 0 ? [] : (endpoint.beside?.(done) ?? []);
}

/** The statements that save what the writes change. */
function savesOf(endpoint: AnyWriteEndpoint, decided: readonly Decided[]): Merged[] {
  const succeeded = decided.flatMap(({ write: { merchant }, decision }) =>
    decision.kind === 'succeeded' ? [{ merchant, changes: decision.changes }] : [],
  );
  const parts = [...groupBy(succeeded, ({ merchant }) => merchant)].map(([merchant, own]) => ({
    merchant,
    statements: endpoint.save(own.flatMap(({ changes }) => changes)),
  }));
  return merged(parts);
}

/**
 * All that is saved as one statement, with its own check of how many rows each part changed: no
 * extra trip is needed, and triggers look at the whole. It returns the ends of the journals that it
 * has counted positions from.
 */
function together(merchants: readonly object[], parts: readonly Merged[]): Statement {
  const saves = parts.map(
    ({ text }, index) => `saved_${index} as (${text.replaceAll('$1', `$${2 * index + 2}`)}
      returning 1)`,
  );
  const checks = parts.map(
    (_, index) => `expect_rows((select count(*) from saved_${index}), $${2 * index + 3}::bigint)`,
  );
  return {
    name: parts.map(({ name }) => name).join(' '),
    text: `
      with journal as materialized (${journalEnds}), ${saves.join(', ')},
        checked as materialized (select ${checks.join(', ')}, ${waitForDisk})
      select j.* from journal j cross join checked`,
    values: [JSON.stringify(merchants), ...parts.flatMap(({ records, count }) => [records, count])],
  };
}

function rowsOf<Row>(result: Result | undefined): readonly Row[] {
  return (result?.rows ?? []) as readonly Row[];
}
