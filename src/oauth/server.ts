// The authorization server between our routes and the library: it passes requests on and reports
// the answer. The first request that needs the library loads it, because most services never do
// and it costs 20 MB and a tenth of a second.

import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { type ConsentAnswer, type ConsentCall, ConsentHandler } from './consent/handler.ts';
import {
  createProvider,
  type Library,
  type ProviderOptions,
  sessionCookie,
  showError,
} from './provider.ts';

/** What was answered to a request. */
export interface OAuthOutcome {
  /** The OAuth error code that was answered. */
  error?: string;
  applicationId?: string;
  /** An exception that is not an OAuth error. */
  failure?: unknown;
}

/** An answer that replaces the library's. */
export interface ReplacementAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

interface Exchange {
  readonly outcome: OAuthOutcome;
  replace(outcome: OAuthOutcome): Promise<ReplacementAnswer | undefined>;
}

export class OAuthServer {
  readonly #callback: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  readonly #consent: ConsentHandler;
  readonly #exchanges = new WeakMap<IncomingMessage, Exchange>();

  constructor(library: Library, options: ProviderOptions) {
    const provider = createProvider(library, options);
    this.#watch(provider);
    this.#callback = provider.callback();
    const { errors } = library;
    this.#consent = new ConsentHandler(provider, errors, options);
  }

  /** Answers on `response`, whose headers are kept. `replace` may give another answer. */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    replace: Exchange['replace'],
  ): Promise<OAuthOutcome> {
    const exchange = { outcome: {}, replace };
    this.#exchanges.set(request, exchange);
    await this.#callback(request, response);
    return exchange.outcome;
  }

  /** The pages on which a person consents. */
  consent(call: ConsentCall): Promise<ConsentAnswer> {
    return this.#consent.answer(call);
  }

  #watch(provider: Provider): void {
    const noteError = (context: KoaContextWithOIDC, error: { readonly error?: string }) => {
      const outcome = this.#exchanges.get(context.req)?.outcome;
      if (outcome !== undefined && error.error !== undefined) outcome.error = error.error;
    };
    provider.on('authorization.error', noteError);
    provider.on('grant.error', noteError);
    provider.on('introspection.error', noteError);
    provider.on('revocation.error', noteError);
    provider.on('server_error', (context, error) => {
      const outcome = this.#exchanges.get(context.req)?.outcome;
      if (outcome !== undefined) Object.assign(outcome, { error: 'server_error', failure: error });
    });
    // The framework below the library would print the error once more.
    (provider as EventEmitter).on('error', () => undefined);
    provider.use(async (context, next) => {
      const { response_mode: mode = 'query' } = context.query;
      // The other modes of the library send a page with a script, or put the code into a fragment.
      if (mode === 'query') await next();
      else {
        context.status = 400;
        showError(context, 'invalid_request', 'response_mode can only be query');
      }
      const exchange = this.#exchanges.get(context.req);
      const applicationId = (context as Partial<KoaContextWithOIDC>).oidc?.client?.clientId;
      if (exchange !== undefined && applicationId !== undefined) {
        exchange.outcome.applicationId = applicationId;
      }
      const replacement = await exchange?.replace(exchange.outcome);
      if (replacement !== undefined) {
        context.status = replacement.status;
        context.set({ ...replacement.headers });
        context.body = replacement.body;
      }
      removeUnofferedHeaders(context.response);
    });
  }
}

/** Headers for other origins, and the cookie of a session: the service has neither. */
function removeUnofferedHeaders(response: {
  readonly headers: Readonly<Record<string, unknown>>;
  remove(name: string): void;
  set(name: string, values: string[]): void;
}): void {
  for (const name of Object.keys(response.headers)) {
    if (name.startsWith('access-control-') || name === 'vary') response.remove(name);
  }
  const cookies = [response.headers['set-cookie'] ?? []].flat().map(String);
  const ours = cookies.filter((cookie) => !cookie.startsWith(sessionCookie));
  if (ours.length === 0) response.remove('set-cookie');
  else if (ours.length < cookies.length) response.set('set-cookie', ours);
}

/**
 * Makes the authorization server when it is first needed, because only then is the issuer known.
 * The library prints a warning about versions of Node.js that have ended.
 */
export function oauthOnDemand(
  options: Omit<ProviderOptions, 'issuer'>,
): (issuer: string) => Promise<OAuthServer> {
  let server: Promise<OAuthServer> | undefined;
  return (issuer) => {
    server ??= import('oidc-provider').then(
      (library) => new OAuthServer(library, { ...options, issuer }),
    );
    // The next request tries again.
    server.catch(() => {
      server = undefined;
    });
    return server;
  };
}
