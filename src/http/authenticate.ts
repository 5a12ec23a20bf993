// From the Authorization header to a principal, and what the principal must be allowed. One answer
// for every bad token, whatever is wrong with it, so that nobody learns which tokens once existed;
// whoever sends too many is told to wait instead.

import type { FastifyRequest } from 'fastify';
import type { Authenticated, Authenticator } from '../access/authenticator.ts';
import type { FailedAuthentications } from '../access/rate/address.ts';
import type { RateLimiter } from '../access/rate/limiter.ts';
import type { KeyQuestion } from '../access/store.ts';
import { isToken } from '../access/token.ts';
import type { Principal, Scope } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';
import { judgeRate } from './rate-limit.ts';

/** What decides who is let in. */
export interface Door {
  readonly authenticator: Authenticator;
  readonly failures: FailedAuthentications;
  readonly limiter: RateLimiter;
}

const realm = 'Bearer realm="tallybook"';

/**
 * The token of a request, as far as its form tells.
 * @throws Problem authentication_required, invalid_token or rate_limited.
 */
export function bearerToken({ failures }: Door, request: FastifyRequest): string {
  const { authorization } = request.headers;
  const [, token] = /^bearer(?: +(.*))?$/i.exec(authorization ?? '') ?? [undefined, undefined];
  if (authorization === undefined || !/^bearer(?: |$)/i.test(authorization)) {
    throw new Problem('authentication_required', { headers: { 'WWW-Authenticate': realm } });
  }
  if (token === undefined || !isToken(token)) throw badToken(failures, request);
  return token;
}

/**
 * The caller, noted on the request, within its rate limits.
 * @throws Problem invalid_token or rate_limited.
 */
export async function authenticate(
  { authenticator, failures, limiter }: Door,
  request: FastifyRequest,
  token: string,
  locationId: string | undefined,
  key?: KeyQuestion,
): Promise<Authenticated> {
  const found = await authenticator.authenticate(token, locationId, key);
  if (found === undefined) throw badToken(failures, request);
  request.caller = found.principal;
  const judging = judgeRate(limiter, found.principal);
  const { headers, refusal } = judging instanceof Promise ? await judging : judging;
  request.limitHeaders = headers;
  if (refusal !== undefined) throw refusal;
  return found;
}

/** @throws Problem insufficient_scope. */
export function requireScope(principal: Principal, scope: Scope | null): void {
  if (scope === null || principal.scopes.has(scope)) return;
  throw new Problem('insufficient_scope', {
    headers: { 'WWW-Authenticate': `${realm}, error="insufficient_scope", scope="${scope}"` },
    details: [{ code: 'insufficient_scope', message: `needs the scope ${scope}`, scope }],
  });
}

function badToken(failures: FailedAuthentications, { ip }: FastifyRequest): Problem {
  return (
    failures.refusal(ip) ??
    new Problem('invalid_token', {
      headers: { 'WWW-Authenticate': `${realm}, error="invalid_token"` },
    })
  );
}
