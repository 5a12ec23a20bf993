// Recomputes the ledger and says what differs: every level from its movements, every movement from
// its predecessor and its operation. It reads range by range, each in a snapshot of its own, so it
// works beside a busy service. A level that spans ranges is still judged exactly: movements are
// only ever added at its end, and it is compared in the snapshot that shows its last ones.

import { eachCell, firstCell, type InCells } from '../core/cells.ts';
import {
  commit,
  DatabaseFailure,
  planAnew,
  type Statement,
  type Writer,
} from '../core/statement.ts';
import { walkCounts, walkLastCounts } from './verify-counts-store.ts';
import { walkReservations, walkReserved } from './verify-reservations-store.ts';
import {
  allowLongStatements,
  beginSnapshot,
  type DifferenceRow,
  findCell,
  type JournalRange,
  type LevelRange,
  type MovementPosition,
  nextMerchant,
  walkJournal,
  walkLevels,
  walkMovements,
  walkOperations,
} from './verify-store.ts';
import { walkTransfers } from './verify-transfers-store.ts';

/** One way in which the ledger is not what it promises to be. */
export interface Difference {
  readonly kind: string;
  readonly merchant_id: string;
  readonly product_id: string | null;
  readonly location_id: string | null;
  readonly movement_id?: string;
  readonly operation_id?: string;
  readonly message: string;
}

export interface Verification {
  readonly ok: boolean;
  /** Levels that ever moved. */
  readonly levels: number;
  readonly movements: number;
  readonly differences: readonly Difference[];
}

/** A range of this many rows takes about 0.1 s when it is in memory. */
const rangeSizeDefault = 10_000;
const rangeSizeMin = 500;

/**
 * Cell by cell. @param options.merchant only this merchant; otherwise all.
 * @throws DatabaseFailure
 */
export async function verifyLedger(
  database: InCells,
  { merchant, rangeSize = rangeSizeDefault }: VerifyOptions = {},
): Promise<Verification> {
  // The walk over movements begins each range with the last row of the one before.
  const size = Math.max(2, rangeSize);
  if (merchant !== undefined) {
    const [found] = await database.reader.query(findCell(merchant));
    const { writer } = database.inCell(found?.cell ?? firstCell);
    const walk = new Walk(writer, size);
    await walk.merchant(merchant);
    return verificationOf([walk]);
  }
  const walks: Walk[] = [];
  for (const [cell, { writer }] of await eachCell(database)) {
    const walk = new Walk(writer, size);
    await walk.merchants(cell);
    walks.push(walk);
  }
  return verificationOf(walks);
}

interface VerifyOptions {
  readonly merchant?: string | undefined;
  readonly rangeSize?: number;
}

function verificationOf(walks: readonly Walk[]): Verification {
  const sum = (count: (walk: Walk) => number) =>
    walks.map(count).reduce((total, one) => total + one, 0);
  const differences = walks.flatMap((walk) => walk.differences);
  return {
    ok: differences.length === 0,
    levels: sum((walk) => walk.levels),
    movements: sum((walk) => walk.movements),
    differences,
  };
}

class Walk {
  levels = 0;
  movements = 0;
  readonly differences: Difference[] = [];
  readonly #writer: Writer;
  readonly #rangeSize: number;

  constructor(writer: Writer, rangeSize: number) {
    this.#writer = writer;
    this.#rangeSize = rangeSize;
  }

  async merchants(cell: string): Promise<void> {
    let after = '';
    for (;;) {
      const next = await this.#look(() => nextMerchant(after, cell));
      if (next === undefined || next.id === null) return;
      if (next.cell === null) this.#add(next.id, [{ ...nowhere, kind: 'merchant_missing' }]);
      else if (next.cell !== cell) {
        this.#add(next.id, [
          { ...nowhere, kind: 'merchant_elsewhere', found: cell, expected: next.cell },
        ]);
      }
      await this.merchant(next.id);
      after = next.id;
    }
  }

  async merchant(merchant: string): Promise<void> {
    await this.#walkMovements(merchant);
    await this.#walkLevels(merchant, walkLevels);
    await this.#walkLevels(merchant, walkReserved);
    await this.#walkByIds(merchant, walkOperations);
    await this.#walkByIds(merchant, walkTransfers);
    await this.#walkByIds(merchant, walkReservations);
    await this.#walkByIds(merchant, walkCounts);
    await this.#walkLevels(merchant, walkLastCounts);
    await this.#walkJournal(merchant);
  }

  async #walkMovements(merchant: string): Promise<void> {
    let from: MovementPosition = {
      product_id: '',
      location_id: '',
      sequence: 0,
      id: '',
      total: '0',
    };
    for (;;) {
      let size = 0;
      const range = await this.#look((rows) => {
        size = rows;
        return walkMovements(merchant, from, rows);
      });
      if (range === undefined) return;
      const isContinued = from.id !== '';
      this.movements += range.fetched - (isContinued ? 1 : 0);
      this.#add(merchant, range.differences);
      if (range.fetched < size) return;
      from = range;
    }
  }

  async #walkLevels(
    merchant: string,
    statement: (...asked: Parameters<typeof walkLevels>) => Statement<LevelRange>,
  ): Promise<void> {
    let after = { product_id: '', location_id: '' };
    for (;;) {
      const range = await this.#look((rows) => statement(merchant, after, rows));
      if (range === undefined) return;
      this.levels += range.levels;
      this.#add(merchant, range.differences);
      after = range;
    }
  }

  async #walkByIds(merchant: string, walk: typeof walkOperations): Promise<void> {
    let after = '';
    for (;;) {
      const range = await this.#look((rows) => walk(merchant, after, rows));
      if (range === undefined) return;
      this.#add(merchant, range.differences);
      after = range.id;
    }
  }

  async #walkJournal(merchant: string): Promise<void> {
    let after: Pick<JournalRange, 'position' | 'id' | 'at'> = {
      position: 0,
      id: '',
      at: '-infinity',
    };
    for (;;) {
      const range = await this.#look((rows) => walkJournal(merchant, after, rows));
      if (range === undefined) return;
      this.#add(merchant, range.differences);
      after = range;
    }
  }

  /** One row in a snapshot of its own. A range that takes too long is tried again in less. */
  async #look<Row>(statement: (rows: number) => Statement<Row>): Promise<Row | undefined> {
    for (let rows = this.#rangeSize; ; rows = Math.ceil(rows / 4)) {
      try {
        return await snapshot(this.#writer, statement(rows));
      } catch (error) {
        const isSlow =
          error instanceof DatabaseFailure && (error.kind === 'timeout' || error.kind === 'lost');
        if (!isSlow || rows <= rangeSizeMin) throw error;
      }
    }
  }

  #add(merchant: string, rows: readonly DifferenceRow[]): void {
    for (const row of rows) this.differences.push(differenceOf(merchant, row));
  }
}

