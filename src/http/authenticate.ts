// From the Authorization header to a principal, and what the principal must be allowed. One answer
// for every bad token, whatever is wrong with it, so that nobody learns which tokens once existed.

import type { IncomingHttpHeaders } from 'node:http';
import type { Authenticated, Authenticator } from '../access/authenticator.ts';
import { isToken } from '../access/token.ts';
import type { Principal, Scope } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';

const realm = 'Bearer realm="tallybook"';

/**
 * The token of a request, as far as its form tells.
 * @throws Problem authentication_required or invalid_token.
 */
export function bearerToken(headers: IncomingHttpHeaders): string {
  const { authorization } = headers;
  const [, token] = /^bearer(?: +(.*))?$/i.exec(authorization ?? '') ?? [undefined, undefined];
  if (authorization === undefined || !/^bearer(?: |$)/i.test(authorization)) {
    throw new Problem('authentication_required', { headers: { 'WWW-Authenticate': realm } });
  }
  if (token === undefined || !isToken(token)) throw invalidToken();
  return token;
}

/** @throws Problem invalid_token. */
export async function authenticate(
  authenticator: Authenticator,
  token: string,
  locationId: string | undefined,
): Promise<Authenticated> {
  const found = await authenticator.authenticate(token, locationId);
  if (found === undefined) throw invalidToken();
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

function invalidToken(): Problem {
  return new Problem('invalid_token', {
    headers: { 'WWW-Authenticate': `${realm}, error="invalid_token"` },
  });
}
