// Every denied request is counted in a line: who, what, when and from where. Lines are written in
// the background, so that no request waits for them or fails with them. Of equal denials the first
// one is a line within a second, and one more line counts the others of the minute. Lines per
// minute are limited, because a flood could fill the disk; their counts still add up to the number
// of denied requests. A line holds IDs of what exists, and nothing that a caller sent.

import { isIP } from 'node:net';
import { limits } from '../../core/limits.ts';
import type { Problem } from '../../core/problem.ts';
import { DatabaseFailure, type Writer } from '../../core/statement.ts';
import { commitAll } from '../transact.ts';
import { appendAudit, type TimedEntry } from './store.ts';

/** A request that was denied. The IDs are of rows that exist, never what a caller claims. */
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

/** What a denial is read from: any request that was answered. */
interface AnsweredRequest extends Omit<Denial, 'code' | 'scope'> {
  readonly problem: Problem | undefined;
  readonly oauthError: string | undefined;
}

/** The OAuth errors that deny something. The other errors say that a request is malformed. */
const oauthRefusals: readonly string[] = [
  'insufficient_scope',
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'invalid_token',
  'location_not_granted',
  'unauthorized_client',
];

/** Those of a request: its own, or those of the writes of a batch. */
export function denialsOf(
  request: AnsweredRequest & { readonly itemProblems: readonly Problem[] },
): readonly Denial[] {
  const { itemProblems, ...whole } = request;
  const items = itemProblems.map((problem) => ({ ...whole, problem }));
  return [whole, ...items].flatMap((one) => denialOf(one) ?? []);
}

/** Undefined when it was not denied. A known caller beyond its rate limit is not a denial. */
export function denialOf(request: AnsweredRequest): Denial | undefined {
  const { problem, oauthError, ...rest } = request;
  if (problem === undefined) {
    const isRefusal = oauthError !== undefined && oauthRefusals.includes(oauthError);
    return isRefusal ? { ...rest, code: oauthError } : undefined;
  }
  const { status, code } = problem;
  const isKnown = rest.credentialId !== undefined || rest.applicationId !== undefined;
  const isBadCredential = status === 429 && !isKnown;
  if (status !== 401 && status !== 403 && !isBadCredential) return undefined;
  const scope = problem.details.find((detail) => detail.code === 'insufficient_scope')?.scope;
  return { ...rest, status, code, scope: typeof scope === 'string' ? scope : undefined };
}

/** Equal denials, counted. */
interface DenialLine {
  readonly members: Pick<Denial, 'status' | 'code'> & { readonly [member: string]: unknown };
  readonly firstAt: number;
  readonly firstId: string;
  readonly lastAt: number;
  readonly lastId: string;
  readonly count: number;
}

/** The denials of one minute. */
class MinuteOfDenials {
  readonly #length: number;
  /** How many kinds have lines of their own. */
  readonly #linesMax: number;
  #endsAt = 0;
  /** What is to be written, by kind. */
  #lines = new Map<string, DenialLine>();
  /** The kinds that have a line of this minute already. */
  readonly #written = new Set<string>();

  constructor(length: number, linesMax: number) {
    this.#length = length;
    this.#linesMax = linesMax;
  }

  get isEmpty(): boolean {
    return this.#lines.size === 0 && this.#written.size === 0;
  }

