// The HTTP server: makes a route of each contract. The framework finds routes and reads bodies;
// what it would decide about content types, errors and methods is decided here, so that all answers
// have one form.

import { type ServerOptions as HttpServerOptions, METHODS } from 'node:http';
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  type preParsingAsyncHookHandler,
} from 'fastify';
import { bodyLimitsOf, hasPathId, ordinaryBody } from '../contract/contract.ts';
import type { Endpoint } from '../contract/endpoint.ts';
import { mintId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { Principal } from '../core/principal.ts';
import { Problem, retryLater } from '../core/problem.ts';
import type { Certificate } from './certificate.ts';
import { codingOf, compress } from './compression.ts';
import { LargeBodies } from './large-bodies.ts';
import { type KnownPath, KnownPaths, methodNotAllowed } from './paths.ts';
import { type Api, apiPrefix, type Handler, handlerOf } from './pipeline.ts';
import type { LimitHeaders } from './rate-limit.ts';
import { commonHeaders, problemOf, type Success, sendProblem, sendSuccess } from './respond.ts';
import type { Site } from './site.ts';
import { closeAfterAnswers, limitConnections } from './wire/connections.ts';
import { checkMessage, isLiteral } from './wire/message.ts';
import { answerParserErrors } from './wire/parser-errors.ts';
import { inOrder } from './wire/pipelining.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who called, once known: for the log. */
    caller: Principal | undefined;
    /** The rate-limit headers of the answer. */
    limitHeaders: LimitHeaders | undefined;
    /** By `performance.now()`, as is the deadline of what is asked for, once it is known. */
    startedAt: number;
    deadline: number;
    /** The Content-Type line as it was sent. */
    declaredType: string | undefined;
    /** The path, when it is there and has no such method. */
    knownPath: KnownPath | undefined;
    /** What was answered, when it was a problem. */
    problem: Problem | undefined;
    /** What the writes of a batch were refused with. */
    itemProblems: Problem[];
    /** What an OAuth endpoint answered, when it was an error, and to which application. */
    oauthError: string | undefined;
    applicationId: string | undefined;
  }
}

/** One finished request, for log and metrics. It never holds tokens, keys, names or bodies. */
export interface RequestRecord {
  readonly requestId: string;
  readonly method: string;
  /** The route's template, never the path itself. */
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
  readonly merchantId: string | undefined;
  readonly credentialId: string | undefined;
  /** Where it came from, trusted proxies looked through. */
  readonly address: string | undefined;
  /** Whether the answer repeats one that was given before. */
  readonly replayed: boolean;
  readonly problem: Problem | undefined;
  /** Of the writes of a batch. */
  readonly itemProblems: readonly Problem[];
  readonly oauthError: string | undefined;
  readonly applicationId: string | undefined;
}

/** A route of OAuth, whose handler writes the whole answer: no envelope, errors of RFC 6749. */
export interface OAuthRoute {
  readonly methods: readonly ('GET' | 'HEAD' | 'POST')[];
  readonly path: string;
  answer(request: FastifyRequest, reply: FastifyReply): Promise<unknown>;
}

/** A route of signing in. */
export interface SessionRoute {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  answer(request: FastifyRequest): Promise<Success>;
}

/** The page of the console, and what it talks to. */
export interface ConsoleOptions {
  readonly pages: readonly Site[];
  readonly routes: readonly SessionRoute[];
  /** Where people reach the service, when the operator said so. */
  readonly publicUrl: string | undefined;
}

export interface ServerOptions {
  readonly api: Api;
  readonly endpoints: readonly Endpoint[];
  readonly sites: readonly Site[];
  readonly oauthRoutes: readonly OAuthRoute[];
  /** Absent: nobody signs in here. */
  readonly console?: ConsoleOptions | undefined;
  readonly trustedProxies: readonly string[];
  /** Without one the service speaks HTTP, for a proxy or a client on the same machine. */
  readonly certificate?: Pick<Certificate, 'cert' | 'key'> | undefined;
  /** How many processes serve as one node and share its limits. */
  readonly workers?: number;
  onRequest(record: RequestRecord): void;
}

export interface HttpServer {
  readonly fastify: FastifyInstance;
  /** Answers carry `Connection: close` from now on, and whoever waits for events is answered. */
  startDraining(): void;
}

