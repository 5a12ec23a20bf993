// One batch, one transaction, two round trips, one commit, whatever its size and its merchants:
// lock and load; then bind the keys to their outcomes, save, commit. What is decided counts only if
// all keys could be bound: a twin decided on what its brother has just written fails at the unique
// constraint, and the whole batch with it.

import type { AnyWriteEndpoint, Command, Decision, Load } from '../core/endpoint.ts';
import type { MerchantId } from '../core/principal.ts';
import {
  begin,
  type Connection,
  commit,
  type Result,
  requireCommitted,
  type SetStatement,
  type Statement,
  type Writer,
  waitForDisk,
} from '../core/statement.ts';
import { bindKeys, type Claim, type Outcome } from './claim.ts';

/** A write that waits for its batch. */
export interface Ticket extends Claim {
  readonly endpoint: AnyWriteEndpoint;
  readonly command: Command;
}

/** What a ticket has bound its key to. `row` is what it wrote, if it succeeded. */
export interface Bound {
  readonly outcome: Outcome;
  readonly row: unknown;
}

/**
 * Runs tickets of one operation type as one transaction. `lockTimeout` (ms) shortens the role's
 * own.
 * @throws DatabaseFailure; nothing is committed then, unless its kind is `lost`: the same tickets,
 *   run again, are `taken` if they are.
 */
export async function runBatch(
  writer: Writer,
  tickets: readonly Ticket[],
  lockTimeout: number | undefined,
): Promise<Bound[]> {
  const connection = await writer.connect();
  try {
    const bound = await transact(connection, tickets, lockTimeout);
    connection.release();
    return bound;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

async function transact(
  connection: Connection,
  tickets: readonly Ticket[],
  lockTimeout: number | undefined,
): Promise<Bound[]> {
  const [first] = tickets;
  if (first === undefined) return [];
  // All tickets are of one type.
  const { endpoint } = first;
  const loads = loadsOf(endpoint, tickets);
  const asked = merged([...loads].map(([merchant, load]) => ({ merchant, ...load })));
  const sent = asked.filter(({ records }) => records.length > 0);
  const opening = [begin, ...shorterWait(lockTimeout)];
  // What needs to know nothing is decided at once, and takes one round trip.
  const isOpen = sent.length > 0;
  const statements = isOpen ? [...opening, ...sent.map(asStatement)] : [];
  const answers = isOpen ? (await connection.send(statements)).slice(opening.length) : [];
  const rowsOfLoad = new Map(sent.map((one, index) => [one, rowsByMerchant(answers[index])]));
  const stateOf = (merchant: MerchantId, load: Load<unknown>) =>
    load.state(asked.map((one) => rowsOfLoad.get(one)?.get(merchant) ?? []));
  const states = new Map([...loads].map(([merchant, load]) => [merchant, stateOf(merchant, load)]));
  const now = new Date().toISOString();
  // In arrival order, each command seeing what those of its merchant before it decided.
  const decided = tickets.map((ticket) => {
    const { merchant, command } = ticket;
    return { ticket, decision: endpoint.decide(states.get(merchant), command, now) };
  });
  const saving = together(savingOf(endpoint, decided, now));
  const results = await connection.send([...(isOpen ? [] : opening), saving, commit]);
  requireCommitted(results.at(-1));
  return decided.map(boundBy);
}

/** What each merchant's commands need. They see no rows of any other merchant. */
function loadsOf(
  endpoint: AnyWriteEndpoint,
  tickets: readonly Ticket[],
): Map<MerchantId, Load<unknown>> {
  const groups = [...groupBy(tickets, ({ merchant }) => merchant)];
  return new Map(
    groups.map(([merchant, own]) => [merchant, endpoint.load(own.map(({ command }) => command))]),
  );
}

/** The statements of all merchants, those of the same name as one. */
function merged(
  parts: readonly { merchant: MerchantId; statements: readonly SetStatement[] }[],
): SetStatement[] {
  const byName = new Map<string, SetStatement & { records: object[] }>();
  for (const { merchant, statements } of parts) {
    for (const { name, text, records } of statements) {
      const one = byName.get(name) ?? { name, text, records: [] };
      for (const record of records) one.records.push({ ...record, merchant_id: merchant });
      byName.set(name, one);
    }
  }
  return [...byName.values()];
}

function asStatement({ name, text, records }: SetStatement): Statement {
  return { name, text, values: [JSON.stringify(records)] };
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
  readonly ticket: Ticket;
  readonly decision: Decision<unknown>;
}

/** The statements that bind the keys, and save what the commands change. */
function savingOf(
  endpoint: AnyWriteEndpoint,
  decided: readonly Decided[],
  now: string,
): SetStatement[] {
  const all = decided.map(({ ticket, decision }) => ({
    claim: ticket,
    outcome: outcomeOf(decision),
  }));
  const succeeded = decided.flatMap(({ ticket: { merchant }, decision }) =>
    decision.kind === 'succeeded' ? [{ merchant, change: decision.change }] : [],
  );
  const parts = [...groupBy(succeeded, ({ merchant }) => merchant)].map(([merchant, own]) => ({
    merchant,
    statements: endpoint.save(own.map(({ change }) => change)),
  }));
  return [bindKeys(all, now), ...merged(parts)];
}

/**
 * All that is saved as one statement, with its own check of how many rows each part changed: no
 * extra trip is needed, and triggers look at the whole.
 */
function together(parts: readonly SetStatement[]): Statement {
  const saves = parts.map(
    ({ text }, index) => `saved_${index} as (${text.replaceAll('$1', `$${2 * index + 1}`)}
      returning 1)`,
  );
  const checks = parts.map(
    (_, index) => `expect_rows((select count(*) from saved_${index}), $${2 * index + 2}::bigint)`,
  );
  return {
    name: parts.map(({ name }) => name).join(' '),
    text: `with ${saves.join(', ')} select ${checks.join(', ')}, ${waitForDisk}`,
    values: parts.flatMap(({ records }) => [JSON.stringify(records), records.length]),
  };
}

function outcomeOf(decision: Decision<unknown>): Outcome {
  return decision.kind === 'succeeded'
    ? { status: 'succeeded', resourceId: decision.resourceId }
    : { status: 'rejected', code: decision.code, details: decision.details };
}

function boundBy({ ticket, decision }: Decided): Bound {
  const row = decision.kind === 'succeeded' ? ticket.endpoint.row(decision.change) : undefined;
  return { outcome: outcomeOf(decision), row };
}

function rowsOf<Row>(result: Result | undefined): readonly Row[] {
  return (result?.rows ?? []) as readonly Row[];
}

function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
