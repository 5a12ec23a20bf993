// The authorization server as the HTTP edge sees it: requests in, answers and what became of them
// out. The library is loaded by the first request that needs it: most services never do, and it
// costs 20 MB and a tenth of a second.

import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { limits } from '../../core/limits.ts';
import { type ConsentAnswer, type ConsentCall, ConsentDesk } from '../consent/desk.ts';
import { AddressLimit } from '../rate/address.ts';
import {
  createProvider,
  type Library,
  type ProviderOptions,
  sessionCookie,
  showError,
} from './provider.ts';

/** What became of a request. */
export interface Outcome {
  /** The OAuth error code that was answered. */
  error?: string;
  applicationId?: string;
  /** An exception nobody meant to answer with. */
  failure?: unknown;
}

/** An answer to give instead of the library's. */
export interface Revision {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

interface Exchange {
  readonly outcome: Outcome;
  revise(outcome: Outcome): Revision | undefined;
}

export class OAuthServer {
  readonly #callback: (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  readonly #desk: ConsentDesk;
  readonly #exchanges = new WeakMap<IncomingMessage, Exchange>();

  constructor(library: Library, options: ProviderOptions) {
    const provider = createProvider(library, options);
    this.#watch(provider);
    this.#callback = provider.callback();
    const { errors } = library;
    this.#desk = new ConsentDesk(provider, errors, options.reader, options.writer);
  }

  /** Answers on `response`, unless `revise` knows better. Headers set on it before are kept. */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    revise: Exchange['revise'],
  ): Promise<Outcome> {
    const exchange = { outcome: {}, revise };
    this.#exchanges.set(request, exchange);
    await this.#callback(request, response);
    return exchange.outcome;
  }

  /** The pages on which a person consents. */
  consent(call: ConsentCall): Promise<ConsentAnswer> {
    return this.#desk.answer(call);
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
    // The framework beneath the library would print what has been noted already.
    (provider as EventEmitter).on('error', () => undefined);
    provider.use(async (context, next) => {
      const { response_mode: mode = 'query' } = context.query;
      // The library's other modes are a page with a script, or put the code into a fragment.
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
      const revision = exchange?.revise(exchange.outcome);
      if (revision !== undefined) {
        context.status = revision.status;
        context.set({ ...revision.headers });
        context.body = revision.body;
      }
      withoutWhatWeDoNotOffer(context.response);
    });
  }
}

/** Access from other origins, and the cookie of a session that does not exist. */
function withoutWhatWeDoNotOffer(response: {
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
 * The authorization server, made when it is first asked for: only then is the issuer known, and the
 * library needed. It warns on the console about versions of Node.js past their end.
 */
export function oauthOnDemand(
  options: Omit<ProviderOptions, 'issuer' | 'pace'>,
): (issuer: string) => Promise<OAuthServer> {
  const pace = new AddressLimit(limits.applicationTokensPerMinute, 'Too many tokens.');
  let server: Promise<OAuthServer> | undefined;
  return (issuer) => {
    server ??= import('oidc-provider').then(
      (library) => new OAuthServer(library, { ...options, issuer, pace }),
    );
    // What failed once may succeed later.
    server.catch(() => {
      server = undefined;
    });
    return server;
  };
}
