// Finds the principal of the Authorization header, and checks its scopes. All bad tokens get the
// same answer, so that a caller cannot learn which tokens once existed. An address that sends too
// many bad tokens has to wait.

import type { FastifyRequest } from 'fastify';
import type { Callers } from '../access/cells.ts';
import type { AddressLimit } from '../access/rate/address.ts';
import type { RateLimiter } from '../access/rate/limiter.ts';
import { isToken } from '../access/token.ts';
import type { Principal, Scope } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';
import { checkRate, type RateCheck } from './rate-limit.ts';
import { requireSameOrigin, sessionToken } from './session-cookie.ts';

/** What decides whether a caller is admitted. */
export interface CallerChecks {
  readonly authenticator: Pick<Callers, 'authenticate'>;
  /** Counts bad credentials, and answers those beyond the limit instead of the 401. */
  readonly failures: AddressLimit;
  readonly limiter: RateLimiter;
}

const realm = 'Bearer realm="tallybook"';

/**
 * The token of a request; undefined when it has none of the right form.
 * @throws Problem authentication_required.
 */
function bearerToken({ headers: { authorization } }: FastifyRequest): string | undefined {
  if (authorization === undefined || !/^bearer(?: |$)/i.test(authorization)) {
    throw new Problem('authentication_required', { headers: { 'WWW-Authenticate': realm } });
  }
  const token = /^bearer +(.*)$/i.exec(authorization)?.[1];
  return token !== undefined && isToken(token) ? token : undefined;
}

/**
 * What says who calls: the bearer token, or, in a request of the console, the cookie.
 * @throws Problem authentication_required.
 */
export function callerToken(request: FastifyRequest): string | undefined {
  const { console: ours } = request.routeOptions.config;
  if (ours === undefined) return bearerToken(request);
  requireSameOrigin(request, ours.publicUrl);
  return sessionToken(request);
}

/**
 * One more invalid token from this address.
 * @throws Problem invalid_token, or rate_limited when there were too many.
 */
export async function refuseToken(failures: AddressLimit, { ip }: FastifyRequest): Promise<never> {
  const headers = { 'WWW-Authenticate': `${realm}, error="invalid_token"` };
  throw (await failures.refusal(ip)) ?? new Problem('invalid_token', { headers });
}

/** @throws Problem rate_limited. The caller learns its limits with every answer. */
export function requireWithinRate(
  limiter: RateLimiter,
  request: FastifyRequest,
  principal: Principal,
  requests: number,
): Promise<undefined> | undefined {
  const conclude = ({ headers, refusal }: RateCheck): undefined => {
    request.limitHeaders = headers;
    if (refusal !== undefined) throw refusal;
  };
  const checking = checkRate(limiter, principal, requests);
  return checking instanceof Promise ? checking.then(conclude) : conclude(checking);
}

/** @throws Problem insufficient_scope. */
export function requireScope(principal: Principal, scope: Scope | null): undefined {
  if (scope === null || principal.scopes.has(scope)) return;
  throw new Problem('insufficient_scope', {
    headers: { 'WWW-Authenticate': `${realm}, error="insufficient_scope", scope="${scope}"` },
    details: [{ code: 'insufficient_scope', message: `needs the scope ${scope}`, scope }],
  });
}