export function createServer(options: ServerOptions): HttpServer {
  const app = fastify({
    logger: false,
    genReqId: () => mintId('req_'),
    requestIdHeader: false,
    bodyLimit: ordinaryBody.bytes,
    trustProxy: options.trustedProxies.length === 0 ? false : [...options.trustedProxies],
    // A longer path ID is an ID that does not exist.
    routerOptions: { maxParamLength: limits.urlBytesMax },
    requestTimeout: limits.requestReceiveTimeout,
    keepAliveTimeout: limits.keepAliveTimeout,
    connectionTimeout: limits.socketIdleTimeout,
    maxRequestsPerSocket: limits.requestsPerSocketMax,
    forceCloseConnections: 'idle',
    // Its own 503 carries no request ID. A request on an open connection is served to the end.
    return503OnClosing: false,
    ...transportOf(options),
    frameworkErrors: (error, request, reply) => {
      void reply.headers(commonHeaders(request.id));
      void sendProblem(reply, problemOf(error));
    },
  });
  const state = { isDraining: false };
  app.server.maxHeadersCount = 0;
  limitConnections(app.server, options.workers ?? 1);
  closeAfterAnswers(app.server);
  answerParserErrors(app.server, bodyBytesMaxIn(options.endpoints), (problem, requestId) =>
    options.onRequest(rawRecord(problem, requestId)),
  );
  for (const method of METHODS) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: false });
  }
  takeOverBodies(app);
  takeOverRequests(app, state, options, addRoutes(app, options));
  return {
    fastify: app,
    startDraining: () => {
      state.isDraining = true;
      options.api.watch.end();
    },
  };
}

/** The framework's types know one of the two; which one it is makes no difference here. */
function transportOf({ certificate }: ServerOptions): { readonly http: HttpServerOptions } {
  const http = {
    maxHeaderSize: limits.parserHeaderBytesMax,
    headersTimeout: limits.headersReceiveTimeout,
    connectionsCheckingInterval: limits.connectionsCheckInterval,
    insecureHTTPParser: false,
    // Node's own check answers a bare 400 that no hook sees; `checkMessage` does it instead.
    requireHostHeader: false,
  };
  if (certificate === undefined) return { http };
  const { cert, key } = certificate;
  const https = { ...http, cert, key, handshakeTimeout: limits.headersReceiveTimeout };
  return { http, https } as { http: HttpServerOptions };
}

/** Bodies arrive as bytes whatever their declared type; the pipeline judges type and content. */
function takeOverBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
}

function takeOverRequests(
  app: FastifyInstance,
  state: { readonly isDraining: boolean },
  options: ServerOptions,
  paths: KnownPaths,
): void {
  app.decorateRequest('caller', undefined);
  app.decorateRequest('limitHeaders', undefined);
  app.decorateRequest('startedAt', 0);
  app.decorateRequest('deadline', 0);
  app.decorateRequest('declaredType', undefined);
  app.decorateRequest('knownPath', undefined);
  app.decorateRequest('problem', undefined);
  app.decorateRequest('itemProblems');
  app.decorateRequest('oauthError', undefined);
  app.decorateRequest('applicationId', undefined);
  // These take a callback: nothing in them waits, and a promise for each would be made for nothing.
  app.addHook('onRequest', (request, reply, done) => {
    void reply.headers(commonHeaders(request.id));
    // The framework would refuse some types before the credential is judged: 415 before 401.
    request.declaredType = request.raw.headers['content-type'];
    request.raw.headers['content-type'] = 'application/octet-stream';
    inOrder(request.raw.socket, reply.raw, (refusal) => {
      request.startedAt = performance.now();
      request.itemProblems = [];
      if (request.routeOptions.url === undefined) request.knownPath = paths.find(request.url);
      done(refusal ?? messageProblem(request));
    });
  });
  // At the answer, not at the request, because a request that began before draining must close its
  // connection as well.
  app.addHook('onSend', (request, reply, payload, done) => {
    if (request.limitHeaders !== undefined) void reply.headers(request.limitHeaders);
    if (state.isDraining) void reply.header('Connection', 'close');
    const coding = codingOf(request, reply, payload);
    if (coding === undefined) done(null, payload);
    else compress(reply, payload, coding).then((bytes) => done(null, bytes), done);
  });
  app.addHook('onResponse', (request, reply, done) => {
    // An answer that did not pass the hook above has no `Connection: close`.
    if (state.isDraining) request.raw.socket.end();
    options.onRequest(record(request, reply));
    done();
  });
  app.setErrorHandler((error, request, reply) => {
    request.problem = problemOf(error, request.routeOptions.bodyLimit);
    return sendProblem(reply, request.problem);
  });
  app.setNotFoundHandler((request, reply) => {
    request.problem = problemAt(request);
    return sendProblem(reply, request.problem);
  });
}

/** Of a request that no route is for. */
function problemAt({ url, knownPath }: FastifyRequest): Problem {
  if (knownPath !== undefined) return methodNotAllowed(knownPath);
  return url.startsWith(`${apiPrefix}/`) ? new Problem('not_found') : notFoundOutside();
}

const outside = `Nothing is here. The API begins at ${apiPrefix}, its documentation is at /docs.`;

/** Whoever asks outside of the version learns where it is. */
export const notFoundOutside = () => new Problem('not_found', { message: outside });

/** What is wrong with a message, whatever its route. */
function messageProblem({ raw, routeOptions }: FastifyRequest): Error | undefined {
  try {
    checkMessage(raw);
  } catch (error) {
    return error as Error;
  }
  const { url: template } = routeOptions;
  const isUnknown = template !== undefined && !isLiteral(raw.url ?? '', template);
  return isUnknown ? new Problem('not_found') : undefined;
}

