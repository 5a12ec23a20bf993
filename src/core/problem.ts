// The one table of everything that can go wrong, and the one error class that carries it.
// A code is stable forever: clients branch on it. Status, retry advice and the error pages
// (docs/integrate/errors.md, the OpenAPI document) are all read from here.

/** The very same request may succeed later. */
const passingStatuses = [408, 429, 500, 503, 504] as const;

/** Answers with these statuses say in `Retry-After` when to come back. */
export const timedStatuses: readonly number[] = [429, 503, 504];

/** What a code means: its HTTP status, a short title, and what the caller should do about it. */
type ProblemKind = Refusal | Passing;

interface Refusal {
  readonly status: number;
  readonly title: string;
  readonly advice: string;
}

/** What to do follows from the status: see `adviceOf`. */
interface Passing {
  readonly status: (typeof passingStatuses)[number];
  readonly title: string;
}

const newKey = 'The refusal is bound to the key: a new attempt needs a new Idempotency-Key.';

export const problemKinds = {
  malformed_request: {
    status: 400,
    title: 'The HTTP message itself is wrong.',
    advice: 'Send one valid HTTP/1.1 request: one Host, one Authorization, one Idempotency-Key.',
  },
  idempotency_key_required: {
    status: 400,
    title: 'A write needs the header Idempotency-Key.',
    advice: 'Make one key per logical operation and send it with every attempt of it.',
  },
  idempotency_key_invalid: {
    status: 400,
    title: 'The Idempotency-Key is not 16 to 255 visible ASCII characters.',
    advice: 'Use for example a UUID. Blanks, tabs and non-ASCII characters are not allowed.',
  },
  invalid_json: {
    status: 400,
    title: 'The body is not one strict JSON object.',
    advice:
      'Send UTF-8 JSON: one object, no member twice, no lone surrogates, at most 8 deep, and ' +
      'at most 160 values in it. Bodies with lists of lines may have more: their routes say ' +
      'how many lines.',
  },
  missing_parameter: {
    status: 400,
    title: 'A required query parameter is missing.',
    advice: 'Add the parameter that details names.',
  },
  invalid_parameter: {
    status: 400,
    title: 'A query parameter has a value that is not allowed.',
    advice: 'Correct the parameters that details names.',
  },
  unknown_parameter: {
    status: 400,
    title: 'A query parameter is not known to this route.',
    advice: 'Correct the spelling: a misspelt filter never widens a result here.',
  },
  journal_mismatch: {
    status: 400,
    title: 'The position is not one of this journal.',
    advice:
      'The merchant was restored from a backup since the position was given, or it was never ' +
      'given. Read everything again, from position 0.',
  },
  invalid_cursor: {
    status: 400,
    title: 'The cursor does not belong to this request.',
    advice:
      'Pass meta.next_cursor back unchanged, with the same filters, or start over without it.',
  },
  authentication_required: {
    status: 401,
    title: 'The request carries no bearer credential.',
    advice: 'Send the header Authorization: Bearer <token>.',
  },
  invalid_token: {
    status: 401,
    title: 'The token is not valid.',
    advice: 'It may be mistyped, expired or revoked. Use another token.',
  },
  insufficient_scope: {
    status: 403,
    title: 'The credential lacks the scope this route needs.',
    advice: 'Ask the operator for a credential with the scope that details names.',
  },
  location_not_granted: {
    status: 403,
    title: 'The location is not granted to the credential, or does not exist.',
    advice: 'Use a location that GET /credential lists, or ask the operator for a grant.',
  },
  not_found: {
    status: 404,
    title: 'There is nothing here that this credential can see.',
    advice: 'Check the path and the ID.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The path exists, but not with this method.',
    advice: 'Use one of the methods of the Allow header.',
  },
  not_acceptable: {
    status: 406,
    title: 'The Accept header excludes JSON.',
    advice: 'Accept application/json, or leave the header out.',
  },
  request_timeout: {
    status: 408,
    title: 'The request took too long to arrive.',
  },
  webhook_secret_unreadable: {
    status: 409,
    title: 'The secret of the webhook cannot be decrypted.',
    advice: 'The secret of the service has changed. Make another with rotate_secret.',
  },
  idempotency_key_reused: {
    status: 409,
    title: 'The Idempotency-Key was used before with a different request.',
    advice: 'Nothing was done. Use a new key for a new operation; details name the first one.',
  },
  resource_erased: {
    status: 410,
    title: 'The resource was erased for privacy.',
    advice: 'It will not come back. Remove your reference to it.',
  },
  version_retired: {
    status: 410,
    title: 'This version of the interface is retired.',
    advice: 'Move to the version that the documentation names.',
  },
  precondition_failed: {
    status: 412,
    title: 'The resource is no longer at the version that If-Match names.',
    advice: `Read it again and decide anew. ${newKey}`,
  },
  content_too_large: {
    status: 413,
    title: 'The body is larger than this route takes.',
    advice: 'Send at most 64 KiB, or what the description of the route says.',
  },
  uri_too_long: {
    status: 414,
    title: 'The URL is too long.',
    advice: 'Send at most 8 KiB; split a long list of filters over several requests.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The body is not declared as JSON.',
    advice: 'Send Content-Type: application/json, without a Content-Encoding.',
  },
  expectation_failed: {
    status: 417,
    title: 'The Expect header asks for something this service does not do.',
    advice: 'Only Expect: 100-continue is known. Leave the header out.',
  },
  validation_failed: {
    status: 422,
    title: 'The body has missing, unknown or unusable values.',
    advice:
      'Correct the fields that details names; all of them are named at once. What only the rows ' +
      'of this moment show, such as decimals that a unit does not have, is bound to the key: see ' +
      'meta.operation_id.',
  },
  inventory_no_change: {
    status: 422,
    title: 'The target equals the current quantity.',
    advice: `There is nothing to adjust; details give current_quantity. ${newKey}`,
  },
  inventory_quantity_mismatch: {
    status: 422,
    title: 'The current quantity is not the expected_quantity.',
    advice: `Someone moved it in between; details give current_quantity. ${newKey}`,
  },
  insufficient_quantity: {
    status: 422,
    title: 'Less is available than the lines take.',
    advice: `Details give the available_quantity of each line that lacks something. ${newKey}`,
  },
  reservation_not_active: {
    status: 422,
    title: 'The reservation has ended.',
    advice: `It is fulfilled, released or expired, as the status in details says. ${newKey}`,
  },
  product_not_found: {
    status: 422,
    title: 'The product in the body does not exist.',
    advice: `Check product_id. ${newKey}`,
  },
  product_archived: {
    status: 422,
    title: 'The product is archived.',
    advice: `Set its status to active first. ${newKey}`,
  },
  inventory_not_tracked: {
    status: 422,
    title: 'The inventory of this product is not tracked.',
    advice: `Set inventory_tracked first. ${newKey}`,
  },
  location_inactive: {
    status: 422,
    title: 'The location is inactive.',
    advice: `Set its status to active first. ${newKey}`,
  },
  sku_taken: {
    status: 422,
    title: 'Another product of this merchant has this SKU.',
    advice: `Archived products keep theirs. ${newKey}`,
  },
  code_taken: {
    status: 422,
    title: 'Another location of this merchant has this code.',
    advice: `Inactive locations keep theirs. ${newKey}`,
  },
  external_id_taken: {
    status: 422,
    title: 'Another resource of this type has this external ID.',
    advice: `Archived ones keep theirs. ${newKey}`,
  },
  name_taken: {
    status: 422,
    title: 'Another person of this merchant has this name.',
    advice: `Names tell people apart: add a letter. Those who are revoked keep none. ${newKey}`,
  },
  last_owner: {
    status: 422,
    title: 'The merchant would be left without an owner.',
    advice: `Invite another owner first. ${newKey}`,
  },
  access_ended: {
    status: 422,
    title: 'The person is revoked, or the token is revoked or has ended.',
    advice: `Invite the person again, or make another token. ${newKey}`,
  },
  token_of_application: {
    status: 422,
    title: 'What an application may do is not changed here.',
    advice: `It can be revoked here. The operator says what it is approved for. ${newKey}`,
  },
  webhook_limit_reached: {
    status: 422,
    title: 'The merchant has as many active webhooks as it can have.',
    advice: `Pause one first. ${newKey}`,
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests.',
  },
  headers_too_large: {
    status: 431,
    title: 'The headers are too large.',
    advice: 'Send at most 16 KiB and 100 header lines.',
  },
  internal_error: {
    status: 500,
    title: 'Something unexpected happened.',
  },
  operation_in_progress: {
    status: 503,
    title: 'What this write needs is still held by another one.',
  },
  service_unavailable: {
    status: 503,
    title: 'The service is overloaded or its database is away.',
  },
  timeout: {
    status: 504,
    title: 'The request did not finish within its deadline.',
  },
} as const satisfies Record<string, ProblemKind>;

