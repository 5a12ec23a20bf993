// Where a node listens: for requests, and for whoever reads its metrics.

import { createServer, type Server } from 'node:http';
import { Server as SecureServer } from 'node:https';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import { type Config, namesOf } from '../config.ts';
import { systemReason } from '../core/system-failure.ts';
import type { HttpServer } from '../http/server.ts';

/** What is read by whoever asks for the metrics. */
export interface MetricsText {
  readonly contentType: string;
  metrics(): Promise<string>;
}

export async function listenForRequests(
  { host, port }: Pick<Config, 'host' | 'port'>,
  server: HttpServer,
): Promise<void> {
  await server.fastify.listen({ host, port }).catch((error) => {
    throw explained(error, host, port, 'port');
  });
}

/**
 * The port to listen on, once nobody else does: 0 becomes a free one. Workers that end and come
 * back need it to stay the same.
 */
export async function freePort({ host, port }: Pick<Config, 'host' | 'port'>): Promise<number> {
  const server = createSocketServer();
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(explained(error, host, port, 'port')));
    server.listen({ host, port }, () => {
      const { port: found } = server.address() as AddressInfo;
      server.close(() => resolve(found));
    });
  });
}

/** Undefined: nobody asked for it. */
export async function listenForMetrics(
  { host, metricsPort }: Pick<Config, 'host' | 'metricsPort'>,
  read: () => MetricsText | Promise<MetricsText>,
): Promise<Server | undefined> {
  if (metricsPort === undefined) return undefined;
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    const registry = await read();
    const text = await registry.metrics();
    response.writeHead(200, { 'Content-Type': registry.contentType }).end(text);
  });
  await new Promise<void>((resolve, reject) => {
    server.on('error', (error) => reject(explained(error, host, metricsPort, 'metricsPort')));
    server.listen(metricsPort, host, resolve);
  });
  return server;
}

function explained(
  cause: NodeJS.ErrnoException,
  host: string,
  port: number,
  setting: 'port' | 'metricsPort',
): Error {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `the port is in use: name another one with ${namesOf(setting)}`,
    EACCES: `only root may use it: name one above 1023 with ${namesOf(setting)}`,
    EADDRNOTAVAIL: `this machine has no such address: name another one with ${namesOf('host')}`,
  };
  const reason = reasons[cause.code ?? ''] ?? systemReason(cause);
  return new Error(`cannot listen on ${host}, port ${port}, because ${reason}`, { cause });
}

export function originOf(server: HttpServer): string {
  const { address, family, port } = server.fastify.server.address() as AddressInfo;
  const scheme = server.fastify.server instanceof SecureServer ? 'https' : 'http';
  return `${scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
