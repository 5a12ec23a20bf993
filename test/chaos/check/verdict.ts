// What a check has found.

export interface Finding {
  /** What must not be, such as "keys with two answers". */
  readonly what: string;
  /** Each case of it; none, if all is well. */
  readonly faults: readonly string[];
}
