// PgBouncer between the nodes and the database, with a proxy between the two of them, which breaks
// what the pooler holds for many clients.

import { type Pooler, poolerFor } from '../../kit/pgbouncer.ts';
import { addressOf, throughPort, type Urls } from './database.ts';
import { ToxicProxy } from './toxic-proxy.ts';

export class ChaosPooler implements Urls {
  readonly ownerUrl: string;
  readonly serviceUrl: string;
  /** Between the pooler and what is behind it. */
  readonly behind: ToxicProxy;
  readonly #pooler: Pooler;

  private constructor(pooler: Pooler, behind: ToxicProxy, { ownerUrl, serviceUrl }: Urls) {
    this.#pooler = pooler;
    this.behind = behind;
    this.ownerUrl = pooler.through(ownerUrl);
    this.serviceUrl = pooler.through(serviceUrl);
  }

  static async before(entry: Urls): Promise<ChaosPooler> {
    const behind = new ToxicProxy(() => addressOf(entry.serviceUrl));
    await behind.listen();
    const urls = [entry.ownerUrl, entry.serviceUrl].map((url) => throughPort(url, behind.port));
    return new ChaosPooler(await poolerFor(urls), behind, entry);
  }

  signal(name: NodeJS.Signals): void {
    this.#pooler.signal(name);
  }

  end(signal: NodeJS.Signals): Promise<void> {
    return this.#pooler.end(signal);
  }

  start(): Promise<void> {
    return this.#pooler.start();
  }

  restart(signal: NodeJS.Signals): Promise<void> {
    return this.#pooler.restart(signal);
  }

  async stop(): Promise<void> {
    await this.#pooler.stop();
    await this.behind.close();
  }
}
