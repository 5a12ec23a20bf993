// What a client does all day: few levels and small quantities, so that requests meet; keys sent
// twice, at once and much later; and reads in between. Every write is sent until it is answered.

import { setTimeout as sleep } from 'node:timers/promises';
import { type Attempt, type CredentialName, isSettled } from '../history.ts';
import { Random } from '../random.ts';
import type { Caller, Question } from './caller.ts';
import type { ClientSetup } from './setup.ts';

const loops = 6;
const deeds = {
  adjust: 34,
  twins: 16,
  conflict: 7,
  rivals: 12,
  replay: 10,
  customer: 5,
  levels: 10,
  movement: 3,
  foreign: 3,
} as const;

/** Mean rest between two deeds of a loop. */
const restMs = 12;

export class Load {
  readonly #setup: ClientSetup;
  readonly #caller: Caller;
  readonly #random: Random;
  /** Writes that were answered, to be sent again. */
  readonly #past: Question[] = [];
  /** Movements it may read. */
  readonly #movements: string[] = [];
  #isDraining = false;

  constructor(setup: ClientSetup, caller: Caller) {
    this.#setup = setup;
    this.#caller = caller;
    this.#random = new Random(setup.seed);
  }

  /** Until `drain`, and then until everything begun has been answered. */
  async run(): Promise<void> {
    await Promise.all(Array.from({ length: loops }, () => this.#loop()));
  }

  drain(): void {
    this.#isDraining = true;
  }

  /** Sends keys of the past again, from the whole of it. */
  async replay(count: number): Promise<void> {
    const chosen = this.#random.shuffled(this.#past).slice(0, count);
    const next = async (): Promise<void> => {
      for (let one = chosen.pop(); one !== undefined; one = chosen.pop()) {
        await this.#settle(one, this.#node());
      }
    };
    await Promise.all(Array.from({ length: loops }, next));
  }

  async #loop(): Promise<void> {
    while (!this.#isDraining) {
      await this.#deed();
      await sleep(this.#random.between(0, 2 * restMs));
    }
  }

  async #deed(): Promise<void> {
    switch (this.#random.weighed(deeds)) {
      case 'adjust':
        return this.#do(this.#adjust());
      case 'twins':
        return this.#together(this.#copies(this.#adjust()));
      case 'conflict':
        return this.#conflict();
      case 'rivals': {
        const one = this.#adjust();
        return this.#together([one, { ...one, key: this.#key() }]);
      }
      case 'replay': {
        if (this.#past.length === 0) return;
        await this.#settle(this.#random.pick(this.#past), this.#node());
        return;
      }
      case 'customer':
        return this.#together(this.#copies(this.#customer()));
      default:
        return this.#look();
    }
  }

  /** One body to each of two nodes, under one key: one is done, the other refused. */
  #conflict(): Promise<void> {
    const one = this.#adjust();
    const { product, location, quantity } = one.target ?? this.#target();
    const other = { product, location, quantity: String(Number(quantity) + 1) };
    const { credential, key = '' } = one;
    return this.#together([one, { ...this.#adjust(other), credential, key, variant: 1 }]);
  }

  async #look(): Promise<void> {
    const { locations, foreign } = this.#setup;
    const read = { credential: 'steady', method: 'GET' } as const;
    const kind = this.#random.weighed({ levels: 10, movement: 3, foreign: 3 });
    const node = this.#node();
    if (kind === 'levels') {
      const path = `/inventory/levels?location_id=${this.#random.pick(locations)}`;
      await this.#caller.ask({ ...read, kind, path }, node);
    } else if (kind === 'foreign') {
      const path = this.#random.pick([
        `/products/${foreign.product}`,
        `/inventory/levels?location_id=${foreign.location}`,
      ]);
      await this.#caller.ask({ ...read, kind, path }, node);
    } else if (this.#movements.length > 0) {
      const path = `/inventory/movements/${this.#random.pick(this.#movements)}`;
      await this.#caller.ask({ ...read, kind, path }, node);
    }
  }

  async #do(question: Question, node = this.#node()): Promise<void> {
    const { status, resource } = await this.#settle(question, node);
    this.#past.push(question);
    const isReadable = question.kind === 'adjust' && question.credential !== 'neighbour';
    if (status === 201 && isReadable && resource !== undefined) this.#movements.push(resource);
  }

  /** Sends it until it is answered for good, by either node. */
  async #settle(question: Question, first: number): Promise<Attempt> {
    let node = first;
    for (let tries = 1; ; tries += 1) {
      const attempt = await this.#caller.ask(question, node);
      if (isSettled(attempt)) return attempt;
      await sleep(this.#random.between(10, Math.min(400, 30 * tries)));
      node = this.#node();
    }
  }

  async #together(questions: readonly Question[]): Promise<void> {
    await Promise.all(questions.map((question, index) => this.#do(question, index % 2)));
  }

  #copies(question: Question): Question[] {
    return Array.from({ length: 2 + this.#random.below(3) }, () => question);
  }

  #adjust(target = this.#target()): Question {
    const credential = this.#writer(target.product);
    const { product, location, quantity } = target;
    const body = {
      product_id: product,
      location_id: location,
      target_quantity: quantity,
      reason: 'stock_count',
    };
    const path = '/inventory/adjustments';
    const key = this.#key();
    return { kind: 'adjust', credential, method: 'POST', path, key, variant: 0, target, body };
  }

  #customer(): Question {
    const name = this.#random.word(12);
    const path = '/customers';
    const key = this.#key();
    const body = { name, email: `${name}@example.com` };
    return { kind: 'customer', credential: 'steady', method: 'POST', path, key, variant: 0, body };
  }

  /** Small numbers are often what the level has already. */
  #target() {
    const { products, locations, foreign } = this.#setup;
    const most = this.#random.next() < 0.4 ? 3 : 1_000_000;
    const quantity = String(this.#random.below(most));
    if (this.#random.next() < 0.1) return { ...foreign, quantity };
    return {
      product: this.#random.pick(products),
      location: this.#random.pick(locations),
      quantity,
    };
  }

  #writer(product: string): CredentialName {
    if (product === this.#setup.foreign.product) return 'neighbour';
    return this.#random.next() < 0.2 ? 'shaken' : 'steady';
  }

  #key(): string {
    return `${this.#setup.client}-${this.#random.word(24)}`;
  }

  #node(): number {
    return this.#random.below(this.#setup.ports.length);
  }
}
