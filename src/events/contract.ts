// The wire shape of events, and the feed. An event is one operation that changed something: it has
// the operation's position, and the same ID for everybody, at all times.

import Type, { type TSchema } from 'typebox';
import { collection } from '../contract/contract.ts';
import { ActorOut, id, idIn, nullable, oneOf, Position, Timestamp } from '../contract/schema.ts';
import { limits } from '../core/limits.ts';
import { eventTypes, resources } from '../resources.ts';
import { events } from './resource.ts';

const shown = resources.filter((one) => one.events !== undefined);

const type = oneOf(eventTypes, 'What happened. There will be more: ignore those you do not know.');

const dataText =
  'Of an event of inventory its movements, which never change. Of a record what it is when the ' +
  'event is read, as GET shows it; null once it is erased.';

/** Any of what resources show. */
const Data = Type.Unsafe<object | null>({
  anyOf: [
    ...new Set(
      shown.flatMap((one) => (one.events === undefined ? [] : [one.events.data as TSchema])),
    ),
    Type.Null(),
  ],
  description: dataText,
});

const Event = Type.Object(
  {
    id: id('evt_', 'Its ID, the same at every reading.'),
    position: Position('Its place in the journal.'),
    type,
    occurred_at: Timestamp('When. Never before the event that precedes it.'),
    operation_id: id('op_', 'The write that did it.'),
    actor: ActorOut('Who did it.'),
    resource: Type.Object(
      {
        type: oneOf(
          shown.map(({ noun }) => noun),
          'What kind of resource.',
        ),
        id: Type.String({
          description: 'Its ID; of movements the first.',
          examples: ['cus_01k9x3v7c2e4r8t1m5n6p0q9sa'],
        }),
        version: nullable(
          Type.Integer({
            minimum: 1,
            description: 'That of `data`. Null for movements, and once the record is erased.',
          }),
        ),
      },
      { description: 'What was written.' },
    ),
    location_ids: Type.Array(id('loc_', 'A location.'), {
      description: 'Where it happened, as far as these locations are granted; often nowhere.',
    }),
    data: Data,
  },
  { $id: 'Event', description: 'One write that changed something.' },
);

export const listEvents = collection({
  resource: events,
  name: 'events.list',
  path: '/events',
  summary: 'Follow what happens',
  description:
    'In the order of the journal, oldest first. An event is shown to whoever has the scope that ' +
    'reads its resource and, where it has locations, a grant of one of them; what is out of ' +
    'reach is absent. `meta.through_position` says up to where everything was judged: whoever ' +
    'asks next with it as `after_position`, and with `meta.journal` as `journal`, goes on there, ' +
    'and misses nothing. A page judges at most 10,000 positions: it may be empty, with more ' +
    'behind it.',
  scope: 'events.read',
  query: Type.Object({
    type: Type.Optional(
      Type.Array(oneOf(eventTypes, 'A type.'), {
        description: 'Only of these types. Repeat the parameter for each.',
      }),
    ),
    location_id: Type.Optional(
      idIn('loc_', 'Only of inventory at this location, and of the location; it must be granted.'),
    ),
    product_id: Type.Optional(
      Type.Array(idIn('prod_', 'A product.'), {
        maxItems: limits.productFiltersMax,
        description: 'Only of inventory of these products, and of the products. Repeat it.',
      }),
    ),
    low_stock: Type.Optional(
      oneOf(['true'], 'Only of inventory that runs out: those with `low_stock`, as asked for.'),
    ),
    after_position: Type.Optional(Position('Only behind this place in the journal.')),
    journal: Type.Optional(idIn('jrn_', 'The journal of that position, as it came with it.')),
    wait: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.eventWaitMax,
        description: 'So many seconds to wait when there is nothing yet.',
      }),
    ),
  }),
  data: Event,
  meta: {
    name: 'EventPageMeta',
    members: {
      through_position: Position('Everything up to here was judged: go on behind it.'),
      journal: id('jrn_', 'The journal of that position.'),
    },
  },
  problems: ['location_not_granted', 'missing_parameter', 'journal_mismatch'],
});
