// Makes methods of the list of routes: arguments become a request, its answer a result.

import { type Operations, routes } from './operations.ts';
import type { ChangeOptions } from './options.ts';
import { type Page, Pages, type Result } from './result.ts';
import type { Transport, WireAnswer, WireRequest } from './transport.ts';

interface Options extends ChangeOptions {
  readonly ifNoneMatch?: number;
}

interface Asked {
  readonly request: WireRequest;
  readonly options: Options;
}

type Query = Readonly<Record<string, unknown>>;

/** `tb.products.get` and all others. */
export function operationsOver(transport: Transport): Operations {
  const root = {};
  for (const [name, route] of Object.entries(routes)) {
    const parts = name.split('.');
    const last = parts.pop() ?? '';
    const at = parts.reduce<Record<string, object>>((object, part) => {
      object[part] ??= {};
      return object[part] as Record<string, object>;
    }, root);
    const isList = route.startsWith('LIST');
    at[last] = (...args: unknown[]) =>
      isList ? pagesOf(transport, route, args) : resultOf(transport, route, args);
  }
  return root as Operations;
}

/** What a route is asked with these arguments: IDs, then body or query, then options. */
export function requestOf(route: string, args: readonly unknown[]): Asked {
  const [kind = '', template = ''] = route.split(' ');
  const [pattern = '', parameter] = template.split('?');
  let next = 0;
  let path = pattern.replace(/\{\w+\}/g, () => encodeURIComponent(idOf(args[next++])));
  const isWrite = kind === 'POST' || kind === 'PATCH';
  if (parameter !== undefined) path += `?${parameter}=${encodeURIComponent(idOf(args[next++]))}`;
  if (kind === 'LIST' || kind === 'ASK') path += queryOf(args[next++] as Query | undefined);
  const body = isWrite ? JSON.stringify(args[next++] ?? {}) : undefined;
  const options = (args[next] ?? {}) as Options;
  const headers: Record<string, string> = {};
  const key = options.idempotencyKey ?? (isWrite ? newKey() : undefined);
  if (key !== undefined) headers['idempotency-key'] = key;
  if (options.ifMatch !== undefined) headers['if-match'] = `"${options.ifMatch}"`;
  if (options.ifNoneMatch !== undefined) headers['if-none-match'] = `"${options.ifNoneMatch}"`;
  if (body === undefined) return { request: { method: 'GET', path, headers }, options };
  headers['content-type'] = 'application/json';
  return { request: { method: kind, path, headers, body }, options };
}

/** An empty one would be another route. */
function idOf(value: unknown): string {
  if (typeof value === 'string' && !/^\.{0,2}$/.test(value)) return value;
  throw new TypeError(
    `An ID must be a text that names something, and not ${JSON.stringify(value)}.`,
  );
}

function queryOf(query: Query = {}): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value ?? []].flat())
      words.append(name, String(one));
  }
  return `?${words}`.replace(/^\?$/, '');
}

/**
 * A key for a write that is kept before it is sent: 32 letters and digits at random.
 * Not randomUUID: pages that came over http do not have it.
 */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function resultOf(transport: Transport, route: string, args: readonly unknown[]) {
  const { request, options } = requestOf(route, args);
  return shown(await transport.send(request, options));
}

export function shown({ status, headers, body }: WireAnswer): Result<unknown, unknown> {
  const { data = null, meta = {} } = body ?? {};
  return {
    data,
    status,
    requestId: meta.request_id ?? headers.get('x-request-id') ?? '',
    operationId: meta.operation_id as undefined,
    position: meta.position,
    replayed: headers.get('idempotent-replayed') === 'true',
    meta,
  };
}

function pagesOf(transport: Transport, route: string, args: readonly unknown[]) {
  // The options of the first page are those of all.
  const at = route.split('{').length - 1;
  return new Pages(async (cursor?: string) => {
    const all = [...args];
    if (cursor !== undefined) all[at] = { ...Object(args[at]), cursor };
    const { request, options } = requestOf(route, all);
    const page = shown(await transport.send(request, options)) as Result<unknown[], unknown>;
    const { next_cursor: nextCursor } = page.meta as { readonly next_cursor?: string };
    return { ...page, nextCursor } satisfies Page<unknown, unknown>;
  });
}
