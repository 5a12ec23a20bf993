// What a service has of each cell, made when the cell is first heard of. Which cell a merchant is
// in is learned with each caller and kept, because it never changes. With one cell there is nothing
// to learn, and no look-up is made.

import { TokenCells } from '../access/cells.ts';
import { findTokenCells } from '../access/store.ts';
import { firstCell } from '../core/cells.ts';
import { limits } from '../core/limits.ts';
import type { Database } from '../database/connect.ts';
import { JointReads } from '../database/joint-reads.ts';

/** What runs beside the requests, in one cell. */
interface Stoppable {
  stop(...how: readonly never[]): Promise<void>;
}

export class Cells<Parts> {
  readonly #database: Database;
  readonly #make: (database: Database) => Parts;
  readonly #parts = new Map<string, Parts>();
  /** The cells of merchants that are not in the first one. */
  readonly #placed = new Map<string, string>();
  readonly #tokens: TokenCells;
  /** Told of each cell that comes. */
  readonly #followers: ((parts: Parts) => void)[] = [];
  #looks: NodeJS.Timeout | undefined;

  constructor(database: Database, make: (database: Database) => Parts) {
    this.#database = database;
    this.#make = make;
    const joint = new JointReads(() => database.anywhere).readerOf('');
    this.#tokens = new TokenCells((hash) => joint.find(findTokenCells, hash));
    this.in(firstCell);
  }

  in(cell: string): Parts {
    let parts = this.#parts.get(cell);
    if (parts === undefined) {
      const isHome = cell === firstCell && !this.#database.isSpread();
      parts = this.#make(isHome ? this.#database : this.#database.inCell(cell));
      this.#parts.set(cell, parts);
      for (const follow of this.#followers) follow(parts);
    }
    return parts;
  }

  /** Of a merchant that this process has heard of. */
  of(merchant: string): Parts {
    return this.in(this.#placed.get(merchant) ?? firstCell);
  }

  note(merchant: string, cell: string): void {
    if (cell !== firstCell) this.#placed.set(merchant, cell);
  }

  /** Of all cells that this process has heard of. */
  get all(): readonly Parts[] {
    return [...this.#parts.values()];
  }

  /** Undefined: it has heard of one only. */
  get tokens(): TokenCells | undefined {
    return this.#parts.size === 1 ? undefined : this.#tokens;
  }

  /** Begins something in each cell, and in those that come. */
  each<Work extends Stoppable>(begin: (parts: Parts) => Work): Each<Work> {
    const works: Work[] = [];
    const follow = (parts: Parts) => works.push(begin(parts));
    for (const parts of this.all) follow(parts);
    this.#followers.push(follow);
    this.#look();
    const end = () => {
      this.#followers.splice(this.#followers.indexOf(follow), 1);
      if (this.#followers.length > 0) return;
      clearTimeout(this.#looks);
      this.#looks = undefined;
    };
    return { works, end };
  }

  /** Until nobody follows any more. */
  #look(): void {
    if (this.#looks !== undefined) return;
    const look = async () => {
      // When the database is away, the next look finds them.
      const cells = await this.#database.cells().catch(() => []);
      for (const cell of cells) if (this.#followers.length > 0) this.in(cell);
    };
    void look();
    this.#looks = setInterval(look, limits.cellLookInterval).unref();
  }
}

interface Each<Work> {
  /** Those begun so far. */
  readonly works: readonly Work[];
  /** Begins nothing more. */
  end(): void;
}