  note(denial: Denial): void {
    const now = performance.now();
    if (this.isEmpty) this.#endsAt = now + this.#length;
    const { requestId: id } = denial;
    const line = { firstAt: now, firstId: id, lastAt: now, lastId: id, count: 1 };
    const members = membersOf(denial);
    const kind = JSON.stringify(members);
    const hasRoom = this.#lines.size < limits.denialKindsMax || this.#lines.has(kind);
    if (hasRoom) add(this.#lines, kind, { members, ...line });
    else fold(this.#lines, { members, ...line });
  }

  /**
   * The first line of each kind, while the minute has lines left. When it is over, the others: the
   * most frequent kinds have lines of their own, and the rest one for each code.
   */
  take(isOver = performance.now() >= this.#endsAt): readonly DenialLine[] {
    const due = [...this.#lines]
      .filter(([kind]) => isOver || !this.#written.has(kind))
      .sort(([, one], [, other]) => other.count - one.count);
    const left = this.#linesMax - (isOver ? 0 : this.#written.size);
    const own = due.slice(0, left);
    for (const [kind] of own) {
      this.#lines.delete(kind);
      this.#written.add(kind);
    }
    if (!isOver) return own.map(([, line]) => line);
    const folded = new Map<string, DenialLine>();
    for (const line of this.#lines.values()) fold(folded, line);
    this.#lines = new Map();
    this.#written.clear();
    return [...own.map(([, line]) => line), ...folded.values()];
  }
}

function fold(lines: Map<string, DenialLine>, line: DenialLine): void {
  const { status, code } = line.members;
  add(lines, code, { ...line, members: { status, code, folded: true } });
}

function add(lines: Map<string, DenialLine>, kind: string, line: DenialLine): void {
  const known = lines.get(kind);
  if (known === undefined) {
    lines.set(kind, line);
    return;
  }
  const [first, other] = known.firstAt <= line.firstAt ? [known, line] : [line, known];
  const last = first.lastAt >= other.lastAt ? first : other;
  const { lastAt, lastId } = last;
  lines.set(kind, { ...first, lastAt, lastId, count: known.count + line.count });
}

/** An address with a zone may be as long as its sender likes. */
const addressLengthMax = 64;

function membersOf(denial: Denial): DenialLine['members'] {
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

function entryOf({ members, firstAt, firstId, lastAt, lastId, count }: DenialLine): TimedEntry {
  const span =
    count === 1 ? {} : { last_request_id: lastId, over_ms: Math.round(lastAt - firstAt) };
  return {
    entry: { action: 'request.denied', ...members, count, request_id: firstId, ...span },
    age: performance.now() - firstAt,
  };
}

const minute = 60_000;
const writeDelay = 1_000;
const writeDelayMax = 15_000;

export class Denials {
  readonly #writer: Writer;
  /** Two counts, so that a flood of unknown callers does not hide what a credential tries. */
  readonly #unknown: MinuteOfDenials;
  readonly #known: MinuteOfDenials;
  /** What is being written, and what a write that failed has left. */
  #sending: readonly DenialLine[] = [];
  /** The lines may be committed: the answer to their commit was lost. */
  #isUnsure = false;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #isClosed = false;

  /**
   * @param length of what counts as a minute, in milliseconds
   * @param workers how many processes share the lines of a minute
   */
  constructor(writer: Writer, { length = minute, workers = 1 } = {}) {
    const linesMax = Math.ceil(limits.denialLinesPerMinute / workers);
    this.#writer = writer;
    this.#unknown = new MinuteOfDenials(length, linesMax);
    this.#known = new MinuteOfDenials(length, linesMax);
  }

  note(denial: Denial): void {
    (denial.credentialId === undefined ? this.#unknown : this.#known).note(denial);
    this.#schedule();
  }

  /** Writes everything. Returns how many denials it could not record. */
  async close(): Promise<number> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#writing;
    // One retry, because an answer may be lost. It does not wait for a database that is away.
    this.#failures = 0;
    while (this.#hasLines && this.#failures < 2) await this.#write();
    const left = [...this.#sending, ...this.#takeLines()];
    return left.reduce((sum, { count }) => sum + count, 0);
  }

  get #hasLines(): boolean {
    return this.#sending.length > 0 || !this.#unknown.isEmpty || !this.#known.isEmpty;
  }

  #takeLines(): readonly DenialLine[] {
    const isOver = this.#isClosed || undefined;
    return [...this.#unknown.take(isOver), ...this.#known.take(isOver)];
  }

  /** Every second, until the minute of the last denial is over. */
  #schedule(): void {
    if (this.#isClosed || this.#timer !== undefined || this.#writing !== undefined) return;
    const delay = Math.min(writeDelay * 2 ** this.#failures, writeDelayMax);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#write().finally(() => {
        this.#writing = undefined;
        if (this.#hasLines) this.#schedule();
      });
    }, delay);
  }

  /**
   * Lines that failed before are sent first and unchanged, so that the trail can recognise them.
   */
  async #write(): Promise<void> {
    if (this.#sending.length === 0) this.#sending = this.#takeLines();
    const [first] = this.#sending;
    if (first === undefined) return;
    const once = this.#isUnsure ? `"request_id":"${first.firstId}"` : undefined;
    try {
      await commitAll(this.#writer, [appendAudit(this.#sending.map(entryOf), once)]);
      this.#sending = [];
      this.#isUnsure = false;
      this.#failures = 0;
    } catch (error) {
      this.#isUnsure ||= !(error instanceof DatabaseFailure) || error.kind === 'lost';
      this.#failures += 1;
    }
  }
}
