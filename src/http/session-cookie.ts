// The cookie of a session, and where it counts: below /console, in requests of our own pages. Other
// sites cannot send it (SameSite), and what says it comes from elsewhere is refused all the same.

import type { FastifyRequest } from 'fastify';
import { isSessionToken } from '../access/token.ts';
import { Problem } from '../core/problem.ts';

const cookieName = 'tallybook_session';

/** What sets it; an empty token takes it away. The service says when it ends, not the browser. */
export function sessionCookie(token: string, isSecureOnly: boolean): string {
  const attributes = ['Path=/console', 'HttpOnly', 'SameSite=Strict'];
  if (isSecureOnly) attributes.push('Secure');
  if (token === '') attributes.push('Max-Age=0');
  return [`${cookieName}=${token}`, ...attributes].join('; ');
}

/**
 * The token in the cookie; undefined when it is none of ours.
 * @throws Problem authentication_required when there is no cookie.
 */
export function sessionToken(request: FastifyRequest): string | undefined {
  const values = cookiesOf(request);
  if (values.length > 0) return theOne(values);
  throw new Problem('authentication_required', { message: notSignedIn });
}

/** The same, where nobody need be signed in. */
export function anySessionToken(request: FastifyRequest): string | undefined {
  return theOne(cookiesOf(request));
}

function cookiesOf({ headers: { cookie = '' } }: FastifyRequest): readonly string[] {
  return cookie.split(';').flatMap((pair) => {
    const [name = '', value = ''] = pair.trim().split('=');
    return name === cookieName && value !== '' ? [value] : [];
  });
}

function theOne([token = '', ...others]: readonly string[]): string | undefined {
  return others.length === 0 && isSessionToken(token) ? token : undefined;
}

const notSignedIn = 'Nobody is signed in here.';

/** @throws Problem authentication_required */
export function requireSameOrigin(request: FastifyRequest, publicUrl: string | undefined): void {
  if (isOfOwnPage(request, publicUrl)) return;
  const message = 'A session counts in requests of the console alone: the Origin is another one.';
  throw new Problem('authentication_required', { message });
}

/**
 * A browser says where a request comes from with each that may change something, and, where the
 * page is secure, with all.
 */
export function isOfOwnPage(request: FastifyRequest, publicUrl: string | undefined): boolean {
  const { origin, host, 'sec-fetch-site': site } = request.headers;
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  const isOwn = origin === undefined ? isRead : origin === publicUrl || hostOf(origin) === host;
  const isSite = site === undefined || site === 'same-origin' || (isRead && site === 'none');
  return isOwn && isSite;
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

/** Whether people reach the service over TLS. */
export function isSecure(request: FastifyRequest, publicUrl: string | undefined): boolean {
  return request.protocol === 'https' || publicUrl?.startsWith('https:') === true;
}
