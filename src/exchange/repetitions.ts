// Which values of a file come twice: a million of them in 20 MB, because only 64 bits of a hash
// and the line of each are kept. Two of a million different ones are taken for the same once in
// 37 million files.

import { hash as hashOf } from 'node:crypto';

const shards = 256;
const slotsAtFirst = 16;
const fullFrom = 0.85;
const growth = 1.3;
/** Numbers of one slot: two halves of a hash, and a line from 1 on. */
const width = 3;

export class Lines {
  /** Shards grow one by one, so that no moment needs all of it twice. */
  readonly #shards: Shard[] = Array.from({ length: shards }, () => new Shard());

  /** The line on which it came before, or undefined: then it is kept. */
  lineOf(member: string, value: string, line: number): number | undefined {
    const hash = hashOf('sha1', `${member} ${value}`, 'buffer');
    const shard = this.#shards[hash[8] ?? 0];
    return shard?.find(hash.readUInt32LE(0), hash.readUInt32LE(4), line);
  }
}

class Shard {
  #slots = new Uint32Array(slotsAtFirst * width);
  #used = 0;

  find(one: number, other: number, line: number): number | undefined {
    const slots = this.#slots;
    const at = placeIn(slots, one, other);
    const before = slots[at + 2] ?? 0;
    if (before > 0) return before;
    slots.set([one, other, line], at);
    this.#used += 1;
    if (this.#used * width > slots.length * fullFrom) this.#grow();
    return undefined;
  }

  #grow(): void {
    const before = this.#slots;
    const slots = new Uint32Array(width * Math.ceil((before.length / width) * growth));
    for (let at = 0; at < before.length; at += width) {
      const [one = 0, other = 0, line = 0] = before.subarray(at, at + width);
      if (line > 0) slots.set([one, other, line], placeIn(slots, one, other));
    }
    this.#slots = slots;
  }
}

/** Where it is, or would be. */
function placeIn(slots: Uint32Array, one: number, other: number): number {
  const count = slots.length / width;
  for (let slot = one % count; ; slot = (slot + 1) % count) {
    const at = slot * width;
    const isFree = slots[at + 2] === 0;
    if (isFree || (slots[at] === one && slots[at + 1] === other)) return at;
  }
}
