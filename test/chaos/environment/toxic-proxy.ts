// A TCP proxy that does to connections what networks do: reset, delay, swallow, cut. What it has
// swallowed a part of stays silent for good, also once healed: nobody tells either end.

import { connect, createServer, type NetConnectOpts, type Server, type Socket } from 'node:net';

export type Direction = 'toServer' | 'toClient';

export type Toxic =
  | { readonly kind: 'latency'; readonly ms: number }
  | { readonly kind: 'blackhole' }
  | { readonly kind: 'half-open'; readonly lost: Direction }
  /** Resets a connection once so many bytes went this way. */
  | { readonly kind: 'cut'; readonly after: number; readonly direction: Direction };

/** Between a vanished host and the moment somebody stops waiting for it. */
const lingerMs = 10_000;

export class ToxicProxy {
  readonly #server: Server;
  readonly #open = new Set<Bridge>();
  toxic: Toxic | undefined;
  /** Connections and pieces of messages that something was done to. */
  touched = 0;

  /** `upstream` is asked for every connection; undefined: nobody is there, it is reset. */
  constructor(upstream: () => NetConnectOpts | undefined) {
    this.#server = createServer({ noDelay: true }, (client) => {
      const address = upstream();
      if (address === undefined) {
        client.on('error', () => undefined);
        client.resetAndDestroy();
        return;
      }
      const bridge = new Bridge(client, connect(address), {
        toxic: () => this.toxic,
        touch: () => {
          this.touched += 1;
        },
      });
      this.#open.add(bridge);
      client.on('close', () => this.#open.delete(bridge));
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  /** Resets all connections. */
  reset(): void {
    this.touched += this.#open.size;
    for (const bridge of this.#open) bridge.reset();
  }

  async close(): Promise<void> {
    this.reset();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** What a bridge is told by its proxy, and tells it. */
interface Poison {
  toxic(): Toxic | undefined;
  touch(): void;
}

/** One connection from end to end. */
class Bridge {
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #poison: Poison;
  /** Something of it was swallowed: from then on each end thinks what it likes. */
  #isSilent = false;

  constructor(client: Socket, server: Socket, poison: Poison) {
    this.#client = client;
    this.#server = server;
    this.#poison = poison;
    this.#carry(client, server, 'toServer');
    this.#carry(server, client, 'toClient');
  }

  reset(): void {
    abort(this.#client);
    abort(this.#server);
  }

  #carry(from: Socket, to: Socket, direction: Direction): void {
    let carried = 0;
    let sent = Promise.resolve();
    from.on('data', (bytes) => {
      const toxic = this.#poison.toxic();
      this.#isSilent ||= swallows(toxic, direction);
      if (this.#isSilent) return this.#poison.touch();
      carried += bytes.length;
      if (toxic?.kind === 'cut' && toxic.direction === direction && carried > toxic.after) {
        this.#poison.touch();
        to.write(bytes.subarray(0, Math.max(0, bytes.length - (carried - toxic.after))), () =>
          this.reset(),
        );
        return;
      }
      const delay = toxic?.kind === 'latency' ? toxic.ms : 0;
      if (delay > 0) this.#poison.touch();
      // In turn, so that what is sent later is not there sooner.
      sent = sent.then(() => pause(delay)).then(() => void to.write(bytes));
    });
    from.on('error', () => this.#part(to, abort));
    from.on('close', () => void sent.then(() => this.#part(to, (other) => other.destroySoon())));
  }

  /** The other end of a silent connection learns nothing, until nobody would wait any longer. */
  #part(other: Socket, how: (other: Socket) => void): void {
    if (this.#isSilent) setTimeout(how, lingerMs, other).unref();
    else how(other);
  }
}

/** A reset, where there is such a thing: a Unix socket knows none. */
function abort(socket: Socket): void {
  if (socket.remoteFamily === undefined) socket.destroy();
  else socket.resetAndDestroy();
}

function swallows(toxic: Toxic | undefined, direction: Direction): boolean {
  if (toxic?.kind === 'blackhole') return true;
  return toxic?.kind === 'half-open' && toxic.lost === direction;
}

function pause(ms: number): Promise<void> | undefined {
  return ms === 0 ? undefined : new Promise((resolve) => setTimeout(resolve, ms));
}
