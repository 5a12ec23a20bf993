// How OAuth is served: its routes outside the version, its metadata, and its errors in the form of
// RFC 6749. The library gets a request of its own, made from the one that was received: what it
// believes of host and protocol is the issuer's, and what it reads as the body is what was sent.

import { IncomingMessage, type ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { assertionAlgorithms, clientAuthMethods, oauthPaths } from '../access/oauth/provider.ts';
import type { OAuthServer, Outcome, Revision } from '../access/oauth/server.ts';
import { AddressLimit, type FailedAuthentications } from '../access/rate/address.ts';
import { limits } from '../core/limits.ts';
import { scopes } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';
import { DatabaseFailure } from '../core/statement.ts';
import { jsonType, oauthErrorBody, problemOf } from './respond.ts';

export interface OAuthOptions {
  /** The origin that clients reach, known once the service listens. */
  issuer(): string;
  server(issuer: string): Promise<OAuthServer>;
  readonly failures: FailedAuthentications;
}

/** A route that answers by itself. */
export interface Mount {
  readonly methods: readonly ('GET' | 'HEAD' | 'POST')[];
  readonly path: string;
  answer(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
}

const authorizationServerPath = '/.well-known/oauth-authorization-server';
const protectedResourcePath = '/.well-known/oauth-protected-resource';

export function oauthMounts(options: OAuthOptions): readonly Mount[] {
  const { authorize, token, revoke, introspect, consent } = oauthPaths;
  const crowd = new AddressLimit(
    limits.consentRequestsPerMinute,
    'Too many requests from this address.',
  );
  const answer: Mount['answer'] = (request, reply) => handOver(options, request, reply);
  /** Nobody is known yet where people begin: limits are by address. */
  const limited =
    (answerPage: typeof handOver): Mount['answer'] =>
    async (request, reply) => {
      const refusal = crowd.refusal(request.ip);
      if (refusal !== undefined) throw refusal;
      return answerPage(options, request, reply);
    };
  const metadata = (path: string, members: (issuer: string) => object): Mount => ({
    methods: ['GET', 'HEAD'],
    path,
    answer: async (_, reply) =>
      reply.type(jsonType).send(JSON.stringify(members(options.issuer()))),
  });
  return [
    { methods: ['GET'], path: authorize, answer: limited(handOver) },
    { methods: ['GET'], path: `${authorize}/:uid`, answer: limited(handOver) },
    { methods: ['POST'], path: token, answer },
    { methods: ['POST'], path: revoke, answer },
    { methods: ['POST'], path: introspect, answer },
    {
      methods: ['GET', 'POST'],
      path: `${consent}/:uid`,
      answer: limited(answerConsent),
    },
    metadata(authorizationServerPath, serverMetadata),
    metadata(protectedResourcePath, resourceMetadata),
  ];
}

/** RFC 8414. */
function serverMetadata(issuer: string): object {
  const url = (path: string) => `${issuer}${path}`;
  const authentication = (endpoint: string) => ({
    [`${endpoint}_endpoint_auth_methods_supported`]: clientAuthMethods,
    [`${endpoint}_endpoint_auth_signing_alg_values_supported`]: assertionAlgorithms,
  });
  return {
    issuer,
    authorization_endpoint: url(oauthPaths.authorize),
    token_endpoint: url(oauthPaths.token),
    revocation_endpoint: url(oauthPaths.revoke),
    introspection_endpoint: url(oauthPaths.introspect),
    scopes_supported: scopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['client_credentials', 'authorization_code', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    ...authentication('token'),
    ...authentication('revocation'),
    ...authentication('introspection'),
    service_documentation: url('/docs'),
  };
}

/** RFC 9728. */
function resourceMetadata(issuer: string): object {
  return {
    resource: issuer,
    authorization_servers: [issuer],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
    resource_name: 'Tallybook',
    resource_documentation: `${issuer}/docs`,
  };
}

async function handOver(
  options: OAuthOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const server = await options.server(options.issuer());
  reply.hijack();
  const response = responseOf(reply);
  const received = copyOf(request, options.issuer());
  const outcome = await server.handle(received, response, (outcome) =>
    revise(options, request, outcome),
  );
  note(request, outcome);
  return reply;
}

async function answerConsent(
  options: OAuthOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const server = await options.server(options.issuer());
  const received = copyOf(request, options.issuer());
  const form =
    request.method === 'POST' ? new URLSearchParams(String(request.body ?? '')) : undefined;
  const response = responseOf(reply);
  const { id: requestId, ip: address } = request;
  const answer = await server.consent({ request: received, response, form, address, requestId });
  if (answer === undefined) return reply.hijack();
  request.oauthError = answer.denied;
  if (answer.denied === 'invalid_token') {
    const refusal = options.failures.refusal(address);
    if (refusal !== undefined) throw refusal;
  }
  if (answer.location !== undefined) reply.header('Location', answer.location);
  return reply
    .code(answer.status)
    .header('Content-Security-Policy', answer.policy)
    .type('text/html; charset=utf-8')
    .send(answer.html);
}

/** The response as the library writes to it, with the headers of every answer. */
function responseOf(reply: FastifyReply): ServerResponse {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  return reply.raw;
}

/** The request as the library is to see it. */
function copyOf(request: FastifyRequest, issuer: string): IncomingMessage {
  const { raw, body, declaredType } = request;
  const { host, protocol } = new URL(issuer);
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  const copy = new IncomingMessage(raw.socket);
  copy.method = raw.method ?? 'GET';
  copy.url = raw.url ?? '/';
  copy.httpVersion = raw.httpVersion;
  const { authorization, cookie, origin } = raw.headers;
  // Without Accept: errors are JSON, whatever else a client would take.
  copy.headers = {
    host,
    'x-forwarded-proto': protocol.slice(0, -1),
    'content-length': String(bytes.length),
    ...(declaredType === undefined ? {} : { 'content-type': declaredType }),
    ...(authorization === undefined ? {} : { authorization }),
    ...(cookie === undefined ? {} : { cookie }),
    ...(origin === undefined ? {} : { origin }),
  };
  copy.push(bytes);
  copy.push(null);
  // Otherwise it takes itself for cut off, and the socket with it.
  copy.complete = true;
  return copy;
}

/** What the service knows better than the library: a lost database, and who guesses secrets. */
function revise(
  { failures }: OAuthOptions,
  { ip }: FastifyRequest,
  { error, failure }: Outcome,
): Revision | undefined {
  const isKnown = failure instanceof DatabaseFailure || failure instanceof Problem;
  const known = isKnown ? problemOf(failure) : undefined;
  const problem = known ?? (error === 'invalid_client' ? failures.refusal(ip) : undefined);
  if (problem === undefined) return undefined;
  const { status, headers } = problem;
  return { status, headers, body: oauthErrorBody(problem) };
}

/** For the log and the audit trail. */
function note(request: FastifyRequest, { error, failure, applicationId }: Outcome): void {
  request.oauthError = error;
  // Whoever could not prove it only claims to be that application.
  if (error !== 'invalid_client') request.applicationId = applicationId;
  if (failure !== undefined) request.problem = problemOf(failure);
}
