// Faults of rights: a credential loses its locations, a scope or its token for a while.

import type { Fault } from './nemesis.ts';

export const rightsFaults: readonly Fault[] = [
  {
    name: 'grant taken and given back',
    strike: ({ operator }, random) => operator.takeGrant(random.between(100, 1_000)),
  },
  {
    name: 'scope taken and given back',
    strike: ({ operator }, random) => operator.takeScope(random.between(100, 1_000)),
  },
  {
    name: 'token replaced',
    strike: ({ operator }, random) => operator.rotate(random.between(50, 500)),
  },
];
