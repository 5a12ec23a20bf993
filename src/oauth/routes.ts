// How OAuth is served: its routes outside of the versioned path, its metadata, and its errors in
// the form of RFC 6749. The library gets a copy of the request: host and protocol are the issuer's,
// and the body is what was sent.

import { IncomingMessage, type ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AddressLimit } from '../access/rate/address.ts';
import { Problem } from '../core/problem.ts';
import { DatabaseFailure } from '../core/statement.ts';
import type { HtmlPage } from '../http/html.ts';
import { jsonType, oauthErrorBody, problemOf } from '../http/respond.ts';
import type { OAuthRoute } from '../http/server.ts';
import { anySessionToken, isOfOwnPage } from '../http/session-cookie.ts';
import { scopes } from '../resources.ts';
import { errorPage } from './consent/pages.ts';
import { assertionAlgorithms, clientAuthMethods, oauthPaths } from './provider.ts';
import type { OAuthOutcome, OAuthServer, ReplacementAnswer } from './server.ts';

export interface OAuthOptions {
  /** The origin that clients reach. It is known when the service listens. */
  issuer(): string;
  server(issuer: string): Promise<OAuthServer>;
  readonly failures: AddressLimit;
  readonly consents: AddressLimit;
}

const authorizationServerPath = '/.well-known/oauth-authorization-server';
const protectedResourcePath = '/.well-known/oauth-protected-resource';

export function oauthRoutes(options: OAuthOptions): readonly OAuthRoute[] {
  const { authorize, token, revoke, introspect, consent } = oauthPaths;
  const answer: OAuthRoute['answer'] = (request, reply) => passOn(options, request, reply);
  /** The limit is by address, because no caller is known yet when a person begins. */
  const limited =
    (answerPage: typeof passOn): OAuthRoute['answer'] =>
    async (request, reply) => {
      const refusal = await options.consents.refusal(request.ip);
      if (refusal !== undefined) throw refusal;
      return answerPage(options, request, reply);
    };
  const metadata = (path: string, members: (issuer: string) => object): OAuthRoute => ({
    methods: ['GET', 'HEAD'],
    path,
    answer: async (_, reply) =>
      reply.type(jsonType).send(JSON.stringify(members(options.issuer()))),
  });
  return [
    { methods: ['GET'], path: authorize, answer: limited(passOn) },
    { methods: ['GET'], path: `${authorize}/:uid`, answer: limited(passOn) },
    { methods: ['POST'], path: token, answer },
    { methods: ['POST'], path: revoke, answer },
    { methods: ['POST'], path: introspect, answer },
    { methods: ['GET', 'POST'], path: `${consent}/:uid`, answer: limited(answerConsent) },
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

async function passOn(
  options: OAuthOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const server = await options.server(options.issuer());
  reply.hijack();
  const response = responseOf(reply);
  const received = copyOf(request, options.issuer());
  const outcome = await server.handle(received, response, (outcome) =>
    replacementFor(options, request, outcome),
  );
  note(request, outcome);
  return reply;
}

async function answerConsent(
  options: OAuthOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const issuer = options.issuer();
  if (!isOfOwnPage(request, issuer) && request.method === 'POST') {
    const page = errorPage('access_denied', 'The form was sent from the page of somebody else.');
    return sendPage(reply, { status: 403, ...page });
  }
  const server = await options.server(issuer);
  const form =
    request.method === 'POST' ? new URLSearchParams(String(request.body ?? '')) : undefined;
  const { id: requestId, ip: address } = request;
  const answer = await server.consent({
    request: copyOf(request, issuer),
    response: responseOf(reply),
    ...{ form, address, requestId },
    session: anySessionToken(request),
  });
  if (answer === undefined) return reply.hijack();
  request.oauthError = answer.denied;
  if (answer.denied === 'invalid_token') {
    const refusal = await options.failures.refusal(address);
    if (refusal !== undefined) throw refusal;
  }
  if (answer.location !== undefined) reply.header('Location', answer.location);
  return sendPage(reply, answer);
}

function sendPage(
  reply: FastifyReply,
  { status, policy, html }: HtmlPage & { readonly status: number },
): FastifyReply {
  return reply
    .code(status)
    .header('Content-Security-Policy', policy)
    .type('text/html; charset=utf-8')
    .send(html);
}

/** The response that the library writes to, with the headers that every answer has. */
function responseOf(reply: FastifyReply): ServerResponse {
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  return reply.raw;
}

/** The request as the library sees it. */
function copyOf(request: FastifyRequest, issuer: string): IncomingMessage {
  const { raw, body, declaredType } = request;
  const { host, protocol } = new URL(issuer);
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  const copy = new IncomingMessage(raw.socket);
  copy.method = raw.method ?? 'GET';
  copy.url = raw.url ?? '/';
  copy.httpVersion = raw.httpVersion;
  const { authorization, cookie, origin } = raw.headers;
  // Without Accept, so that errors are always JSON.
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
  // Node.js destroys the socket of an incomplete message.
  copy.complete = true;
  return copy;
}

/** The library does not know about a lost database, or about addresses that guess secrets. */
async function replacementFor(
  { failures }: OAuthOptions,
  { ip }: FastifyRequest,
  { error, failure }: OAuthOutcome,
): Promise<ReplacementAnswer | undefined> {
  const isKnown = failure instanceof DatabaseFailure || failure instanceof Problem;
  const known = isKnown ? problemOf(failure) : undefined;
  const problem = known ?? (error === 'invalid_client' ? await failures.refusal(ip) : undefined);
  if (problem === undefined) return undefined;
  const { status, headers } = problem;
  return { status, headers, body: oauthErrorBody(problem) };
}

/** For the log and the audit trail. */
function note(request: FastifyRequest, { error, failure, applicationId }: OAuthOutcome): void {
  request.oauthError = error;
  // A client that did not prove who it is only claims to be that application.
  if (error !== 'invalid_client') request.applicationId = applicationId;
  if (failure !== undefined) request.problem = problemOf(failure);
}
