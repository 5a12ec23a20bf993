// Renders all answers: the envelope, X-Request-Id on everything, and every error in one form. What
// is not a Problem is an unexpected failure: its cause is logged, never sent.

import type { FastifyReply } from 'fastify';
import { ordinaryBody } from '../contract/contract.ts';
import { isRetryable, overloaded, Problem, retryLater } from '../core/problem.ts';
import { DatabaseFailure } from '../core/statement.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Errors of this route have OAuth's form. */
    isOAuth?: boolean;
    /** It belongs to the console: a session counts here, and no bearer token. */
    console?: { readonly publicUrl: string | undefined };
  }
}

export const jsonType = 'application/json; charset=utf-8';

/** Headers of every answer. */
export function commonHeaders(requestId: string): Record<string, string> {
  return {
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  };
}

/** What a handler gives back to be sent. 304 has no body. */
export interface Success {
  readonly status: 200 | 201 | 304;
  readonly data?: object;
  readonly meta?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

export function sendSuccess(reply: FastifyReply, success: Success): FastifyReply {
  void reply.code(success.status).headers(success.headers ?? {});
  if (success.status === 304) return reply.send();
  const body = { data: success.data, meta: { request_id: reply.request.id, ...success.meta } };
  const text = JSON.stringify(body);
  // Old promises refer to the items of a list, as they do to what it was made of: see `letGo`.
  if (Array.isArray(success.data)) success.data.length = 0;
  return reply.type(jsonType).send(text);
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  const { routeOptions, knownPath } = reply.request;
  const isOAuth = routeOptions?.config?.isOAuth === true || knownPath?.isOAuth === true;
  return reply
    .code(problem.status)
    .headers(problemHeaders(problem))
    .type(jsonType)
    .send(
      isOAuth ? JSON.stringify(oauthErrorBody(problem)) : problemBody(problem, reply.request.id),
    );
}

/** A problem as OAuth's endpoints say it (RFC 6749, section 5.2): `error` is a text there. */
export function oauthErrorBody(problem: Problem): object {
  return { error: oauthErrorOf(problem.status), error_description: problem.message };
}

function oauthErrorOf(status: number): string {
  if (isRetryable(status)) return status === 500 ? 'server_error' : 'temporarily_unavailable';
  return status === 401 ? 'invalid_client' : 'invalid_request';
}

export function problemHeaders(problem: Problem): Record<string, string> {
  return {
    ...problem.headers,
    ...(problem.replayed ? { 'Idempotent-Replayed': 'true' } : {}),
  };
}

/** The body of an error. */
export function problemBody(problem: Problem, requestId: string): string {
  return JSON.stringify(problemAnswer(problem, requestId));
}

/** An error as it is answered. It carries nothing but the problem's public parts. */
export function problemAnswer(problem: Problem, requestId: string) {
  const { code, message, status, details, operationId } = problem;
  const bound =
    operationId === undefined || status >= 500 || status === 410
      ? ''
      : ' This outcome is bound to the Idempotency-Key: a new attempt needs a new key.';
  return {
    error: {
      code,
      message: message + bound,
      retryable: isRetryable(status),
      doc_url: `/docs/errors#${code}`,
      details,
    },
    meta: {
      request_id: requestId,
      ...(operationId === undefined ? {} : { operation_id: operationId }),
    },
  };
}

/** Any failure as the Problem to answer. `bodyBytesMax` is what its route takes. */
export function problemOf(error: unknown, bodyBytesMax: number = ordinaryBody.bytes): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof DatabaseFailure && error.kind !== 'refused') {
    if (error.kind !== 'timeout') return overloaded(error);
    return new Problem('timeout', { headers: retryLater(), cause: error });
  }
  return frameworkProblem(error, bodyBytesMax) ?? new Problem('internal_error', { cause: error });
}

/** What the framework refuses before a handler runs. */
function frameworkProblem(error: unknown, bodyBytesMax: number): Problem | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return bodyTooLarge(bodyBytesMax, { Connection: 'close' });
  }
  const isClientFault =
    'statusCode' in error && typeof error.statusCode === 'number' && error.statusCode < 500;
  if (!isClientFault && error.code !== 'ECONNRESET') return undefined;
  return new Problem('malformed_request', { headers: { Connection: 'close' }, cause: error });
}

/** Says how much the route takes. */
export function bodyTooLarge(most: number, headers: Readonly<Record<string, string>> = {}) {
  const size = most % 2 ** 20 === 0 ? `${most / 2 ** 20} MiB` : `${most / 2 ** 10} KiB`;
  return new Problem('content_too_large', {
    message: `The body is larger than this route takes: ${size}.`,
    headers,
  });
}
