// A proxy between a service and its database that knows where each exchange begins and ends: what
// the service sends up to Sync, and what the server answers up to ReadyForQuery. One exchange is
// one statement, named as it is prepared. Two open a connection: its start-up, `connect`, and what
// asks the server whether it may be used, `look`. So a fault can be put before or behind every
// single thing that a write waits for.

import type { Socket } from 'node:net';
import { lookAtServer } from '../../src/database/primary.ts';
import { type Message, Messages, statementOf } from './messages.ts';
import { Relay } from './proxy.ts';

export type Fault =
  /** The server runs what raises this instead. It undoes the transaction as any error would. */
  | { readonly kind: 'raise'; readonly sqlstate: string; readonly constraint?: string }
  /** The server ends the connection instead, as for an administrator: 57P01. */
  | { readonly kind: 'end' }
  /** The server takes longer than any statement may. */
  | { readonly kind: 'sleep' }
  /** It is held up on its way to the server, with all that follows it. */
  | { readonly kind: 'hold'; readonly until: Promise<unknown> }
  /** It never comes, nor does anything behind it; what the server says by itself comes through. */
  | { readonly kind: 'withhold' }
  /** The network is gone without a word, before the server hears of it or before its answer. */
  | { readonly kind: 'silence'; readonly when: 'before' | 'after' }
  | { readonly kind: 'reset'; readonly when: 'before' | 'after' }
  /** Something happens, and neither this exchange nor its answer goes on. */
  | { readonly kind: 'run'; readonly when: 'before' | 'after'; readonly work: () => void };

/** What a connection begins with, before it is used. */
export const opening = ['connect', 'look'] as const;

export const isOfOpening = (exchange: string): boolean => opening.some((name) => name === exchange);

export type Side = 'toDatabase' | 'toService';

export class ExchangeProxy extends Relay {
  /** The exchanges that there were, in order. */
  readonly seen: string[] = [];
  /** How many of them have not been answered. */
  unanswered = 0;
  /** Says what is to happen to an exchange. It may not happen as planned: the caller counts. */
  onExchange: (name: string) => Fault | undefined = () => undefined;
  /** How many bytes have passed. */
  readonly passed = { toDatabase: 0, toService: 0 };
  /** After so many bytes the connection that has passed them is cut, once. */
  cutAfter: { readonly side: Side; readonly bytes: number } | undefined;
  /** Whether the service is told behind half a message, as by a pooler that lost its server. */
  isTold = false;
  /** The exchange in which it was cut, and whether all of that passed that is used. */
  cutIn: { readonly exchange: string; readonly isWhole: boolean } | undefined;

  readonly #bridges = new Set<Bridge>();

