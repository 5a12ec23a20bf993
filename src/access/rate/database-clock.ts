// What the database's clock shows when this node's clock shows some moment, so that a question that
// was long on its way is judged by what the node had used when it arrived.

/** By how much the two clocks may part, in seconds per second: ten times what oscillators do. */
const drift = 0.001;

export class DatabaseClock {
  /** By how many seconds the database's is ahead, at least. */
  #ahead: number | undefined;
  #at = 0;

  /**
   * @param now in microseconds of this node's clock.
   * @returns in seconds of the database's, too early rather than too late; null before the first
   *   answer.
   */
  timeAt(now: number): number | null {
    return this.#ahead === undefined ? null : this.#aheadAt(now, this.#ahead) + now / 1_000_000;
  }

  /**
   * @param askedAt in microseconds of this node's clock, as `answeredAt`.
   * @param time what the database's clock showed between the question and its answer, in seconds.
   */
  note(askedAt: number, time: number, answeredAt: number): void {
    // The answer that was the least time on its way says it best. None is from before its question.
    const least = time - answeredAt / 1_000_000;
    const most = time - askedAt / 1_000_000;
    const before = this.#ahead ?? least;
    this.#ahead = Math.min(Math.max(least, this.#aheadAt(answeredAt, before)), most);
    this.#at = answeredAt;
  }

  #aheadAt(now: number, ahead: number): number {
    return ahead - (drift * (now - this.#at)) / 1_000_000;
  }
}
