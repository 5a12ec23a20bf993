// The tokens of an application that acts for itself (OAuth client credentials): one request for a
// token serves all callers that wait for it, and the next is made before the token ends.

import type { TokenFunction } from './options.ts';
import { exchange, persist } from './transport.ts';

export interface ClientCredentials {
  /** With the version: https://stock.example.com/api/v1 */
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Which of the approved scopes, with blanks between them; otherwise all. */
  readonly scope?: string | undefined;
  /** Which merchant, when several have approved the application. */
  readonly merchantId?: string | undefined;
  /** How long each call is tried, in milliseconds: 60,000 unless told otherwise. */
  readonly budgetMs?: number | undefined;
}

/** A token is replaced when this part of its life is over. */
const usableLife = 0.9;

export function tokensOf(credentials: ClientCredentials): TokenFunction {
  let known = { value: '', renewAt: 0 };
  let asking: Promise<void> | undefined;
  const ask = async () => {
    const asked = performance.now();
    const { access_token: value, expires_in: seconds } = await requestToken(credentials);
    known = { value, renewAt: asked + seconds * 1000 * usableLife };
  };
  return async (refused) => {
    if (known.value === refused || performance.now() >= known.renewAt) {
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      await asking;
    }
    return known.value;
  };
}

interface TokenAnswer {
  readonly access_token: string;
  readonly expires_in: number;
}

async function requestToken(credentials: ClientCredentials): Promise<TokenAnswer> {
  const { baseUrl, clientId, clientSecret, scope, merchantId, budgetMs = 60_000 } = credentials;
  const words = new URLSearchParams({ grant_type: 'client_credentials' });
  if (scope !== undefined) words.set('scope', scope);
  if (merchantId !== undefined) words.set('merchant_id', merchantId);
  const name = btoa(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`);
  const init = {
    method: 'POST',
    headers: {
      authorization: `Basic ${name}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: words.toString(),
  };
  const url = new URL('/oauth/token', baseUrl).href;
  return persist(budgetMs, undefined, async (leftMs) => {
    const { body } = await exchange(url, init, leftMs);
    return body as unknown as TokenAnswer;
  });
}
