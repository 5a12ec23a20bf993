// How often an empty bucket is asked for. All nodes together should ask as often as one alone
// would, however many they are: each concludes from what it gets how many draw on the bucket. A
// node alone never concludes that it is not, or it would refuse what its own limit admits.

/** Times are in microseconds: 6 to 7 questions a second. */
const turnTime = 175_000;
/** By so much a turn may be shorter, or the same node would always come first. */
const jitter = 0.25;
/** None is kept from asking for longer. */
export const turnMax = 1_000_000;
/** How much the latest answers count, once they are about so many tokens. */
const latestPart = 0.4;
const sampleTokens = 4;

export class Turns {
  /** Which part of what comes into the bucket this node gets, a moving average. */
  #part = 1;
  #taken = 0;
  #came = 0;

  /** Of what came in since the last question, so much was taken. */
  note(taken: number, came: number): void {
    this.#taken += taken;
    this.#came += came;
    // Alone it gets what came but for one token: that is never so little as half of it.
    if (this.#came < sampleTokens) return;
    const latest = Math.min(Math.max(this.#taken, 0) / this.#came, 2);
    this.#part += (latest - this.#part) * latestPart;
    this.#taken = 0;
    this.#came = 0;
  }

  /** How long to leave the bucket alone. */
  next(): number {
    const nodes = Math.max(1, Math.round(1 / Math.max(this.#part, 0.01)));
    return Math.min(turnTime * nodes, turnMax) * (1 - jitter * Math.random());
  }
}
