// Receivers of webhooks, called by whichever node lives: one webhook of a credential that keeps its
// rights, and one of a credential that loses them. Some calls are answered late, with an error, or
// not at all.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { Finding } from './check/verdict.ts';
import { send } from './client/transport.ts';
import type { ChaosEnvironment } from './environment/environment.ts';
import { now } from './history.ts';
import type { Random } from './random.ts';

const names = ['steady', 'shaken'] as const;
type Name = (typeof names)[number];

/** What is not taken comes again after 5 s, and after 30 s if it is not taken then either. */
const settledWithinMs = 100_000;
/** The third wait is 2 minutes: longer than a run may take to end. */
const lossesMax = 2;
/** Rights were looked at so long before a call, and the call was under way so long. */
const graceMs = 5_000;
const answers = { 204: 90, 500: 3, late: 5, never: 2 } as const;

interface Call {
  readonly name: Name;
  readonly at: number;
  readonly position: number;
  readonly operation: string;
}

export class Receivers {
  readonly #environment: ChaosEnvironment;
  readonly #random: Random;
  readonly #server: Server;
  readonly #hooks = new Map<Name, { readonly id: string; readonly verifier: Webhook }>();
  readonly #calls: Call[] = [];
  /** Calls that were not taken, by webhook and event. */
  readonly #losses = new Map<string, number>();
  readonly #faults: string[] = [];
  #unsettled: string[] = [];

  private constructor(environment: ChaosEnvironment, random: Random, server: Server) {
    this.#environment = environment;
    this.#random = random;
    this.#server = server;
  }

  static async start(environment: ChaosEnvironment, random: Random): Promise<Receivers> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const receivers = new Receivers(environment, random, server);
    server.on('request', (request, response) => void receivers.#take(request, response));
    const { port } = server.address() as AddressInfo;
    for (const name of names) await receivers.#make(name, `http://127.0.0.1:${port}/${name}`);
    return receivers;
  }

  /** Until all that has happened was delivered to the one that keeps its rights. */
  async settle(): Promise<void> {
    const { database, shop } = this.#environment;
    const { merchant, cell } = shop;
    const [end] = await database.queryIn<{ last: number }>(
      cell,
      'select max(position)::int as last from operations where merchant_id = $1',
      [merchant],
    );
    const until = now() + settledWithinMs;
    const missing = () => {
      const seen = new Set(this.#of('steady').map(({ position }) => position));
      const all = Array.from({ length: end?.last ?? 0 }, (_, index) => index + 1);
      return all.filter((position) => !seen.has(position));
    };
    while (missing().length > 0 && now() < until) await sleep(100);
    const unsettled = missing();
    if (unsettled.length === 0) return;
    const progress = await database.queryIn<object>(
      cell,
      'select * from webhook_progress where merchant_id = $1 and webhook_id = $2',
      [merchant, this.#hooks.get('steady')?.id],
    );
    this.#unsettled = [`positions ${unsettled.join(', ')}: ${JSON.stringify(progress)}`];
  }

  findings(): Finding[] {
    const { bans } = this.#environment.operator;
    const despite = this.#of('shaken').filter(({ at }) =>
      bans.some(({ kind, from, until }) => kind === 'scope' && at > from + graceMs && at < until),
    );
    return [
      { what: 'events that a webhook did not deliver', faults: this.#unsettled },
      {
        what: 'events delivered after a right was revoked',
        faults: despite.map((call) => JSON.stringify(call)),
      },
      { what: 'calls that are not what was signed', faults: this.#faults },
    ];
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #of(name: Name): Call[] {
    return this.#calls.filter((call) => call.name === name);
  }

  async #make(name: Name, url: string): Promise<void> {
    const { nodes, shop } = this.#environment;
    const token = shop.credentials.find((one) => one.name === name)?.token ?? '';
    const ask = async (method: string, path: string, body?: object) => {
      const key = `webhook of the ${name}`.replaceAll(' ', '-');
      const port = nodes[0]?.front.port ?? 0;
      const incoming = await send({ port, method, path, token, key: body && key, body });
      if (!('text' in incoming) || incoming.status >= 300) {
        throw new Error(`no webhook: ${JSON.stringify(incoming)}`);
      }
      return JSON.parse(incoming.text).data;
    };
    const { id } = await ask('POST', '/webhooks', { url, from_position: '0' });
    const { secret } = await ask('GET', `/webhooks/${id}/secret`);
    this.#hooks.set(name, { id, verifier: new Webhook(secret) });
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = now();
    const parts: Buffer[] = [];
    try {
      for await (const part of request) parts.push(part as Buffer);
    } catch {
      // Its sender was killed: it comes again.
      return;
    }
    const name: Name = request.url === '/shaken' ? 'shaken' : 'steady';
    const how = this.#random.weighed(answers);
    if (how === 'late') await sleep(this.#random.below(2_000));
    if ((how === 'never' || how === '500') && this.#mayLose(name, request)) {
      if (how === '500') response.writeHead(500).end();
      return;
    }
    this.#note(name, at, Buffer.concat(parts).toString('utf8'), request);
    response.writeHead(204).end();
  }

  #mayLose(name: Name, { headers }: IncomingMessage): boolean {
    const event = `${name} ${headers['webhook-id']}`;
    const losses = this.#losses.get(event) ?? 0;
    if (losses >= lossesMax) return false;
    this.#losses.set(event, losses + 1);
    return true;
  }

  #note(name: Name, at: number, text: string, { headers }: IncomingMessage): void {
    const verifier = this.#hooks.get(name)?.verifier;
    try {
      verifier?.verify(text, headers as Record<string, string>);
      const { position, operation_id: operation } = JSON.parse(text);
      this.#calls.push({ name, at, position: Number(position), operation });
    } catch (error) {
      this.#faults.push(`${error}: ${text.slice(0, 200)}`);
    }
  }
}
