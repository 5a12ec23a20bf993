// Compresses larger answers for clients that ask for it.

import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A smaller answer fits into one packet anyway. */
const worthwhileBytes = 1024;

/** 4: the next quality takes three times the time for 5 % less (a page of 200 products). */
const params = { [constants.BROTLI_PARAM_QUALITY]: 4 };

const encoders = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, { params }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
} as const;

type Coding = keyof typeof encoders;

const codings = Object.keys(encoders) as Coding[];

/** Pages that are the same for everybody are compressed once; they are their own buffers. */
const kept = new WeakMap<Buffer, Map<Coding, Promise<Buffer>>>();

/**
 * The coding to send an answer in, or none; says with `Vary` where it could be another one. None
 * for answers of OAuth's routes, because their pages hold a form's secret beside what the caller
 * sent, and the length would give it away piece by piece (BREACH); none for answers with an ETag,
 * which names their exact bytes (RFC 9110, section 8.8.3).
 */
export function codingOf(
  { method, headers, routeOptions }: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Coding | undefined {
  const isCompressible =
    (method === 'GET' || method === 'HEAD') &&
    reply.statusCode === 200 &&
    routeOptions.config.isOAuth !== true &&
    !reply.hasHeader('ETag') &&
    isWhole(payload) &&
    payload.length >= worthwhileBytes;
  if (!isCompressible) return undefined;
  void reply.header('Vary', 'Accept-Encoding');
  return negotiate(headers['accept-encoding'] ?? '', codings) ?? undefined;
}

/** @returns the payload in that coding. */
export async function compress(
  reply: FastifyReply,
  payload: unknown,
  coding: Coding,
): Promise<unknown> {
  if (!isWhole(payload)) return payload;
  void reply.header('Content-Encoding', coding);
  return typeof payload === 'string'
    ? encoders[coding](Buffer.from(payload))
    : compressedOnce(payload, coding);
}

const isWhole = (payload: unknown): payload is string | Buffer =>
  typeof payload === 'string' || Buffer.isBuffer(payload);

function compressedOnce(payload: Buffer, coding: Coding): Promise<Buffer> {
  const versions = kept.get(payload) ?? new Map<Coding, Promise<Buffer>>();
  const bytes = versions.get(coding) ?? encoders[coding](payload);
  kept.set(payload, versions.set(coding, bytes));
  return bytes;
}
