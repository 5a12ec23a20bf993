// Two small merchants whose records have the same IDs, next to each other in every index: what one
// lacks, a statement that forgets the merchant finds at the other.

import type { Api } from './api.ts';
import type { Environment } from './environment.ts';
import { mirrorOf } from './mirror.ts';

export interface Neighbour {
  readonly merchant: string;
  readonly credential: string;
  readonly token: string;
  readonly api: Api;
}

/** In the order of indexes. Each has one product and one location, and has done nothing yet. */
export async function neighbours({ api, db, given }: Pick<Environment, 'api' | 'db' | 'given'>) {
  const merchant = await given.merchant();
  const { id: credential, token } = await given.credential(merchant);
  const product = await given.product(merchant);
  const location = await given.location(merchant);
  const copy = await mirrorOf(db, merchant, [token]);
  const side = (of: string, by = ''): Neighbour => {
    return { merchant: of, credential, token: by, api: api.as(by) };
  };
  const [one, other] = [side(merchant, token), side(copy.merchant, copy.tokens[0])];
  const [first, second] = one.merchant < other.merchant ? [one, other] : [other, one];
  return { first, second, product, location };
}
