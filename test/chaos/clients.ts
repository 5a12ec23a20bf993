// The client processes of a run, and what the supervisor tells them.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ClientSetup, ClientToken, Order, Report } from './client/setup.ts';
import type { ChaosEnvironment } from './environment/environment.ts';
import type { Attempt } from './history.ts';

const program = fileURLToPath(new URL('client/main.ts', import.meta.url));
const count = 3;

export class Clients {
  readonly #processes: readonly ChildProcess[];
  readonly #histories: readonly string[];

  private constructor(processes: readonly ChildProcess[], histories: readonly string[]) {
    this.#processes = processes;
    this.#histories = histories;
  }

  /** They begin at once, and write into the directory. */
  static start({ nodes, shop }: ChaosEnvironment, seed: number, directory: string): Clients {
    const histories = Array.from({ length: count }, (_, n) => join(directory, `${n}.jsonl`));
    const processes = histories.map((history, client) => {
      const setup: ClientSetup = {
        client,
        seed: seed * count + client,
        ports: nodes.map(({ front }) => front.port),
        products: shop.products,
        locations: shop.locations,
        crates: shop.crates,
        goods: shop.goods,
        booth: shop.booth,
        foreign: shop.foreign,
        tokens: shop.credentials,
        history,
      };
      const child = fork(program, { execArgv: ['--import', 'tsx'] });
      child.send({ kind: 'begin', setup } satisfies Order);
      return child;
    });
    return new Clients(processes, histories);
  }

  adopt({ name, token, generation }: ClientToken): void {
    this.#tell({ kind: 'token', token: { name, token, generation } });
  }

  /** Resolves when everything begun has been answered. */
  async drain(): Promise<void> {
    const drained = this.#reports('drained');
    this.#tell({ kind: 'drain' });
    await drained;
  }

  async replay(each: number): Promise<void> {
    const replayed = this.#reports('replayed');
    this.#tell({ kind: 'replay', count: each });
    await replayed;
  }

  /** They end by themselves, their histories written. */
  async quit(): Promise<void> {
    const gone = Promise.all(this.#processes.map((child) => once(child, 'exit')));
    this.#tell({ kind: 'quit' });
    await gone;
  }

  /** Without waiting for anything. */
  kill(): void {
    for (const child of this.#processes) child.kill('SIGKILL');
  }

  /** What they have written so far; a line that is not whole yet is left out. */
  async history(): Promise<Attempt[]> {
    const all: Attempt[] = [];
    for (const file of this.#histories) {
      const lines = createInterface({ input: createReadStream(file), crlfDelay: Infinity });
      for await (const line of lines) if (line.endsWith('}')) all.push(JSON.parse(line));
    }
    return all.sort((a, b) => a.start - b.start);
  }

  #tell(order: Order): void {
    for (const child of this.#processes) if (child.connected) child.send(order);
  }

  async #reports(expected: Report): Promise<void> {
    await Promise.all(
      this.#processes.map(async (child, client) => {
        const end = once(child, 'exit').then(() => {
          throw new Error(`client ${client} ended by itself`);
        });
        for (;;) {
          const [report] = await Promise.race([once(child, 'message'), end]);
          if (report === expected) return;
        }
      }),
    );
  }
}
