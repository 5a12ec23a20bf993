// An outbox in a browser. Of pages that came over https one uses it at a time: two would each keep
// their own order.

import type { OutboxEntry, OutboxStore } from './outbox-store.ts';

/** What is used of IndexedDB and of Web Locks: the types of browsers are not there everywhere. */
interface Request<Result> {
  result: Result;
  error: unknown;
  onsuccess: (() => void) | null;
  onerror: (() => void) | null;
}

interface ObjectStore {
  add(value: unknown): Request<unknown>;
  put(value: unknown, key: unknown): Request<unknown>;
  delete(key: unknown): Request<unknown>;
  getAll(): Request<OutboxEntry[]>;
  createIndex(name: string, path: string, options: { unique: boolean }): unknown;
  index(name: string): { getKey(id: string): Request<unknown> };
}

interface Transaction {
  objectStore(name: string): ObjectStore;
  oncomplete: (() => void) | null;
  onabort: (() => void) | null;
  error: unknown;
}

interface Database {
  createObjectStore(name: string, options: { autoIncrement: boolean }): ObjectStore;
  transaction(name: string, mode: string, options: { durability: string }): Transaction;
  close(): void;
}

interface Browser {
  readonly indexedDB: {
    open(
      name: string,
      version: number,
    ): Request<Database> & { onupgradeneeded: (() => void) | null };
  };
  readonly navigator: {
    readonly locks?: {
      request(
        name: string,
        options: { ifAvailable: boolean },
        held: (lock: unknown) => Promise<void> | undefined,
      ): Promise<void>;
    };
  };
}

const entries = 'entries';

export class IndexedDbStore implements OutboxStore {
  readonly #database: Database;
  readonly #unlock: () => void;

  private constructor(database: Database, unlock: () => void) {
    this.#database = database;
    this.#unlock = unlock;
  }

  static async open(name = 'tallybook-outbox'): Promise<IndexedDbStore> {
    const browser = globalThis as unknown as Browser;
    const unlock = await lock(browser, name);
    const opening = browser.indexedDB.open(name, 1);
    opening.onupgradeneeded = () => {
      const store = opening.result.createObjectStore(entries, { autoIncrement: true });
      store.createIndex('id', 'id', { unique: true });
    };
    return new IndexedDbStore(await resultOf(opening), unlock);
  }

  all(): Promise<readonly OutboxEntry[]> {
    return this.#run('readonly', (store) => resultOf(store.getAll()));
  }

  async add(entry: OutboxEntry): Promise<void> {
    await this.#run('readwrite', (store) => resultOf(store.add(entry)));
  }

  async replace(entry: OutboxEntry): Promise<void> {
    await this.#run('readwrite', async (store) => {
      await resultOf(store.put(entry, await resultOf(store.index('id').getKey(entry.id))));
    });
  }

  async remove(id: string): Promise<void> {
    await this.#run('readwrite', async (store) => {
      const key = await resultOf(store.index('id').getKey(id));
      if (key !== undefined) await resultOf(store.delete(key));
    });
  }

  /** Lets another page have it. */
  close(): void {
    this.#database.close();
    this.#unlock();
  }

  /** Done when it is on the disk, not when the request was heard. */
  async #run<Done>(mode: string, work: (store: ObjectStore) => Promise<Done>): Promise<Done> {
    const transaction = this.#database.transaction(entries, mode, { durability: 'strict' });
    const completed = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error);
    });
    const [done] = await Promise.all([work(transaction.objectStore(entries)), completed]);
    return done;
  }
}

function resultOf<Result>(request: Request<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** It ends with its page, however that ends. */
function lock({ navigator }: Browser, name: string): Promise<() => void> {
  return new Promise((resolve, reject) => {
    if (navigator.locks === undefined) return resolve(() => undefined);
    const hold = (held: unknown) => {
      if (held !== null) return new Promise<void>((unlock) => resolve(unlock));
      reject(new Error(`${name} is used by another page.`));
      return undefined;
    };
    navigator.locks.request(name, { ifAvailable: true }, hold).catch(reject);
  });
}
