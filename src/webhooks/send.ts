// One call of a receiver, within limits that no receiver can stretch. Each new connection is
// judged by the address it really goes to; one that is used again was judged when it was made, for
// the same host and port. No proxy and no setting of the environment takes part. Loading undici
// takes 100 ms of processor time: whoever may do without it loads this file when it is needed.

import { type LookupOptions, lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { Agent, buildConnector, errors, Pool, request } from 'undici';
import { limits } from '../core/limits.ts';
import { type ConnectionTarget, type Destinations, literalOf } from './address.ts';
import type { CallFailure } from './failures.ts';

export interface CallOutcome {
  /** Null: none came. It may be there although the call failed. */
  readonly status: number | null;
  readonly milliseconds: number;
  /** Null: a success. */
  readonly failure: CallFailure | null;
}

export interface Call {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
}

export class WebhookSender {
  readonly #agent: Agent;

  /** The look-up of names gets options and answers as that of `node:dns`. */
  constructor(destinations: Destinations, lookup: LookupFunction = systemLookup) {
    this.#agent = new Agent({
      keepAliveMaxTimeout: limits.webhookIdleMax,
      factory: (origin, options) =>
        new Pool(origin, {
          ...options,
          connect: guardedConnector(new URL(origin), destinations, lookup),
        }),
    });
  }

  /** Never throws for what a receiver or a network does. */
  async send({ url, headers, body }: Call): Promise<CallOutcome> {
    const started = performance.now();
    const signal = AbortSignal.timeout(limits.webhookCallTimeout);
    let status: number | null = null;
    const outcome = (failure: CallFailure | null): CallOutcome => ({
      status,
      milliseconds: Math.round(performance.now() - started),
      failure,
    });
    try {
      const answer = await request(url, {
        dispatcher: this.#agent,
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', 'user-agent': 'Tallybook' },
        body,
        signal,
      });
      status = answer.statusCode;
      await discard(answer.body);
    } catch (error) {
      return outcome(signal.aborted ? 'timeout' : failureOf(error));
    }
    if (status >= 200 && status < 300) return outcome(null);
    return outcome(status >= 300 && status < 400 ? 'redirect' : 'status');
  }

  /** Ends all calls at once. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** The address is not repeated: it would tell about the network of the service. */
class AddressNotAllowed extends Error {
  override readonly name = 'AddressNotAllowed';
}

function guardedConnector(
  target: ConnectionTarget,
  destinations: Destinations,
  lookup: LookupFunction,
): buildConnector.connector {
  const isAllowed = (address: string) => destinations.permits(target, address);
  const connect = buildConnector({
    timeout: limits.webhookCallTimeout,
    lookup: guardedLookup(lookup, isAllowed),
    // Otherwise NODE_TLS_REJECT_UNAUTHORIZED could switch it off.
    rejectUnauthorized: true,
  });
  const literal = literalOf(target);
  // Nothing looks up what is an address already.
  if (literal === undefined || isAllowed(literal)) return connect;
  return (_, callback) => callback(new AddressNotAllowed(), null);
}

/** Only the addresses that may be connected to. */
function guardedLookup(
  lookup: LookupFunction,
  isAllowed: (address: string) => boolean,
): LookupFunction {
  return (hostname, options, callback) => {
    const all: LookupOptions = { ...options, all: true };
    lookup(hostname, all, (error, found, family) => {
      if (error !== null) return callback(error, found, family);
      const addresses =
        typeof found === 'string' ? [{ address: found, family: family ?? 0 }] : found;
      const allowed = addresses.filter(({ address }) => isAllowed(address));
      const [first] = allowed;
      if (first === undefined) return callback(new AddressNotAllowed(), []);
      if (options.all === true) return callback(null, allowed);
      callback(null, first.address, first.family);
    });
  };
}

/** Reads some of it, so that the connection can be used again after a usual answer. */
async function discard(body: AsyncIterable<Buffer>): Promise<void> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes >= limits.webhookAnswerBytesMax) return;
  }
}

const failures: Readonly<Record<string, CallFailure>> = {
  ENOTFOUND: 'name_not_found',
  EAI_AGAIN: 'name_not_found',
  ENODATA: 'name_not_found',
  ESERVFAIL: 'name_not_found',
  ETIMEOUT: 'name_not_found',
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_closed',
  EPIPE: 'connection_closed',
  ETIMEDOUT: 'timeout',
  UND_ERR_SOCKET: 'connection_closed',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_OVERFLOW: 'malformed_answer',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'connection_closed',
  UND_ERR_DESTROYED: 'stopped',
  UND_ERR_CLOSED: 'stopped',
  EPROTO: 'tls_failed',
  // How undici meets a change of the protocol that nobody asked for.
  ERR_ASSERTION: 'malformed_answer',
};

/** Beside those that begin as one of TLS: the reasons of OpenSSL to refuse a certificate. */
const tlsCode = /^ERR_(?:TLS|SSL)_|CERT|CRL|SIGNATURE|_CA$|_PURPOSE$|^HOSTNAME_|^PATH_LENGTH_/;

function failureOf(error: unknown): CallFailure {
  if (error instanceof AddressNotAllowed) return 'address_not_allowed';
  if (error instanceof errors.HTTPParserError) return 'malformed_answer';
  const code = String((error as { code?: unknown }).code);
  return failures[code] ?? (tlsCode.test(code) ? 'tls_failed' : 'connection_failed');
}
