// Mutants of reservations.

import type { Mutant } from './mutant.ts';

const decide = 'src/reservations/decide.ts';
const own = 'src/reservations/reservations.test.ts';

export const reservationMutants: readonly Mutant[] = [
  {
    name: 'reservation-of-what-is-put-aside',
    breaks: 'the same is put aside twice',
    edits: [
      {
        file: decide,
        from: 'availableOf(stock, { product_id, location_id }),',
        to: 'quantityOf(stock, { product_id, location_id }),',
      },
    ],
    suites: [own],
  },
  {
    name: 'sale-of-what-is-put-aside',
    breaks: 'a sale takes what was put aside for somebody',
    edits: [
      {
        file: 'src/transfers/decide.ts',
        from: 'return isGone ? quantityOf(stock, pair) : availableOf(stock, pair);',
        to: 'return isGone ? availableOf(stock, pair) : quantityOf(stock, pair);',
      },
    ],
    suites: [own],
  },
  {
    name: 'expired-counts-until-swept',
    breaks: 'what has expired is available only once something has swept it',
    edits: [
      {
        file: 'src/inventory/store.ts',
        from: 'and l.expires_at <= (select moment from now)), 0))::text',
        to: "and l.expires_at <= (select moment - interval '1 day' from now)), 0))::text",
      },
    ],
    suites: [own],
  },
  {
    name: 'replay-behind-a-lost-grant',
    breaks: 'a replay shows what is at a location that is not granted any more',
    edits: [
      {
        file: 'src/operations/dispatch.ts',
        from: 'if (replayed) await this.#requireReach(write);',
        to: '',
      },
    ],
    suites: [own],
  },
];
