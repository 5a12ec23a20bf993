// Locks as the database has them: granted in order of arrival, or a time-out; and its errors.

import pg from 'pg';

interface Lock<Owner> {
  owner: Owner;
  readonly waiting: { readonly owner: Owner; readonly grant: () => void }[];
}

export class Locks<Owner extends { readonly lockTimeout: number }> {
  readonly #locks = new Map<string, Lock<Owner>>();

  get held(): number {
    return this.#locks.size;
  }

  isOf(owner: Owner, name: string): boolean {
    return this.#locks.get(name)?.owner === owner;
  }

  async take(owner: Owner, name: string): Promise<void> {
    const lock = this.#locks.get(name);
    if (lock === undefined) this.#locks.set(name, { owner, waiting: [] });
    if (lock === undefined || lock.owner === owner) return;
    await new Promise<void>((resolve, reject) => {
      const grant = () => {
        clearTimeout(timer);
        resolve();
      };
      const waiter = { owner, grant };
      const timer = setTimeout(() => {
        lock.waiting.splice(lock.waiting.indexOf(waiter), 1);
        reject(serverError('55P03'));
      }, owner.lockTimeout);
      lock.waiting.push(waiter);
    });
  }

  /** All that are held: each goes to who has waited for it longest. */
  release(owner: Owner): void {
    for (const [name, lock] of this.#locks) {
      if (lock.owner !== owner) continue;
      const next = lock.waiting.shift();
      if (next === undefined) this.#locks.delete(name);
      else {
        lock.owner = next.owner;
        next.grant();
      }
    }
  }
}

export function serverError(code: string, constraint?: string): pg.DatabaseError {
  const error = new pg.DatabaseError('made by the test', 0, 'error');
  error.code = code;
  if (constraint !== undefined) error.constraint = constraint;
  return error;
}