const nowhere = {
  product_id: null,
  location_id: null,
  movement_id: null,
  operation_id: null,
  found: null,
  expected: null,
};

async function snapshot<Row>(writer: Writer, statement: Statement<Row>): Promise<Row | undefined> {
  const connection = await writer.connect();
  try {
    const sent = [beginSnapshot, planAnew, allowLongStatements, statement, commit];
    const [, , , result] = await connection.send(sent);
    connection.release();
    return result?.rows[0] as Row | undefined;
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

function differenceOf(merchant: string, row: DifferenceRow): Difference {
  const { kind, product_id, location_id, movement_id, operation_id } = row;
  return {
    kind,
    merchant_id: merchant,
    product_id,
    location_id,
    ...(movement_id === null ? {} : { movement_id }),
    ...(operation_id === null ? {} : { operation_id }),
    message: messageOf(row),
  };
}

function messageOf({ kind, found, expected }: DifferenceRow): string {
  const messages: Readonly<Record<string, string>> = {
    merchant_missing: 'the merchant of these rows does not exist',
    merchant_elsewhere: `these rows are in ${found}, and their merchant is in ${expected}`,
    quantity_not_sum: `the level says ${found}, its movements add up to ${expected}`,
    quantity_differs: `the level says ${found}, its last movement ${expected}`,
    sequence_differs: `the level is at sequence ${found}, its last movement at ${expected}`,
    last_movement_differs: `the level names ${found} as its last movement, it is ${expected}`,
    updated_at_differs: `the level was updated at ${found}, its last movement at ${expected}`,
    level_without_movements: `the level says ${found} and never moved`,
    movement_without_level: 'there are movements, and no level',
    sequence_gap: `the movement has sequence ${found} where ${expected} should follow`,
    sequence_fork: `two movements have sequence ${found}`,
    before_differs: `the movement starts from ${found}, its predecessor ended at ${expected}`,
    after_differs: `the movement ends at ${found}, its own figures give ${expected}`,
    delta_zero: 'the movement changes nothing',
    quantity_out_of_range: `the movement ends at ${found}, which no quantity may be`,
    id_order: `the movement sorts before its predecessor ${expected}`,
    time_order: `the movement was recorded at ${found}, its predecessor at ${expected}`,
    movement_without_operation: `the movement has no succeeded write to the ledger (${found})`,
    line_out_of_range: `the movement is line ${found} of an operation that says it has ${expected}`,
    operation_names_another: `the operation of the movement names ${found} instead`,
    operation_movements_differ: `the operation says it has ${expected} movements, and has ${found}`,
    line_twice: `${found} movements of the operation share ${expected} line numbers`,
    position_gap: `the journal goes on at ${found} where ${expected} should follow`,
    position_twice: `two operations have the position ${found}`,
    position_time_order: `the operation is of ${found}, the position before it of ${expected}`,
    position_without_change: `the operation changed nothing and has the position ${found}`,
    change_without_position: 'the operation changed something and has no position',
    position_differs: `the movement is at ${found} or another time, its operation at ${expected}`,
    first_position_differs: `the level begins at ${found}, its first movement is at ${expected}`,
    reserved_not_sum: `${found} is reserved, the active lines add up to ${expected}`,
    reservation_line_differs: `a line is active (${found}), its reservation ${expected}`,
    reservation_movement_differs: `the movement changes ${found}, its reservation held ${expected}`,
    reservation_movements_differ: `${found} movements are named, for ${expected} lines`,
    reservation_without_lines: 'the reservation holds nothing',
    reservation_without_operation: `the operations of ${expected} name ${found}`,
    resource_missing: `the operation names ${found}, which is not there`,
    count_line_differs: `a line of the count moved ${found}, and says ${expected}`,
    count_without_operation: `the count ${expected} is not what was written (${found})`,
    count_movements_differ: `the count names ${found} movements of ${expected}`,
    count_lines_differ: `the count says that it has ${found} lines, and has ${expected}`,
    last_count_differs: `the last count is ${found}, and should be ${expected} or a later one`,
    last_count_of_none: `the last count names ${found}, which did not count it there`,
    transfer_line_differs: `a line of the transfer moved ${found}, and says ${expected}`,
    transfer_without_operation: `the transfer ${expected} is not what was written (${found})`,
    transfer_movements_differ: `the transfer names ${found} movements of ${expected}`,
    operation_without_outcome: `the operation (${found}) has not the outcome that its status says`,
  };
  return messages[kind] ?? kind;
}