  protected override bridge(client: Socket, database: Socket): void {
    const bridge = new Bridge(this, client, database);
    this.#bridges.add(bridge);
    client.on('close', () => this.#bridges.delete(bridge));
  }

  /** How many connections there are. */
  get connections(): number {
    return this.#bridges.size;
  }

  /** Nothing passes any more over the connections there are, and nobody is told. */
  abandon(): void {
    for (const bridge of this.#bridges) bridge.abandon();
  }

  /** How much of these bytes may pass before the connection is cut; undefined: all, and no cut. */
  allowance(side: Side, length: number, exchange: string): number | undefined {
    const before = this.passed[side];
    this.passed[side] += length;
    const { cutAfter } = this;
    if (cutAfter?.side !== side || this.passed[side] < cutAfter.bytes) return undefined;
    this.cutAfter = undefined;
    const allowed = cutAfter.bytes - before;
    // The last byte of an answer is the state of the transaction, which the service does not use.
    // The first one of what it is told stands in for it.
    const missingMax = side === 'toService' && this.isTold ? 1 : 0;
    this.cutIn = { exchange, isWhole: length - allowed <= missingMax };
    return allowed;
  }

  /** Forgets what there was, for the next case. */
  reset(): void {
    this.seen.length = 0;
    this.passed.toDatabase = 0;
    this.passed.toService = 0;
    this.onExchange = () => undefined;
    this.cutAfter = undefined;
    this.cutIn = undefined;
    this.isTold = false;
  }
}

interface Exchange {
  readonly name: string;
  readonly fault: Fault | undefined;
}

/** One connection of the service, joined to one of the server. */
class Bridge {
  readonly #proxy: ExchangeProxy;
  readonly #client: Socket;
  readonly #database: Socket;
  /** Sent, and not yet answered. */
  readonly #open: Exchange[] = [];
  /** What the service has sent of the next exchange, and the server of the next answer. */
  #asked: Buffer[] = [];
  #answered: Buffer[] = [];
  #name = '';
  #isDeafToService = false;
  #isDeafToServer = false;
  #held: Buffer[] | undefined;

  constructor(proxy: ExchangeProxy, client: Socket, database: Socket) {
    this.#proxy = proxy;
    this.#client = client;
    this.#database = database;
    for (const socket of [client, database]) socket.on('error', () => undefined);
    const sent = new Messages(true);
    const received = new Messages(false);
    client.on('data', (bytes) => {
      for (const message of sent.take(bytes)) this.#fromService(message);
    });
    database.on('data', (bytes) => {
      for (const message of received.take(bytes)) this.#fromServer(message);
    });
    client.on('close', () => {
      database.end();
      // Nobody waits for these any more.
      proxy.unanswered -= this.#open.splice(0).length;
    });
    database.on('close', () => {
      // Its last words, such as the reason for which it ends the connection.
      if (this.#isDeafToServer) return;
      this.#toService(Buffer.concat(this.#answered));
      client.end();
    });
  }

  abandon(): void {
    this.#isDeafToService = true;
    this.#isDeafToServer = true;
  }

  #fromService({ type, bytes }: Message): void {
    if (this.#isDeafToService) return;
    if (type === 'start-up') this.#exchange('connect', bytes);
    // Passwords belong to the start-up; the end of a connection waits for nothing.
    else if (type === 'p' || type === 'X') this.#toDatabase(bytes);
    else this.#gather(type, bytes);
  }

  #gather(type: string, bytes: Buffer): void {
    this.#asked.push(bytes);
    // What belongs to a cell has its name behind the statement's own.
    if (type === 'B') this.#name = statementOf(bytes).replace(/@\w+$/, '');
    if (type !== 'S' && type !== 'Q') return;
    const asked = Buffer.concat(this.#asked);
    this.#asked = [];
    // With the cell that it enters it is one message, without a name.
    if (type === 'Q' && asked.includes('begin isolation')) this.#name = 'begin';
    this.#exchange(asked.includes(lookAtServer) ? 'look' : this.#name, asked);
  }

  #exchange(name: string, asked: Buffer): void {
    // A read of another cell than the one before enters it first: that is no exchange by itself.
    const isEntry = name === 'enter';
    if (!isEntry) this.#proxy.seen.push(name);
    this.#proxy.unanswered += 1;
    const fault = isEntry ? undefined : this.#proxy.onExchange(name);
    this.#open.push({ name, fault });
    if (fault?.kind === 'hold') {
      this.#held ??= [];
      void fault.until.then(() => this.#release());
    }
    const isLater = fault === undefined || fault.kind === 'hold' || isAfter(fault);
    if (isLater) this.#toDatabase(asked);
    else this.#strike(name, fault);
  }

  /** The fault comes instead of the exchange. */
  #strike(name: string, fault: Fault): void {
    const instead = insteadOf(fault);
    if (instead !== undefined && name !== 'connect') {
      this.#toDatabase(query(instead));
      return;
    }
    this.#isDeafToService = true;
    if (instead !== undefined) {
      this.#client.end(fatal(fault.kind === 'raise' ? fault.sqlstate : '57P01'));
      this.#database.destroy();
    }
    if (fault.kind === 'run') fault.work();
    if (fault.kind === 'reset') this.#break();
    if (fault.kind === 'silence') this.#isDeafToServer = true;
  }

  #fromServer({ type, bytes }: Message): void {
    if (this.#isDeafToServer) return;
    this.#answered.push(bytes);
    const [first] = this.#open;
    // Of a start-up, the server asks for a password before it is ready.
    const isPart = type === 'R' && first?.name === 'connect';
    if (type !== 'Z' && !isPart) return;
    const answered = Buffer.concat(this.#answered);
    this.#answered = [];
    if (type === 'Z' && this.#open.shift() !== undefined) this.#proxy.unanswered -= 1;
    const { name, fault } = first ?? {};
    if (isPart || fault === undefined || !isAfter(fault)) {
      this.#toService(answered, name);
      return;
    }
    // The fault comes instead of the answer.
    this.#isDeafToService = true;
    this.#isDeafToServer = true;
    if (fault.kind === 'run') fault.work();
    if (fault.kind === 'reset') this.#break();
  }

  /** What has been sent is done; the service hears no more of it. */
  #break(): void {
    this.#isDeafToService = true;
    this.#isDeafToServer = true;
    this.#client.destroy();
    this.#database.end();
  }

  #release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const bytes of held) this.#toDatabase(bytes);
  }

  #toDatabase(bytes: Buffer): void {
    if (this.#held !== undefined) {
      this.#held.push(bytes);
      return;
    }
    const name = this.#open.at(-1)?.name ?? '';
    const allowance = this.#proxy.allowance('toDatabase', bytes.length, name);
    this.#database.write(bytes.subarray(0, allowance));
    if (allowance !== undefined) this.#break();
  }

  #toService(bytes: Buffer, name = ''): void {
    if (bytes.length === 0) return;
    const allowance = this.#proxy.allowance('toService', bytes.length, name);
    if (allowance === undefined) {
      this.#client.write(bytes);
      return;
    }
    this.#isDeafToService = true;
    this.#isDeafToServer = true;
    const lastWords = this.#proxy.isTold ? fatal('08P01') : Buffer.alloc(0);
    this.#client.end(Buffer.concat([bytes.subarray(0, allowance), lastWords]));
    this.#database.end();
  }
}

const isAfter = (fault: Fault): boolean => 'when' in fault && fault.when === 'after';

function insteadOf(fault: Fault): string | undefined {
  if (fault.kind === 'end') return 'select pg_terminate_backend(pg_backend_pid())';
  if (fault.kind === 'sleep') return 'select pg_sleep(60)';
  if (fault.kind !== 'raise') return undefined;
  const { sqlstate, constraint = '' } = fault;
  return `do $$ begin
    raise exception 'failpoint' using errcode = '${sqlstate}', constraint = '${constraint}';
  end $$`;
}

function query(text: string): Buffer {
  return message('Q', `${text}\0`);
}

function fatal(sqlstate: string): Buffer {
  return message('E', `SFATAL\0VFATAL\0C${sqlstate}\0Mfailpoint\0\0`);
}

function message(type: string, text: string): Buffer {
  const body = Buffer.from(text);
  const head = Buffer.alloc(5);
  head.write(type, 'latin1');
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}
