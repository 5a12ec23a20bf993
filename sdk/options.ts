// What a caller may say beside the request itself.

export interface CallOptions {
  /** Ends the call, its retries included. */
  readonly signal?: AbortSignal | undefined;
  /** How long to try, in milliseconds; otherwise what the client was made with. */
  readonly budgetMs?: number | undefined;
}

export interface WriteOptions extends CallOptions {
  /** Names the write: 16 to 255 visible ASCII characters. Without it the call makes its own. */
  readonly idempotencyKey?: string | undefined;
}

export interface ChangeOptions extends WriteOptions {
  /** Change only this version of the record. */
  readonly ifMatch?: number | undefined;
}

/** The tokens of an application come and go; `refused` is the one that was answered with 401. */
export type TokenFunction = (refused?: string) => string | Promise<string>;

export interface ClientOptions {
  /** With the version: https://stock.example.com/api/v1 */
  readonly baseUrl: string;
  /** Null on a page of the service itself, where a cookie says who calls. */
  readonly token: string | TokenFunction | null;
  /** How long each call is tried, in milliseconds: 60,000 unless told otherwise. */
  readonly budgetMs?: number | undefined;
}
