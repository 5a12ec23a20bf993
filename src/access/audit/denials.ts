// Whoever the service turned away leaves a line: who, what, when and from where. Lines are written
// in the background, so that no request waits for them or fails with them. What is alike within one
// write is one line that counts, and the detail of a flood is limited; the counts never are: their
// sum is the number of requests denied. A line holds IDs of what exists, and nothing a caller sent.

import type { Problem } from '../../core/problem.ts';
import { DatabaseFailure, type Writer } from '../../core/statement.ts';
import { commitAll } from '../transact.ts';
import { appendAudit } from './store.ts';
import { type Denial, entryOf, type Line, Tally } from './tally.ts';

/** What a denial can be read from: any request that was answered. */
interface AnsweredRequest extends Omit<Denial, 'code' | 'scope'> {
  readonly problem: Problem | undefined;
  readonly oauthError: string | undefined;
}

/** The OAuth errors that turn somebody away. The others say that a request is wrong. */
const oauthRefusals: readonly string[] = [
  'insufficient_scope',
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'invalid_token',
  'location_not_granted',
  'unauthorized_client',
];

/** Undefined when it was not denied: a caller who is known and only too fast is let in again. */
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

const writeDelay = 1_000;
const writeDelayMax = 15_000;

export class Denials {
  readonly #writer: Writer;
  /** Apart, so that a crowd of strangers does not hide what somebody with a credential tries. */
  readonly #strangers = new Tally();
  readonly #callers = new Tally();
  /** What is being written, and what a write that failed has left. */
  #sending: readonly Line[] = [];
  /** The lines may be there: the answer to their commit was lost. */
  #isUnsure = false;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #isClosed = false;

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  note(denial: Denial): void {
    const tally = denial.credentialId === undefined ? this.#strangers : this.#callers;
    tally.note(denial, performance.now());
    this.#schedule();
  }

  /** Writes what is noted. Returns how many denials it could not record. */
  async close(): Promise<number> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#writing;
    // Whoever lost an answer asks once more; a database that is away is not waited for.
    this.#failures = 0;
    while (this.#isBehind && this.#failures < 2) await this.#write();
    const left = [...this.#sending, ...this.#takeNoted()];
    return left.reduce((sum, { count }) => sum + count, 0);
  }

  get #isBehind(): boolean {
    return this.#sending.length > 0 || !this.#strangers.isEmpty || !this.#callers.isEmpty;
  }

  #takeNoted(): readonly Line[] {
    const now = performance.now();
    return [...this.#strangers.take(now), ...this.#callers.take(now)];
  }

  #schedule(): void {
    if (this.#isClosed || this.#timer !== undefined || this.#writing !== undefined) return;
    const delay = Math.min(writeDelay * 2 ** this.#failures, writeDelayMax);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#writing = this.#write().finally(() => {
        this.#writing = undefined;
        if (this.#isBehind) this.#schedule();
      });
    }, delay);
  }

  /** What failed before goes first, as it was: only then can it be told whether it is there. */
  async #write(): Promise<void> {
    if (this.#sending.length === 0) this.#sending = this.#takeNoted();
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
