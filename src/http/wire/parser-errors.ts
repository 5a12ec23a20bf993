// Answers to bytes that never become a request: errors of the HTTP parser, time-outs while
// receiving, CONNECT, and Expect. They are written to the socket here, because no hook of the
// framework sees them, and have the same envelope and X-Request-Id as all other answers.

import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { mintId } from '../../core/id.ts';
import { limits } from '../../core/limits.ts';
import { Problem, type ProblemCode } from '../../core/problem.ts';
import { bodyTooLarge, commonHeaders, jsonType, problemBody, problemHeaders } from '../respond.ts';
import { closeSocket } from './connections.ts';
import { servedMethods } from './message.ts';

export type OnRawProblem = (problem: Problem, requestId: string) => void;

const parserProblems: Readonly<Record<string, ProblemCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'content_too_large',
};

/** Answers instead of Node, which would send a status line and nothing else. */
export function answerParserErrors(
  server: Server,
  bodyBytesMaxOf: (path: string) => number,
  report: OnRawProblem,
): void {
  const answered = new WeakSet<Duplex>();
  server.removeAllListeners('clientError');
  server.on('clientError', (error: Error & { code?: string; rawPacket?: Buffer }, socket) => {
    // The bytes after an error are an error as well.
    if (answered.has(socket)) return;
    answered.add(socket);
    if (error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const code = parserProblems[error.code ?? ''] ?? 'malformed_request';
    const isLongUrl = code === 'headers_too_large' && beginsWithLongUrl(error.rawPacket);
    const problem = new Problem(isLongUrl ? 'uri_too_long' : code, { cause: error });
    afterAnswers(socket, () => write(socket, problem, report));
  });
  // Somebody who speaks no TLS, or none of ours: there is nobody to read an answer.
  server.removeAllListeners('tlsClientError');
  server.on('tlsClientError', (_error: Error, socket: Duplex) => socket.destroy());
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    // Node no longer listens for errors of this socket, and an unhandled one ends the process.
    socket.on('error', () => socket.destroy());
    const problem = new Problem('method_not_allowed', { headers: { Allow: servedMethods } });
    afterAnswers(socket, () => write(socket, problem, report));
  });
  // A client that is still sending has its own time-outs, which send an answer.
  server.on('timeout', (socket) => {
    if (responseOn(socket)?.req.complete !== false) socket.destroy();
  });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    respond(response, new Problem('expectation_failed'), report);
  });
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // The client asks before it sends the body, so it need not send one that would be refused.
    if (request.headers.expect?.trim().toLowerCase() !== '100-continue') {
      respond(response, new Problem('expectation_failed'), report);
      return;
    }
    const most = bodyBytesMaxOf(pathOf(request));
    if (Number(request.headers['content-length'] ?? 0) > most) {
      respond(response, bodyTooLarge(most), report);
    } else {
      response.writeContinue();
      server.emit('request', request, response);
    }
  });
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] ?? '';
}

/** Whether a packet begins a request whose first line alone is too long. */
function beginsWithLongUrl(packet: Buffer | undefined): boolean {
  const end = packet?.indexOf('\r\n') ?? 0;
  const isLong = end < 0 || end > limits.urlBytesMax;
  return isLong && /^[A-Z]+ \//.test(packet?.toString('latin1', 0, 32) ?? '');
}

/**
 * Calls back when the complete requests before are answered, because a client would read this
 * answer as the one to the first of them. When the answer to an incomplete request has begun, no
 * other can follow, and the socket is destroyed.
 */
function afterAnswers(socket: Duplex, answer: () => void): void {
  const response = responseOn(socket);
  // The connection was closed from here, and the client still sends.
  if (socket.writableEnded) return;
  if (!socket.writable || (response?.headersSent && !response.req.complete)) {
    socket.destroy();
  } else if (response?.req.complete) {
    response.once('close', () => afterAnswers(socket, answer));
  } else {
    answer();
  }
}

/** The response that is written to the socket now. */
function responseOn(socket: Duplex): ServerResponse | undefined {
  return (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage ?? undefined;
}

function respond(response: ServerResponse, problem: Problem, report: OnRawProblem): void {
  const requestId = mintId('req_');
  const body = problemBody(problem, requestId);
  response.writeHead(problem.status, headersOf(problem, requestId, body));
  response.end(body);
  report(problem, requestId);
}

function write(socket: Duplex, problem: Problem, report: OnRawProblem): void {
  const requestId = mintId('req_');
  const body = problemBody(problem, requestId);
  const headers = Object.entries(headersOf(problem, requestId, body));
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
  const status = `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n`;
  closeSocket(socket, `${status}${lines.join('')}\r\n${body}`);
  report(problem, requestId);
}

function headersOf(problem: Problem, requestId: string, body: string): Record<string, string> {
  return {
    ...commonHeaders(requestId),
    ...problemHeaders(problem),
    'Content-Type': jsonType,
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
}
