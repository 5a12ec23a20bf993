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
  /** The shop's own ID that it names. */
  readonly named?: string;
  /** In a batch: the type that stands for its path, and the ID in it. */
  readonly type?: string;
  readonly id?: string;
  /** Of a page of events: the position it is asked from. */
  readonly after?: number;
  /** That of a program, in place of the credential's own. */
  readonly token?: string;
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
  /** Texts of tokens: no history has them. */
  readonly #made = new Map<string, string>();

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

  /** The text of a token that was made; undefined: the answer that showed it was lost. */
  textOf(id: string): string | undefined {
    return this.#made.get(id);
  }

  adopt(token: ClientToken): void {
    this.#tokens.set(token.name, token);
  }

  async ask(question: Question, node: number): Promise<Attempt> {
    const [attempt] = await this.#send(question, [], node);
    if (attempt === undefined) throw new Error('nothing was written down');
    return attempt;
  }

  /** A batch: what it was answered, and then each of its writes. */
  askAll(batch: Question, items: readonly Question[], node: number): Promise<Attempt[]> {
    return this.#send(batch, items, node);
  }

  async #send(question: Question, items: readonly Question[], node: number): Promise<Attempt[]> {
    const { credential, method, path, key, body } = question;
    const { token: own = '', generation = 0 } = this.#tokens.get(credential) ?? {};
    const token = question.token ?? own;
    const start = now();
    const incoming = await send({ port: this.#ports[node] ?? 0, method, path, token, key, body });
    const sent = { client: this.#client, generation, node, start, end: now() };
    const results = items.length === 0 ? [] : resultsIn(incoming);
    const answer = understood(question.kind, incoming);
    const secret = question.kind === 'token' ? secretIn(incoming) : undefined;
    if (secret !== undefined && answer.resource !== undefined) {
      this.#made.set(answer.resource, secret);
    }
    // Without its own answer a write may have been done: when it began is known.
    const unanswered: Understood = { status: answer.status, code: answer.code ?? 'no result' };
    const attempts = [
      attemptOf(question, sent, answer),
      ...items.map((item, n) => {
        const result = results[n];
        return attemptOf(item, sent, result ? saidOf(item.kind, result) : unanswered);
      }),
    ];
    for (const attempt of attempts) this.#write(attempt);
    return attempts;
  }
}

type Sent = Pick<Attempt, 'client' | 'generation' | 'node' | 'start' | 'end'>;

function attemptOf(question: Question, sent: Sent, answer: Understood): Attempt {
  const { kind, credential, key, variant, target, wanted, after, named } = question;
  return {
    ...{ ...sent, kind, credential },
    ...(key === undefined ? {} : { key }),
    ...(variant === undefined ? {} : { variant }),
    ...(target === undefined ? {} : { target }),
    ...(wanted === undefined ? {} : { wanted }),
    ...(after === undefined ? {} : { after }),
    ...(named === undefined ? {} : { named }),
    ...answer,
  };
}

/** The answer to a write, as its own or in a batch. */
interface Answer {
  readonly status: number;
  readonly data?: unknown;
  readonly error?: Refused;
  readonly meta?: Partial<PageMeta> & {
    readonly request_id?: string;
    readonly operation_id?: string;
    readonly position?: string;
    readonly replayed?: true;
  };
}

function resultsIn(incoming: Incoming): readonly Answer[] {
  if ('lost' in incoming) return [];
  try {
    return JSON.parse(incoming.text).data?.results ?? [];
  } catch {
    return [];
  }
}

type Understood = Pick<Attempt, 'status'> & Partial<Attempt>;

function understood(kind: Kind, incoming: Incoming): Understood {
  if ('lost' in incoming) return { status: 0, lost: incoming.lost };
  const { status, headers, text } = incoming;
  try {
    const answer: Answer = JSON.parse(text);
    const replayed = headers['idempotent-replayed'] === 'true' ? { replayed: true as const } : {};
    const request_id = String(headers['x-request-id'] ?? '');
    return saidOf(kind, { ...answer, status, meta: { request_id, ...answer.meta, ...replayed } });
  } catch (error) {
    // No answer of the service is anything but JSON: the judges will see it.
    return { status, code: `not understood: ${error}` };
  }
}

function saidOf(kind: Kind, { status, data, error, meta = {} }: Answer): Understood {
  const { request_id, operation_id, position, journal } = meta;
  const known = {
    status,
    ...(request_id === undefined ? {} : { requestId: request_id }),
    ...(operation_id === undefined ? {} : { operation: operation_id }),
    ...(position === undefined || journal === undefined ? {} : { position, journal }),
    ...(meta.replayed === true ? { isReplay: true } : {}),
  };
  if (error !== undefined) return { ...known, ...refusal(error) };
  if (kind === 'events') return { ...known, ...page(data as EventRow[], meta as PageMeta) };
  return { ...known, ...success(kind, data) };
}

function secretIn(incoming: Incoming): string | undefined {
  if ('lost' in incoming) return undefined;
  try {
    return JSON.parse(incoming.text).data?.token ?? undefined;
  } catch {
    return undefined;
  }
}

interface Refused {
  readonly code: string;
  readonly details?: readonly { operation_id?: string }[];
}

function refusal(error: Refused) {
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
  readonly lines: readonly CountedLine[];
  readonly expires_at: string | null;
  readonly status: string;
  readonly movement_ids: readonly string[];
  readonly is_short: boolean;
  readonly position: string;
  readonly invitation?: string | null;
  readonly token?: string | null;
}

interface CountedLine {
  readonly counted_quantity: string;
  readonly quantity_after: string;
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
  if (kind === 'use' || kind === 'ended') return {};
  if (recordKinds.includes(kind)) {
    const { id, name, version, invitation = null, token = null } = data;
    const isShown = invitation !== null || token !== null;
    return {
      ...{ resource: id, record: { record: id, name, version } satisfies SeenRecord },
      ...(isShown ? { isShown } : {}),
    };
  }
  if (kind === 'transfer') {
    const { id, lines, is_short, position } = data;
    return { resource: id, moved: JSON.stringify({ lines, is_short, position }) };
  }
  if (kind === 'count') {
    const { id, lines } = data;
    const isSince = lines.some((line) => line.quantity_after !== line.counted_quantity);
    return { resource: id, moved: JSON.stringify(lines), ...(isSince ? { isSince } : {}) };
  }
  if (kind === 'reserve') {
    const { id, lines, expires_at } = data;
    return { resource: id, moved: JSON.stringify({ lines, expires_at }) };
  }
  if (kind === 'release' || kind === 'fulfil') {
    const { id, status, movement_ids } = data;
    return { resource: id, moved: JSON.stringify({ status, movement_ids }) };
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

const recordKinds: readonly Kind[] = [
  ...(['customer', 'product', 'change', 'upsert', 'person', 'token', 'revoke'] as const),
];

function seen(row: LevelRow): SeenLevel {
  const { product_id, location_id, quantity, version } = row;
  return { product: product_id, location: location_id, quantity, version };
}
