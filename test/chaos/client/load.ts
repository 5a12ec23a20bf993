// What a client does all day: writes, keys sent twice, at once and much later, and reads in
// between. Every write is sent until it is answered.

import { setTimeout as sleep } from 'node:timers/promises';
import { type Attempt, isSettled } from '../history.ts';
import { Random } from '../random.ts';
import type { Caller, Question } from './caller.ts';
import { Follower } from './follow.ts';
import { Questions } from './questions.ts';
import type { ClientSetup } from './setup.ts';

const loops = 6;
const actions = {
  adjust: 30,
  transfer: 20,
  duplicates: 15,
  conflict: 7,
  rivals: 12,
  replay: 10,
  customer: 4,
  product: 2,
  change: 7,
  status: 2,
  count: 6,
  reserve: 9,
  end: 7,
  upsert: 6,
  batch: 6,
  person: 3,
  token: 3,
  life: 4,
  look: 16,
} as const;

/** The mean pause between two actions of a loop. */
const pauseMs = 12;

export class Load {
  readonly #setup: ClientSetup;
  readonly #caller: Caller;
  readonly #random: Random;
  readonly #questions: Questions;
  readonly #followers: readonly Follower[];
  /** Writes that were answered, to be sent again. */
  readonly #past: Question[] = [];
  /** Movements it may read. */
  readonly #movements: string[] = [];
  #isDraining = false;

  constructor(setup: ClientSetup, caller: Caller) {
    this.#setup = setup;
    this.#caller = caller;
    this.#random = new Random(setup.seed);
    this.#questions = new Questions(setup, this.#random);
    this.#followers = (['steady', 'shaken'] as const).map(
      (credential) => new Follower(setup, caller, this.#random, credential),
    );
  }

  /** Until `drain`, and then until everything begun has been answered. */
  async run(): Promise<void> {
    const loading = Promise.all(Array.from({ length: loops }, () => this.#loop()));
    const following = Promise.all(this.#followers.map((follower) => follower.run()));
    // The last event is that of the last write.
    await loading;
    for (const follower of this.#followers) follower.drain();
    await following;
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
      await this.#act();
      await sleep(this.#random.between(0, 2 * pauseMs));
    }
  }

  async #act(): Promise<void> {
    const ask = this.#questions;
    switch (this.#random.weighed(actions)) {
      case 'adjust':
        return this.#do(ask.adjust());
      case 'transfer':
        return this.#do(ask.transfer());
      case 'duplicates': {
        const one = this.#random.next() < 0.7 ? ask.adjust() : ask.transfer();
        return this.#together(this.#copies(one));
      }
      case 'conflict': {
        // One body to each of two nodes, under one key: one is done, the other refused.
        const one = this.#conflicting();
        return this.#together([one, ask.rival(one)]);
      }
      case 'rivals': {
        const one = ask.adjust();
        return this.#together([one, ask.again(one)]);
      }
      case 'replay': {
        if (this.#past.length === 0) return;
        await this.#settle(this.#random.pick(this.#past), this.#node());
        return;
      }
      case 'customer':
        return this.#together(this.#copies(ask.customer()));
      case 'product':
        return this.#together(this.#copies(ask.product()));
      case 'change':
        return this.#together(this.#copies(ask.change()));
      case 'count':
        return this.#together(this.#copies(ask.count()));
      case 'reserve':
        return this.#together(this.#copies(ask.reserve()));
      case 'end':
        return this.#end();
      case 'upsert':
        // The others of the same moment are other clients', and this one's own.
        return this.#together([...this.#copies(ask.upsert()), ask.upsert()]);
      case 'batch':
        return this.#batch();
      case 'person':
        return this.#together(this.#copies(ask.person()));
      case 'token':
        return this.#together(this.#copies(ask.token()));
      case 'life':
        return this.#life();
      case 'status':
        return this.#together(this.#copies(ask.locationStatus()));
      default:
        return this.#look();
    }
  }

  /** Often in two ways at once: one of them comes first. */
  async #end(): Promise<void> {
    const one = this.#questions.end();
    if (one === undefined) return;
    const other = this.#questions.endOf(one.id ?? '', this.#random.pick(['release', 'fulfil']));
    await this.#together(this.#random.next() < 0.5 ? this.#copies(one) : [one, other]);
  }

  /** Of a token: made, used, revoked by several requests, and tried at both nodes afterwards. */
  async #life(): Promise<void> {
    const ask = this.#questions;
    const made = ask.token();
    const [first] = await Promise.all([this.#settle(made, 0), this.#settle(made, 1)]);
    this.#past.push(made);
    if (first.status !== 201 || first.resource === undefined) return;
    const text = this.#caller.textOf(first.resource);
    const both = (kind: 'use' | 'ended') =>
      text === undefined
        ? []
        : [0, 1].map((node) => this.#caller.ask(ask.asProgram(kind, text), node));
    await Promise.all(both('use'));
    await this.#together(this.#copies(ask.revoke(first.resource)));
    await Promise.all(both('ended'));
  }

  /** The list until it is answered; then what is not done by itself, or all of it once more. */
  async #batch(): Promise<void> {
    const { batch, items } = this.#questions.batch();
    if (items.length === 0) return;
    const results = await this.#settleAll(batch, items);
    const isOpen = ({ kind, key }: Question) =>
      !results.some((one) => one.kind === kind && one.key === key && isSettled(one));
    const open = items.filter(isOpen);
    for (const item of items) {
      const result = results.find(({ kind, key }) => kind === item.kind && key === item.key);
      if (result !== undefined && !isOpen(item)) this.#note(item, result);
    }
    const next = this.#random.weighed({ open: 5, list: 3, all: 2 });
    if (next === 'list') await this.#settleAll(batch, items);
    await this.#together(next === 'all' ? items : open);
  }

  #conflicting(): Question {
    const ask = this.#questions;
    const kind = this.#random.weighed({ adjust: 12, transfer: 3, change: 5 });
    return {
      adjust: () => ask.adjust(),
      transfer: () => ask.transfer(),
      change: () => ask.change(),
    }[kind]();
  }

  async #look(): Promise<void> {
    const { locations, booth, foreign } = this.#setup;
    const read = { credential: 'steady', method: 'GET' } as const;
    const kind = this.#random.weighed({ levels: 10, movement: 3, foreign: 3, trespass: 1 });
    const node = this.#node();
    if (kind === 'levels') {
      const path = `/inventory/levels?location_id=${this.#random.pick([...locations, booth])}`;
      await this.#caller.ask({ ...read, kind, path }, node);
    } else if (kind === 'foreign') {
      const path = this.#random.pick([
        `/products/${foreign.product}`,
        `/inventory/levels?location_id=${foreign.location}`,
      ]);
      await this.#caller.ask({ ...read, kind, path }, node);
    } else if (kind === 'trespass') {
      await this.#settle(this.#questions.trespass(), node);
    } else if (this.#movements.length > 0) {
      const path = `/inventory/movements/${this.#random.pick(this.#movements)}`;
      await this.#caller.ask({ ...read, kind, path }, node);
    }
  }