function addRoutes(app: FastifyInstance, options: ServerOptions): KnownPaths {
  const paths = new KnownPaths();
  const { console: ours } = options;
  const roots = [
    { root: apiPrefix, config: {} },
    ...(ours === undefined ? [] : [{ root: consolePrefix + apiPrefix, config: { console: ours } }]),
  ];
  const largeBodies = new LargeBodies(options.api, options.workers ?? 1);
  const answers: readonly SessionRoute[] = ours?.routes ?? [];
  const routes = [
    ...roots.flatMap(({ root, config }) =>
      options.endpoints.map((endpoint) => {
        const { contract } = endpoint;
        return {
          method: contract.kind === 'write' ? contract.method : 'GET',
          url: root + contract.path.replaceAll(/\{(\w+)\}/g, ':$1'),
          bodyLimit: contract.kind === 'write' ? bodyLimitsOf(contract).bytes : 0,
          answer: handlerOf(options.api, endpoint),
          config,
        };
      }),
    ),
    ...answers.map(({ path: url, ...rest }) => ({ ...rest, url, bodyLimit: 0, config: {} })),
  ];
  for (const { method, url, bodyLimit, answer, config } of routes) {
    const handler = withinDeadline(answer);
    const preParsing: preParsingAsyncHookHandler = async (request, reply, body) => {
      await largeBodies.admit(request, reply, bodyLimit);
      return body;
    };
    // GET routes answer HEAD too: the framework adds it.
    app.route({
      ...{ method, url, config },
      ...(bodyLimit > ordinaryBody.bytes ? { bodyLimit, preParsing } : {}),
      handler: async (request, reply) => sendSuccess(reply, await handler(request)),
    });
    paths.add(url, method === 'GET' ? ['GET', 'HEAD'] : [method]);
  }
  for (const site of [...options.sites, ...(ours?.pages ?? [])]) {
    app.get(site.path, async (request, reply) => {
      const { status, type, body, policy, headers = {} } = await site.answer(request);
      const safe = policy === undefined ? {} : { 'Content-Security-Policy': policy };
      return reply
        .code(status)
        .headers({ ...headers, ...safe })
        .type(type)
        .send(body);
    });
    // Below an open path are routes of others.
    if (!site.path.endsWith('*')) paths.add(site.path, ['GET', 'HEAD']);
  }
  for (const { path: url, methods, answer: handler } of options.oauthRoutes) {
    const method = [...methods];
    app.route({ method, url, handler, exposeHeadRoute: false, config: { isOAuth: true } });
    paths.add(url, methods, true);
  }
  return paths;
}

const consolePrefix = '/console';

/** By path: who asks before sending a body asks before the framework has found the route. */
function bodyBytesMaxIn(endpoints: readonly Endpoint[]): (path: string) => number {
  const byPath = new Map<string, number>();
  for (const { contract } of endpoints) {
    if (contract.kind !== 'write' || hasPathId(contract)) continue;
    for (const root of [apiPrefix, consolePrefix + apiPrefix]) {
      byPath.set(root + contract.path, bodyLimitsOf(contract).bytes);
    }
  }
  return (path) => byPath.get(path) ?? ordinaryBody.bytes;
}

/**
 * Answers at the deadline, whatever the work does; the work may still finish. The time in which the
 * body arrives does not count: it has its own limit.
 */
function withinDeadline(handler: Handler): Handler {
  return async (request) => {
    let timer: NodeJS.Timeout | undefined;
    request.deadline = performance.now() + limits.requestDeadline;
    const late = new Promise<never>((_, reject) => {
      const end = () => reject(new Problem('timeout', { headers: retryLater() }));
      timer = setTimeout(end, limits.requestDeadline);
    });
    try {
      return await Promise.race([handler(request), late]);
    } finally {
      clearTimeout(timer);
    }
  };
}

function record(request: FastifyRequest, reply: FastifyReply): RequestRecord {
  return {
    requestId: request.id,
    method: request.method,
    route: request.routeOptions.url ?? request.knownPath?.url ?? 'unknown',
    status: reply.statusCode,
    seconds: (performance.now() - request.startedAt) / 1000,
    merchantId: request.caller?.merchant,
    credentialId: request.caller?.credentialId,
    address: request.ip,
    replayed: reply.hasHeader('Idempotent-Replayed'),
    problem: request.problem,
    itemProblems: request.itemProblems,
    oauthError: request.oauthError,
    applicationId: request.applicationId ?? request.caller?.application?.id,
  };
}

function rawRecord(problem: Problem, requestId: string): RequestRecord {
  return {
    requestId,
    method: 'unknown',
    route: 'unknown',
    status: problem.status,
    seconds: 0,
    merchantId: undefined,
    credentialId: undefined,
    address: undefined,
    replayed: false,
    problem,
    itemProblems: [],
    oauthError: undefined,
    applicationId: undefined,
  };
}
