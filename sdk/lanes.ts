// Which writes of an outbox wait for each other: those about one product at one location, and those
// about one record. What a reservation holds is not in the request that ends it, so that such a
// request waits for all before it, and all behind it wait.

import type { WireRequest } from './transport.ts';

/** A pair of location and product, or one ID; nothing: it may be about anything. */
export type Lane = readonly [string, string] | readonly [string] | readonly [];

interface Body {
  readonly product_id?: string;
  readonly location_id?: string;
  readonly from_location_id?: string | null;
  readonly to_location_id?: string | null;
  readonly lines?: readonly { readonly product_id?: string }[];
}

export function lanesOf({ method, path, body = '{}' }: WireRequest): readonly Lane[] {
  if (path.startsWith('/inventory/')) {
    const asked = JSON.parse(body) as Body;
    const locations = [asked.location_id, asked.from_location_id, asked.to_location_id];
    const products = [asked.product_id, ...(asked.lines ?? []).map((line) => line.product_id)];
    const pairs = locations.flatMap((location) =>
      products.flatMap((product) => (location && product ? [[location, product] as const] : [])),
    );
    return pairs.length === 0 ? [[]] : pairs;
  }
  const [, record = ''] = /^\/\w+[/?]([^/]+)/.exec(path) ?? [];
  return method === 'POST' && record === '' ? [] : [[decodeURIComponent(record)]];
}

/** The lanes of those that are before. */
export class Occupied {
  readonly #alone = new Set<string>();
  readonly #inPairs = new Set<string>();
  readonly #pairs = new Set<string>();
  #isAll = false;

  has(lanes: readonly Lane[]): boolean {
    return this.#isAll || lanes.some((lane) => this.#hasOne(lane));
  }

  add(lanes: readonly Lane[]): void {
    for (const lane of lanes) {
      const [first, second] = lane;
      if (first === undefined) this.#isAll = true;
      else if (second === undefined) this.#alone.add(first);
      else {
        this.#pairs.add(`${first} ${second}`);
        for (const id of lane) this.#inPairs.add(id);
      }
    }
  }

  #hasOne([first, second]: Lane): boolean {
    if (first === undefined) return this.#alone.size + this.#pairs.size > 0;
    if (second === undefined) return this.#alone.has(first) || this.#inPairs.has(first);
    const isAlone = this.#alone.has(first) || this.#alone.has(second);
    return isAlone || this.#pairs.has(`${first} ${second}`);
  }
}
