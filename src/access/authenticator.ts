// Finds the principal of a token in the database, on every request. Look-ups that wait at the same
// moment share one query. A request joins only a query that is not sent yet, because a query that
// is running may have a snapshot from before a revocation, although the request came after it.

import type { Operation } from '../contract/endpoint.ts';
import type { GrantedLocationId, Principal } from '../core/principal.ts';
import type { Reader } from '../core/statement.ts';
import { isGranted, principalOf } from './principal.ts';
import {
  type BoundOperation,
  type CredentialRow,
  findCredentials,
  type KeyQuestion,
} from './store.ts';
import { hashToken, isOAuthToken, isSessionToken } from './token.ts';

/** As many as the reserve has connections. More would only make the batches smaller. */
const queriesAtOnceMax = 2;
const lookUpsPerQueryMax = 256;

export interface Authenticated {
  readonly principal: Principal;
  /** The location asked about, when it exists and is granted. */
  readonly location: GrantedLocationId | undefined;
  /** What the key asked about is bound to, if it is. */
  readonly bound: Operation | undefined;
}

/** What was found in the cell that was asked. Where the merchant is in another one, nothing is. */
export interface FoundCaller extends Authenticated {
  /** In which the merchant's data is. */
  readonly cell: string;
}

/** What one query says to all that share it. */
interface Answer {
  readonly principal: Principal;
  readonly cell: string;
  readonly location: GrantedLocationId | undefined;
  readonly bound: readonly BoundOperation[];
}

/** Called for every use of a credential that is worth noting. */
export type NoteUse = (credential: {
  readonly merchant_id: string;
  readonly id: string;
  /** Of a session: the hash of its token. */
  readonly session?: Buffer | undefined;
}) => void;

/** One question: a token, and the location that its request names. Keys may join it. */
class LookUp {
  readonly token: string;
  readonly locationId: string | undefined;
  readonly keys: KeyQuestion[] = [];
  /** Undefined: the token is not valid. */
  readonly answer: Promise<Answer | undefined>;
  resolve: (answer: Answer | undefined) => void = () => undefined;
  reject: (error: unknown) => void = () => undefined;

  constructor(token: string, locationId: string | undefined) {
    this.token = token;
    this.locationId = locationId;
    this.answer = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }
}

export class Authenticator {
  readonly #reader: Reader;
  readonly #noteUse: NoteUse;
  /** Equal questions share one answer: most requests of a moment come from few callers. */
  readonly #waiting = new Map<string, LookUp>();
  #queriesRunning = 0;
  #isScheduled = false;

  constructor(reader: Reader, noteUse: NoteUse) {
    this.#reader = reader;
    this.#noteUse = noteUse;
  }

  /** Undefined for every token that is not valid now, whatever the reason. */
  async authenticate(
    token: string,
    locationId: string | undefined,
    key?: KeyQuestion,
  ): Promise<FoundCaller | undefined> {
    // No token holds a blank.
    const question = locationId === undefined ? token : `${token} ${locationId}`;
    let lookUp = this.#waiting.get(question);
    if (lookUp === undefined) {
      lookUp = new LookUp(token, locationId);
      this.#waiting.set(question, lookUp);
      this.#schedule();
    }
    if (key !== undefined) lookUp.keys.push(key);
    const answer = await lookUp.answer;
    if (answer === undefined) return undefined;
    const { principal, cell, location } = answer;
    return { principal, cell, location, bound: key && boundTo(key, answer.bound) };
  }

  /** Asks after all requests that have arrived were read: this delays none, and saves queries. */
  #schedule(): void {
    if (this.#isScheduled || this.#queriesRunning >= queriesAtOnceMax) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const batch = [...this.#waiting].slice(0, lookUpsPerQueryMax);
      for (const [question] of batch) this.#waiting.delete(question);
      this.#queriesRunning += 1;
      void this.#ask(batch.map(([, lookUp]) => lookUp)).finally(() => {
        this.#queriesRunning -= 1;
        if (this.#waiting.size > 0) this.#schedule();
      });
      if (this.#waiting.size > 0) this.#schedule();
    });
  }

  async #ask(batch: readonly LookUp[]): Promise<void> {
    try {
      const asked = batch.map(({ token, locationId, keys }) => ({
        tokenHash: hashToken(token),
        isOAuth: isOAuthToken(token),
        locationId,
        keys,
      }));
      const rows = await this.#reader.query(findCredentials(asked));
      const byPosition = new Map(rows.map((row) => [row.position, row]));
      for (const [index, lookUp] of batch.entries()) {
        lookUp.resolve(this.#admitted(byPosition.get(index), lookUp));
      }
    } catch (error) {
      for (const lookUp of batch) lookUp.reject(error);
    }
  }

  #admitted(row: CredentialRow | undefined, { token, locationId }: LookUp): Answer | undefined {
    if (row === undefined) return undefined;
    if (row.is_use_news) {
      const session = isSessionToken(token) ? hashToken(token) : undefined;
      this.#noteUse({ merchant_id: row.merchant_id, id: row.id, session });
    }
    return {
      principal: principalOf(row),
      cell: row.cell,
      location: locationId !== undefined && isGranted(row, locationId) ? locationId : undefined,
      bound: row.bound ?? [],
    };
  }
}

function boundTo(
  { type, keyHash }: KeyQuestion,
  bound: readonly BoundOperation[],
): Operation | undefined {
  if (bound.length === 0) return undefined;
  const hash = `\\x${keyHash.toString('hex')}`;
  const found = bound.find((row) => row.type === type && row.key_hash === hash);
  if (found === undefined) return undefined;
  const fingerprint = Buffer.from(found.fingerprint.slice(2), 'hex');
  return { ...found, key_hash: keyHash, fingerprint };
}
