// What a check is: a sentence of the interface, why it matters to a merchant, and how one sees from
// outside whether it is so.

import type { Shop } from './shop.ts';

export interface Check {
  /** The sentence. */
  readonly name: string;
  /** What a merchant loses where it is not so: one sentence. */
  readonly why: string;
  readonly run: (shop: Shop) => Promise<void>;
}

export interface Subject {
  readonly title: string;
  readonly checks: readonly Check[];
}

export const check = (name: string, why: string, run: Check['run']): Check => ({ name, why, run });
