// The error answers of the document. A status that answers with all the codes it can have is one
// shared component; where an endpoint has fewer of them, its answer names exactly those.

import { isRetryable, type ProblemCode, problemKinds, timedStatuses } from '../../core/problem.ts';
import { commonHeaderRefs } from './components.ts';
import {
  type ExampleObject,
  type HeaderObject,
  type Ref,
  type ResponseObject,
  refTo,
  type Schema,
} from './model.ts';
import { codesOfStatus, exampleAnswer } from './problems.ts';

export class ErrorResponses {
  readonly #responses = new Map<string, ResponseObject>();
  readonly #examples = new Map<ProblemCode, ExampleObject>();

  /** The answer of one status with these codes. A bound refusal names its operation. */
  answer(status: number, codes: readonly ProblemCode[], isWrite: boolean): ResponseObject | Ref {
    for (const code of codes)
      this.#examples.set(code, { summary: problemKinds[code].title, value: exampleAnswer(code) });
    const response = responseOf(status, codes, isWrite && mayBind(status));
    const isComplete = codes.length === codesOfStatus(status).length;
    if (!isComplete || mayBind(status)) return response;
    const name = nameOf(status, codes);
    this.#responses.set(name, response);
    return refTo('responses', name);
  }

  responses(): Readonly<Record<string, ResponseObject>> {
    return Object.fromEntries([...this.#responses].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  examples(): Readonly<Record<string, ExampleObject>> {
    return Object.fromEntries([...this.#examples].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

const severalCodes: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  403: 'Forbidden',
  503: 'Unavailable',
};

/** `not_found` is the response NotFound; a status with several codes has a name of its own. */
function nameOf(status: number, [code = '']: readonly string[]): string {
  const words = code.split('_').map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  return severalCodes[status] ?? words.join('');
}

/** Refusals by a state rule, which are bound to the key and replayed. */
const mayBind = (status: number): boolean => [410, 412, 422].includes(status);

function responseOf(
  status: number,
  codes: readonly ProblemCode[],
  isBound: boolean,
): ResponseObject {
  const schema = {
    allOf: [
      refTo('schemas', 'Error'),
      {
        type: 'object',
        properties: { error: { type: 'object', properties: codeAndRetry(status, codes) } },
      },
    ],
  };
  const examples = Object.fromEntries(codes.map((code) => [code, refTo('examples', code)]));
  return {
    description: codes.map((code) => `\`${code}\`: ${problemKinds[code].title}`).join('\n\n'),
    headers: headersOf(status, codes, isBound),
    content: { 'application/json': { schema, examples } },
  };
}

function codeAndRetry(status: number, codes: readonly ProblemCode[]): Schema {
  return {
    code: { type: 'string', enum: [...codes] },
    retryable: { type: 'boolean', const: isRetryable(status) },
  };
}

function headersOf(
  status: number,
  codes: readonly ProblemCode[],
  isBound: boolean,
): Record<string, HeaderObject | Ref> {
  const needsChallenge = status === 401 || codes.includes('insufficient_scope');
  return {
    ...commonHeaderRefs,
    ...(needsChallenge ? { 'WWW-Authenticate': challengeRef(status) } : {}),
    ...(status === 405 ? { Allow: refTo('headers', 'Allow') } : {}),
    ...(timedStatuses.includes(status) ? { 'Retry-After': refTo('headers', 'RetryAfter') } : {}),
    ...(isBound ? { 'Idempotent-Replayed': refTo('headers', 'IdempotentReplayed') } : {}),
  };
}

const challengeRef = (status: number): Ref =>
  refTo('headers', status === 401 ? 'Challenge' : 'ScopeChallenge');
