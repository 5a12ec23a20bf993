// What a shop asks of its stock, on the wire.

import Type from 'typebox';
import { collection } from '../contract/contract.ts';
import { Day, idIn, oneOf, QuantityOut } from '../contract/schema.ts';
import { limits } from '../core/limits.ts';
import { inventory, movementReasons } from '../inventory/contract.ts';

const DayOfStock = Type.Object(
  {
    date: Day('The day, by the clocks of the location.'),
    movements: Type.Integer({ minimum: 0, description: 'How many there were.' }),
    reasons: Type.Array(
      Type.Object({
        reason: oneOf(movementReasons, 'Of the movements.'),
        movements: Type.Integer({ minimum: 1, description: 'How many had this reason.' }),
        quantity_in: QuantityOut('What they added, as one sum over all products.'),
        quantity_out: QuantityOut('What they took away; not negative.'),
      }),
      { description: 'Those that the day had, by name.' },
    ),
  },
  { $id: 'InventoryDay', description: 'What the movements of a day came to, by reason.' },
);

export const listDays = collection({
  resource: inventory,
  name: 'inventory.daily.list',
  path: '/inventory/daily',
  summary: 'Sum up the movements of each day',
  description:
    `At one location, each day from the first to the last, ${limits.daysMax} at most. Days begin ` +
    'by the time zone that the location has now, which `meta.timezone` names. Sums add up ' +
    'whatever the units are: with `product_id` they are those of one product. All pages show one ' +
    `moment. A page sums up ${limits.movementsSummedMax.toLocaleString('en')} movements at most: ` +
    'it may have fewer days than `limit`, or none, and a cursor.',
  scope: 'inventory.read',
  query: Type.Object({
    location_id: idIn('loc_', 'The location; it must be granted.'),
    from: Day('The first day.'),
    to: Day(`The last day: at most ${limits.daysMax} in all.`),
    product_id: Type.Optional(idIn('prod_', 'Only movements of this product.')),
  }),
  data: DayOfStock,
  meta: {
    name: 'DayPageMeta',
    members: {
      timezone: Type.String({
        description: 'By which days begin and end.',
        examples: ['Europe/Berlin'],
      }),
    },
  },
  problems: ['location_not_granted', 'missing_parameter', 'journal_mismatch'],
});
