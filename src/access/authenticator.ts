// From a token to a principal, by the database, on every request. Look-ups that wait at the same
// moment share one query; a request only joins a query that is not sent yet, for a query under way
// may have taken its snapshot before a revocation that the request came after.

import type { GrantedLocationId, Principal } from '../core/principal.ts';
import type { Reader } from '../core/statement.ts';
import { isGranted, principalOf } from './reach.ts';
import { type CredentialRow, findCredentials } from './store.ts';
import { hashToken, isToken } from './token.ts';

/** As many as the reserve has connections. More would only make the batches smaller. */
const queriesInFlightMax = 2;
const lookUpsPerQueryMax = 256;

export interface Authenticated {
  readonly principal: Principal;
  /** The location asked about, when it exists and is granted. */
  readonly location: GrantedLocationId | undefined;
}

/** Told of every use of a credential that is worth noting. */
export type NoteUse = (credential: { readonly merchant_id: string; readonly id: string }) => void;

interface LookUp {
  readonly tokenHash: Buffer;
  readonly locationId: string | undefined;
  resolve(row: CredentialRow | undefined): void;
  reject(error: unknown): void;
}

export class Authenticator {
  readonly #reader: Reader;
  readonly #noteUse: NoteUse;
  readonly #waiting: LookUp[] = [];
  #inFlight = 0;

  constructor(reader: Reader, noteUse: NoteUse) {
    this.#reader = reader;
    this.#noteUse = noteUse;
  }

  /** Undefined for every token that is not valid now, whatever the reason. */
  async authenticate(
    token: string,
    locationId: string | undefined,
  ): Promise<Authenticated | undefined> {
    if (!isToken(token)) return undefined;
    const tokenHash = hashToken(token);
    const row = await new Promise<CredentialRow | undefined>((resolve, reject) => {
      this.#waiting.push({ tokenHash, locationId, resolve, reject });
      this.#send();
    });
    if (row === undefined) return undefined;
    if (row.is_use_news) this.#noteUse(row);
    const granted = locationId !== undefined && isGranted(row, locationId);
    return {
      principal: principalOf(row),
      location: granted ? (locationId as GrantedLocationId) : undefined,
    };
  }

  #send(): void {
    if (this.#inFlight >= queriesInFlightMax || this.#waiting.length === 0) return;
    const batch = this.#waiting.splice(0, lookUpsPerQueryMax);
    this.#inFlight += 1;
    void this.#ask(batch).finally(() => {
      this.#inFlight -= 1;
      this.#send();
    });
  }

  async #ask(batch: readonly LookUp[]): Promise<void> {
    try {
      const rows = await this.#reader.query(findCredentials(batch));
      const byPosition = new Map(rows.map((row) => [row.position, row]));
      for (const [index, lookUp] of batch.entries()) lookUp.resolve(byPosition.get(index + 1));
    } catch (error) {
      for (const lookUp of batch) lookUp.reject(error);
    }
  }
}
