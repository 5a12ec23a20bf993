// An OAuth application and the person who consents, as clients of a running service: the
// application is a certified client library, the person a browser without scripts.

import { randomUUID } from 'node:crypto';
import * as client from 'openid-client';
import { createApplication } from '../../src/access/operator/applications.ts';
import type { Connections } from '../../src/access/transact.ts';
import type { Scope } from '../../src/core/principal.ts';

export interface GivenApplication {
  readonly id: string;
  readonly secret: string;
  readonly config: client.Configuration;
}

export const redirectUri = 'https://sync.example.com/callback';

/** Every request from an address of its own, so that nobody's guesses count for others. */
const customFetch: client.CustomFetch = (url, options) =>
  fetch(url, {
    ...(options as RequestInit),
    headers: { ...options.headers, 'x-forwarded-for': `10.${bytes().join('.')}` },
  });

const bytes = () =>
  [...randomUUID().replaceAll('-', '').slice(0, 6).matchAll(/../g)].map(([pair]) =>
    Number.parseInt(pair, 16),
  );

/** An application that the operator made, with what its library has found out about the service. */
export async function givenApplication(
  access: Connections,
  origin: string,
  may: { readonly scopes: readonly Scope[]; readonly redirectUris?: readonly string[] },
): Promise<GivenApplication> {
  const { application, secret = '' } = await createApplication(access, {
    name: 'Stock <Sync>',
    scopes: may.scopes,
    redirectUris: may.redirectUris ?? [],
    jwks: undefined,
  });
  const config = await discover(origin, application.id, client.ClientSecretBasic(secret));
  return { id: application.id, secret, config };
}

export function discover(
  origin: string,
  id: string,
  authentication: client.ClientAuth,
): Promise<client.Configuration> {
  return client.discovery(new URL(origin), id, undefined, authentication, {
    algorithm: 'oauth2',
    execute: [client.allowInsecureRequests],
    [client.customFetch]: customFetch,
  });
}

export interface Page {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A browser: it keeps cookies, follows what stays at the service, and sends forms. */
export class Browser {
  readonly #origin: string;
  readonly #cookies = new Map<string, { readonly value: string; readonly path: string }>();
  readonly #address = `10.${bytes().join('.')}`;
  /** Where it is. */
  url = '';

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** Another window of the same browser, at the same place. */
  copy(): Browser {
    const copy = new Browser(this.#origin);
    copy.url = this.url;
    for (const [name, cookie] of this.#cookies) copy.#cookies.set(name, cookie);
    return copy;
  }

  /** Whether it holds this cookie, and for which path. */
  cookiePath(name: string): string | undefined {
    return this.#cookies.get(name)?.path;
  }

  get(url: string): Promise<Page> {
    return this.#go(url, { method: 'GET' });
  }

  /** Sends the form of the page it is on. */
  submit(fields: readonly (readonly [string, string])[]): Promise<Page> {
    const body = new URLSearchParams(
      fields.map(([name, value]): [string, string] => [name, value]),
    );
    return this.#go(this.url, { method: 'POST', body });
  }

  /** Follows redirects until a page, or until they lead elsewhere: then `url` says where. */
  async #go(start: string, init: RequestInit): Promise<Page> {
    let next = { url: start, init };
    for (let steps = 0; steps < 10; steps += 1) {
      this.url = next.url;
      const { pathname } = new URL(next.url);
      const answer = await fetch(next.url, {
        ...next.init,
        redirect: 'manual',
        headers: {
          cookie: this.cookiesFor(pathname),
          'x-forwarded-for': this.#address,
          ...(next.init.method === 'POST' ? { origin: this.#origin } : {}),
        },
      });
      for (const line of answer.headers.getSetCookie()) this.keep(line);
      const location = answer.headers.get('location');
      const text = await answer.text();
      const [, onward] = /<meta http-equiv="refresh" content="0; url=([^"]+)">/.exec(text) ?? [];
      if (location === null && onward !== undefined) {
        next = { url: new URL(onward, next.url).href, init: { method: 'GET' } };
        continue;
      }
      if (location === null) return { status: answer.status, headers: answer.headers, text };
      const url = new URL(location, next.url).href;
      this.url = url;
      if (!url.startsWith(this.#origin)) {
        return { status: answer.status, headers: answer.headers, text };
      }
      next = { url, init: { method: 'GET' } };
    }
    throw new Error('redirected in a circle');
  }

  /** A cookie, as an answer sets it. */
  keep(line: string): void {
    const [pair = '', ...attributes] = line.split('; ');
    const [name = '', value = ''] = pair.split('=');
    const path = attributes.find((one) => /^path=/i.test(one))?.slice(5) ?? '/';
    if (value === '' || /expires=Thu, 01 Jan 1970/.test(line)) this.#cookies.delete(name);
    else this.#cookies.set(name, { value, path });
  }

  /** What it sends along to a path. */
  cookiesFor(pathname: string): string {
    return [...this.#cookies]
      .filter(([, { path }]) => pathname.startsWith(path))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');
  }
}

/** What an application starts a consent with, and what it needs to end it. */
export async function authorizationRequest(
  { config }: GivenApplication,
  parameters: Readonly<Record<string, string>>,
) {
  const verifier = client.randomPKCECodeVerifier();
  const state = client.randomState();
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state,
    ...parameters,
  });
  const exchange = (back: string) =>
    client.authorizationCodeGrant(config, new URL(back), {
      pkceCodeVerifier: verifier,
      expectedState: state,
    });
  return { url: url.href, exchange };
}
