// Sends requests and writes every one of them down, with what came back.

import {
  type Attempt,
  type CredentialName,
  type Kind,
  now,
  type SeenLevel,
  type SeenRecord,
  type Target,
  type WantedRecord,
} from '../history.ts';
import type { ClientToken } from './setup.ts';
import { type Incoming, send } from './transport.ts';

/** A request as the load means it, without where and when it is sent. */
export interface Question {
  readonly kind: Kind;
  readonly credential: CredentialName;
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly key?: string;
  readonly variant?: number;
  readonly target?: Target;
  readonly wanted?: WantedRecord;
  readonly body?: object;
  /** Of a page of events: the position it is asked from. */
  readonly after?: number;
}

interface LevelRow {
  readonly product_id: string;
  readonly location_id: string;
  readonly quantity: string;
  readonly version: number;
}

export class Caller {
  readonly #client: number;
  readonly #ports: readonly number[];
  readonly #tokens: Map<CredentialName, ClientToken>;
  readonly #write: (attempt: Attempt) => void;

  constructor(
    client: number,
    ports: readonly number[],
    tokens: readonly ClientToken[],
    write: (attempt: Attempt) => void,
  ) {
    this.#client = client;
    this.#ports = ports;
    this.#tokens = new Map(tokens.map((token) => [token.name, token]));
    this.#write = write;
  }

  adopt(token: ClientToken): void {
    this.#tokens.set(token.name, token);
  }

  async ask(question: Question, node: number): Promise<Attempt> {
    const { kind, credential, method, path, key, variant, target, wanted, body, after } = question;
    const { token = '', generation = 0 } = this.#tokens.get(credential) ?? {};
    const start = now();
    const incoming = await send({ port: this.#ports[node] ?? 0, method, path, token, key, body });
    const attempt: Attempt = {
      client: this.#client,
      kind,
      credential,
      generation,
      node,
      start,
      end: now(),
      ...(key === undefined ? {} : { key }),
      ...(variant === undefined ? {} : { variant }),
      ...(target === undefined ? {} : { target }),
      ...(wanted === undefined ? {} : { wanted }),
      ...(after === undefined ? {} : { after }),
      ...understood(kind, incoming),
    };
    this.#write(attempt);
    return attempt;
  }
}

type Understood = Pick<Attempt, 'status'> & Partial<Attempt>;

function understood(kind: Kind, incoming: Incoming): Understood {
  if ('lost' in incoming) return { status: 0, lost: incoming.lost };
  const { status, headers, text } = incoming;
  try {
    const { data, meta, error } = JSON.parse(text);
    const isReplay = headers['idempotent-replayed'] === 'true';
    const known = {
      status,
      requestId: meta?.request_id ?? headers['x-request-id'],
      ...(meta?.operation_id === undefined ? {} : { operation: meta.operation_id }),
      ...(isReplay ? { isReplay } : {}),
    };
    if (error !== undefined) return { ...known, ...refusal(error) };
    return { ...known, ...(kind === 'events' ? page(data, meta) : success(kind, data)) };
  } catch (error) {
    // No answer of the service is anything but JSON: the judges will see it.
    return { status, code: `not understood: ${error}` };
  }
}

function refusal(error: { code: string; details?: readonly { operation_id?: string }[] }) {
  const operation = error.details?.find((detail) => detail.operation_id)?.operation_id;
  return { code: error.code, ...(operation === undefined ? {} : { operation }) };
}

interface Data {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly sequence: number;
  readonly quantity_before: string;
  readonly quantity_after: string;
  readonly level: LevelRow;
  readonly lines: readonly object[];
  readonly is_short: boolean;
  readonly position: string;
}

interface EventRow {
  readonly position: string;
  readonly type: string;
  readonly operation_id: string;
}

interface PageMeta {
  readonly through_position: string;
  readonly journal: string;
  readonly next_cursor?: string;
}

function page(rows: readonly EventRow[], meta: PageMeta): Partial<Attempt> {
  const events = rows.map(({ position, type, operation_id }) => ({
    position: Number(position),
    type,
    operation: operation_id,
  }));
  const through = { position: Number(meta.through_position), journal: meta.journal };
  return { events, through, isCut: meta.next_cursor !== undefined };
}

function success(kind: Kind, answer: unknown): Partial<Attempt> {
  if (kind === 'levels') return { levels: (answer as LevelRow[]).map(seen) };
  const data = answer as Data;
  if (kind === 'customer' || kind === 'product' || kind === 'change') {
    const { id, name, version } = data;
    return { resource: id, record: { record: id, name, version } satisfies SeenRecord };
  }
  if (kind === 'transfer') {
    const { id, lines, is_short, position } = data;
    return { resource: id, moved: JSON.stringify({ lines, is_short, position }) };
  }
  if (kind !== 'adjust') return { resource: data.id };
  return {
    resource: data.id,
    movement: {
      sequence: data.sequence,
      before: data.quantity_before,
      after: data.quantity_after,
    },
    levels: [seen(data.level)],
  };
}

function seen(row: LevelRow): SeenLevel {
  const { product_id, location_id, quantity, version } = row;
  return { product: product_id, location: location_id, quantity, version };
}
