// Random numbers from a seed, so that a run can be repeated with the same choices. What the machine
// makes of them in time is its own.

import { Draws } from '../../src/simulation/clock.ts';

export class Random extends Draws {
  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  }

  /** One of the names, as often as its weight says. */
  weighed<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries<number>(weights) as [Name, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    return this.pick(entries)[0];
  }

  shuffled<Item>(items: readonly Item[]): Item[] {
    const all = items.map((item) => ({ item, place: this.next() }));
    return all.sort((a, b) => a.place - b.place).map(({ item }) => item);
  }

  /** A string of letters and digits, such as a key is made of. */
  word(length: number): string {
    let text = '';
    while (text.length < length) text += this.below(36).toString(36);
    return text;
  }
}