export type ProblemCode = keyof typeof problemKinds;

/** The codes of single fields inside `details`, besides the problem codes themselves. */
export const detailKinds = {
  required: 'It is missing, or null where it cannot be.',
  unknown_field: 'It is not known here.',
  read_only: 'It is set by the service and cannot be sent.',
  invalid_type: 'It has another JSON type than the one asked for.',
  invalid_format: 'Its characters do not have the form asked for.',
  value_not_allowed: 'It is not one of the values allowed here.',
  unknown_value: 'It names something that does not exist, such as a time zone.',
  invalid_email: 'It is not an e-mail address.',
  too_short: 'It has too few characters.',
  too_long: 'It has too many characters.',
  too_many: 'It is given too often, or has too many members.',
  too_large: 'The number is too large.',
  must_not_be_negative: 'The number is below zero.',
  must_be_positive: 'The number is zero.',
  repeated: 'Another line names it, too.',
  too_many_decimal_places: 'The number has more decimals than are kept; nothing is rounded.',
  not_repeatable: 'The parameter was given more than once.',
  malformed: 'The cursor is not one of this route and merchant.',
  filter_mismatch: 'The cursor was issued for other filters.',
} as const;

export type DetailCode = keyof typeof detailKinds | ProblemCode;

/** One entry of `error.details`: which field (a path such as `query.limit`), why, and extras. */
export interface Detail {
  readonly code: DetailCode;
  readonly message: string;
  readonly field?: string;
  readonly [extra: string]: unknown;
}

