// Counts denials that are alike, until they are written. How many lines they get is a stock that is
// refilled slowly, so that a flood cannot fill the disk: the most frequent have a line of their
// own, the others are counted together by their code. The sum of the counts is exact.

import { isIP } from 'node:net';
import { limits } from '../../core/limits.ts';
import type { TimedEntry } from './store.ts';

/** A request that was turned away. The IDs are of rows that exist, never what a caller claims. */
export interface Denial {
  readonly method: string;
  /** The route's template. */
  readonly route: string;
  readonly status: number;
  readonly code: string;
  readonly requestId: string;
  readonly merchantId?: string | undefined;
  readonly credentialId?: string | undefined;
  readonly applicationId?: string | undefined;
  readonly address?: string | undefined;
  /** The scope that was missing. */
  readonly scope?: string | undefined;
}

/** Denials that are alike. */
export interface Line {
  readonly members: Pick<Denial, 'status' | 'code'> & { readonly [member: string]: unknown };
  readonly firstAt: number;
  readonly firstId: string;
  readonly lastAt: number;
  readonly lastId: string;
  readonly count: number;
}

/** An address with a zone may be as long as its sender likes. */
const addressLengthMax = 64;

export class Tally {
  #lines = new Map<string, Line>();
  /** By code: what found no room above. */
  #folded = new Map<string, Line>();
  readonly #stock = new Stock();

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  /** @param now by `performance.now()` */
  note(denial: Denial, now: number): void {
    const { requestId: id } = denial;
    const members = membersOf(denial);
    const key = JSON.stringify(members);
    const one = { firstAt: now, firstId: id, lastAt: now, lastId: id, count: 1 };
    const hasRoom = this.#lines.size < limits.denialLinesPendingMax || this.#lines.has(key);
    if (hasRoom) add(this.#lines, key, { members, ...one });
    else fold(this.#folded, { members, ...one });
  }

  /** Everything that was noted since the last time. */
  take(now: number): readonly Line[] {
    const lines = [...this.#lines.values()].sort((a, b) => b.count - a.count);
    const own = lines.slice(0, this.#stock.take(lines.length, now));
    for (const line of lines.slice(own.length)) fold(this.#folded, line);
    const taken = [...own, ...this.#folded.values()].sort((a, b) => a.firstAt - b.firstAt);
    this.#lines = new Map();
    this.#folded = new Map();
    return taken;
  }
}

export function entryOf(line: Line): TimedEntry {
  const { members, firstAt, firstId, lastAt, lastId, count } = line;
  const span =
    count === 1 ? {} : { last_request_id: lastId, over_ms: Math.round(lastAt - firstAt) };
  return {
    entry: { action: 'request.denied', ...members, count, request_id: firstId, ...span },
    age: performance.now() - firstAt,
  };
}

function membersOf(denial: Denial) {
  const { address = '' } = denial;
  const isAddress = address.length <= addressLengthMax && isIP(address) !== 0;
  return {
    merchant_id: denial.merchantId,
    credential_id: denial.credentialId,
    application_id: denial.applicationId,
    method: denial.method,
    route: denial.route,
    status: denial.status,
    code: denial.code,
    scope: denial.scope,
    address: isAddress ? address : undefined,
  };
}

function fold(lines: Map<string, Line>, line: Line): void {
  const { status, code } = line.members;
  add(lines, code, { ...line, members: { status, code, folded: true } });
}

function add(lines: Map<string, Line>, key: string, line: Line): void {
  const known = lines.get(key);
  if (known === undefined) {
    lines.set(key, line);
    return;
  }
  const [earlier, later] = known.firstAt <= line.firstAt ? [known, line] : [line, known];
  const last = later.lastAt >= earlier.lastAt ? later : earlier;
  lines.set(key, {
    ...earlier,
    lastAt: last.lastAt,
    lastId: last.lastId,
    count: known.count + line.count,
  });
}

class Stock {
  #left: number = limits.denialLinesBurst;
  #filledAt = 0;

  /** As many as wanted, as far as they go. One is always to be had: its price is owed. */
  take(wanted: number, now: number): number {
    const gained = ((now - this.#filledAt) / 1_000) * limits.denialLinesPerSecond;
    this.#left = Math.min(limits.denialLinesBurst, this.#left + gained);
    this.#filledAt = now;
    const taken = Math.min(wanted, Math.max(1, Math.floor(this.#left)));
    this.#left -= taken;
    return taken;
  }
}
