// What calls throw: a class for each kind of refusal, all with the code of the service.

import type { ErrorDetail, KnownCode } from './operations.ts';

/** Codes may be added: treat one that you do not know by its class. */
export type ErrorCode = KnownCode | 'connection_lost' | 'unexpected_answer' | (string & {});

interface Reason {
  readonly code: ErrorCode;
  readonly message: string;
  readonly status?: number | undefined;
  readonly details?: readonly ErrorDetail[];
  readonly requestId?: string | undefined;
  readonly operationId?: string | undefined;
  readonly retryable?: boolean;
  readonly retryAfter?: number | undefined;
  readonly cause?: unknown;
}

export class TallybookError extends Error {
  /** Stable: branch on it. */
  readonly code: ErrorCode;
  /** Undefined when there was no answer. */
  readonly status: number | undefined;
  /** Everything that is wrong, at once. */
  readonly details: readonly ErrorDetail[];
  readonly requestId: string | undefined;
  /** Of a refusal that is bound to the key: a new attempt needs a new key. */
  readonly operationId: string | undefined;
  /** Whether the same request with the same key may succeed later. */
  readonly retryable: boolean;
  /** The seconds that the service asked to wait. */
  readonly retryAfter: number | undefined;

  constructor(reason: Reason) {
    super(reason.message, { cause: reason.cause });
    this.name = new.target.name;
    this.code = reason.code;
    this.status = reason.status;
    this.details = reason.details ?? [];
    this.requestId = reason.requestId;
    this.operationId = reason.operationId;
    this.retryable = reason.retryable ?? false;
    this.retryAfter = reason.retryAfter;
  }
}

/** No answer: what became of a write is not known, until the same key has one. */
export class ConnectionError extends TallybookError {}
/** 401: the token is wrong, has ended or was revoked. */
export class AuthenticationError extends TallybookError {}
/** 403: the token may not do this. */
export class PermissionError extends TallybookError {}
/** 404 and 410: it is not there, or not any more. */
export class NotFoundError extends TallybookError {}
/** 409: the key was used for another request. */
export class ConflictError extends TallybookError {}
/** 412: the record is no longer at this version. */
export class VersionError extends TallybookError {}
/** 422: a rule refuses it, or values are wrong: see `details`. */
export class RefusedError extends TallybookError {}
/** 429: too many requests. */
export class RateLimitError extends TallybookError {}
/** 408 and 5xx: the service could not do it now. */
export class UnavailableError extends TallybookError {}
/** Any other 4xx: the request itself is wrong. */
export class RequestError extends TallybookError {}

const classes: Readonly<Record<number, typeof TallybookError>> = {
  401: AuthenticationError,
  403: PermissionError,
  404: NotFoundError,
  408: UnavailableError,
  409: ConflictError,
  410: NotFoundError,
  412: VersionError,
  422: RefusedError,
  429: RateLimitError,
};

/** The error that an answer stands for. */
export function errorOf(status: number, headers: Headers, body: unknown): TallybookError {
  const { error, error_description: words, meta } = Object(body);
  const isOurs = typeof error?.code === 'string' && typeof meta?.request_id === 'string';
  // A page of a proxy or of a hotel's network says nothing of the write.
  const isLost = status < 400 || status >= 500 || status === 408 || status === 429;
  const Kind = classes[status] ?? (isLost ? UnavailableError : RequestError);
  const known = isOurs
    ? { code: error.code, message: wordsOf(error), details: error.details }
    : { code: 'unexpected_answer', message: strange(status, headers) };
  // OAuth has another form.
  const reason = typeof error === 'string' ? { code: error, message: words ?? error } : known;
  return new Kind({
    ...reason,
    status,
    requestId: meta?.request_id,
    operationId: meta?.operation_id,
    retryable: isLost && (status < 300 || status >= 400),
    retryAfter: secondsOf(headers),
  });
}

/** With what is wrong first: some logs have the message only. */
function wordsOf({ message, details = [] }: { message: string; details?: ErrorDetail[] }): string {
  const some = details
    .slice(0, 3)
    .map(({ field = '', message: what }) => `${field} ${what}`.trim());
  const more = details.length > some.length ? [`and ${details.length - some.length} more`] : [];
  return some.length === 0 ? message : `${message} (${[...some, ...more].join('; ')})`;
}

function strange(status: number, headers: Headers): string {
  const place = headers.get('location');
  const leads = place === null ? '' : `, which leads to ${place},`;
  const kind = headers.get('content-type') ?? 'without a type';
  return (
    `The answer ${status} (${kind})${leads} is not one of Tallybook: something else is at ` +
    'baseUrl, or between here and there.'
  );
}

/** Retry-After in seconds. A date counts by the clock of whoever answered. */
function secondsOf(headers: Headers): number | undefined {
  const value = headers.get('retry-after');
  if (value === null || /^\d+$/.test(value)) return value === null ? undefined : Number(value);
  const seconds =
    (Date.parse(value) - (Date.parse(headers.get('date') ?? '') || Date.now())) / 1000;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