/** What may accompany a problem besides its code. */
interface ProblemOptions {
  readonly message?: string;
  readonly details?: readonly Detail[];
  readonly headers?: Readonly<Record<string, string>>;
  /** The operation that this refusal consumed or ran into. */
  readonly operationId?: string;
  readonly replayed?: boolean;
  readonly cause?: unknown;
}

/**
 * An expected refusal. Message and details are public; `cause` is logged and never sent.
 */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly details: readonly Detail[];
  readonly headers: Readonly<Record<string, string>>;
  readonly operationId: string | undefined;
  readonly replayed: boolean;

  constructor(code: ProblemCode, options: ProblemOptions = {}) {
    super(options.message ?? problemKinds[code].title, { cause: options.cause });
    this.name = 'Problem';
    this.code = code;
    this.details = options.details ?? [];
    this.headers = options.headers ?? {};
    this.operationId = options.operationId;
    this.replayed = options.replayed ?? false;
  }

  get status(): number {
    return problemKinds[this.code].status;
  }
}

/** Whether the very same request may succeed later. */
export const isRetryable = (status: number): boolean =>
  passingStatuses.some((passing) => passing === status);

/** What the caller should do about it. */
export function adviceOf(code: ProblemCode): string {
  const kind: ProblemKind = problemKinds[code];
  if ('advice' in kind) return kind.advice;
  const again = 'end the same request again, with the same Idempotency-Key if it is a write.';
  return timedStatuses.includes(kind.status)
    ? `Wait for the seconds of Retry-After, then s${again}`
    : `S${again}`;
}

/** One to three seconds at random: those who are refused together do not come back together. */
export function retryLater() {
  return { 'Retry-After': String(1 + Math.floor(Math.random() * 3)) };
}

/** 503: the caller should try again later. */
export function overloaded(cause?: unknown): Problem {
  return new Problem('service_unavailable', { headers: retryLater(), cause });
}
