// A consumer of the feed: it asks for what is behind its place, and stores the new place
// afterwards. Now and then it dies in between, and goes on from where it was.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.ts';
import type { Caller } from './caller.ts';
import type { ClientSetup } from './setup.ts';

/** Of an answer, whether it dies before it has stored the place. */
const deathRate = 0.15;
const limits = [1, 7, 50, 200];

export class Follower {
  readonly #setup: ClientSetup;
  readonly #caller: Caller;
  readonly #random: Random;
  readonly #credential: 'steady' | 'shaken';
  #place = { position: 0, journal: '' };
  #isDraining = false;

  constructor(setup: ClientSetup, caller: Caller, random: Random, credential: 'steady' | 'shaken') {
    this.#setup = setup;
    this.#caller = caller;
    this.#random = random;
    this.#credential = credential;
  }

  drain(): void {
    this.#isDraining = true;
  }

  /** Until `drain`, and then until it has seen the end. */
  async run(): Promise<void> {
    for (let isAtEnd = false; !isAtEnd || !this.#isDraining; ) {
      isAtEnd = await this.#follow();
      await sleep(this.#random.between(0, 60));
    }
  }

  /** Whether the answer has shown the end of the journal. */
  async #follow(): Promise<boolean> {
    const { position, journal } = this.#place;
    const query = new URLSearchParams({
      after_position: String(position),
      ...(journal === '' ? {} : { journal }),
      limit: String(this.#random.pick(limits)),
      wait: String(this.#isDraining ? 0 : this.#random.below(3)),
    });
    const { status, through, isCut } = await this.#caller.ask(
      {
        kind: 'events',
        credential: this.#credential,
        method: 'GET',
        path: `/events?${query}`,
        after: position,
      },
      this.#random.below(this.#setup.ports.length),
    );
    if (status !== 200 || through === undefined) return false;
    if (this.#random.next() >= deathRate) this.#place = through;
    return isCut !== true;
  }
}