  async #do(question: Question, node = this.#node()): Promise<void> {
    this.#note(question, await this.#settle(question, node));
  }

  /** What an answer has shown is used by later requests. */
  #note(question: Question, { status, resource, position, journal }: Attempt): void {
    const { kind, credential } = question;
    this.#past.push(question);
    const isOurs = credential !== 'neighbour';
    if (isOurs && position !== undefined && journal !== undefined) {
      this.#questions.seen({ position, journal });
    }
    if (resource === undefined || (status !== 201 && kind !== 'upsert')) return;
    if (kind === 'reserve') this.#questions.held(resource);
    else if (kind === 'customer') this.#questions.made(`/customers/${resource}`);
    else if (kind === 'person') this.#questions.made(`/people/${resource}`);
    else if (kind === 'token') this.#questions.made(`/tokens/${resource}`);
    else if (kind === 'product' || kind === 'upsert') {
      this.#questions.made(`/products/${resource}`);
    } else if (kind === 'adjust' && isOurs) this.#movements.push(resource);
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

  /** The same of a batch. @returns its answer, and those to its writes, which may not be final. */
  async #settleAll(batch: Question, items: readonly Question[]): Promise<readonly Attempt[]> {
    for (let tries = 1; ; tries += 1) {
      const attempts = await this.#caller.askAll(batch, items, this.#node());
      if (attempts[0] !== undefined && isSettled(attempts[0])) return attempts;
      await sleep(this.#random.between(10, Math.min(400, 30 * tries)));
    }
  }

  async #together(questions: readonly Question[]): Promise<void> {
    await Promise.all(questions.map((question, index) => this.#do(question, index % 2)));
  }

  #copies(question: Question): Question[] {
    return Array.from({ length: 2 + this.#random.below(3) }, () => question);
  }

  #node(): number {
    return this.#random.below(this.#setup.ports.length);
  }
}
