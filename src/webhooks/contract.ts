// The wire shapes and endpoints of webhooks. What they are sent is the feed's to say.

import Type, { type Static } from 'typebox';
import { collection, member, write } from '../contract/contract.ts';
import {
  defaulted,
  id,
  idIn,
  nullable,
  oneOf,
  Position,
  Timestamp,
  text,
  Version,
} from '../contract/schema.ts';
import { limits } from '../core/limits.ts';
import { eventTypes } from '../resources.ts';
import { callFailures } from './failures.ts';
import { webhooks } from './resource.ts';

const statuses = ['active', 'paused'] as const;

const reasons = [
  ...['requested', 'receiver_gone', 'retries_ended', 'credential_ended', 'secret_unreadable'],
  ...['restored', 'copied'],
] as const;

export type PauseReason = (typeof reasons)[number];

const reasonText =
  'Why it is paused. `requested`: by a request. `receiver_gone`: it answered 410. ' +
  '`retries_ended`: an event failed at every attempt. `credential_ended`: the one that made it. ' +
  '`secret_unreadable`: the secret of the service changed; rotate this one. `restored`, ' +
  '`copied`: the database is a copy, which calls nobody by itself.';

const types = Type.Array(oneOf(eventTypes, 'A type.'), { maxItems: limits.eventTypesNamedMax });
const typesText = 'Only events of these types. Null, or none: all.';

const locationIds = Type.Array(idIn('loc_', 'A location.'), {
  minItems: 1,
  maxItems: limits.locationsNamedMax,
});
const locationsText =
  'Only what concerns these locations; they must be granted. Null: all that are.';

const lowStockText = 'Only events of inventory that runs out: those with `low_stock`.';

const Url = (description: string) => text('text', { min: 1, max: 2_000 }, description);
const urlText = 'What is called: over https, at a public address, without a user.';

const Description = text('text', { max: 255 }, 'Words for whoever reads it.');
const Status = oneOf(statuses, 'Whether it is called.');
const fromText = 'Send what is behind this place in the journal';
const Journal = idIn('jrn_', 'The journal of that position, as it came with it.');

const Webhook = Type.Object(
  {
    id: id('whk_', 'Its ID.'),
    url: Type.String({ description: 'What is called; others see it without its query.' }),
    types: nullable(Type.Array(oneOf(eventTypes, 'A type.'), { description: typesText })),
    location_ids: nullable(Type.Array(id('loc_', 'A location.'), { description: locationsText })),
    low_stock: Type.Boolean({ description: lowStockText }),
    description: nullable(Type.String({ description: 'Words for whoever reads it.' })),
    status: Status,
    pause_reason: nullable(oneOf(reasons, reasonText)),
    position: Position('What is up to here was sent, or waits for another attempt.'),
    journal: id('jrn_', 'The journal of that position.'),
    failing_since: nullable(Timestamp('Since when calls fail; null: the last one did not.')),
    last_status: nullable(
      Type.Integer({ description: 'What the last call was answered with; null: nothing came.' }),
    ),
    credential_id: id('cred_', 'Who made it. Nobody else can change it.'),
    version: Version,
    created_at: Timestamp('When it was created.'),
    updated_at: Timestamp('When it was last changed.'),
  },
  { $id: 'Webhook', description: 'A receiver of events.' },
);

const Outcome = {
  status: nullable(
    Type.Integer({ description: 'That of the answer; null: none came.', examples: [503] }),
  ),
  failure: nullable(oneOf(callFailures, 'Why it was no success; null: it was one.')),
};

const FailureShape = Type.Object(
  {
    event_id: id('evt_', 'The event.'),
    position: Position('Its place in the journal.'),
    tries: Type.Integer({ minimum: 0, description: 'How often it was tried.' }),
    next_at: nullable(Timestamp('When it is tried again; null: as soon as it can be.')),
    ...Outcome,
    at: Timestamp('When it was last tried.'),
  },
  { description: 'An event that could not be delivered yet.' },
);

const AttemptShape = Type.Object(
  {
    event_id: id('evt_', 'The event.'),
    position: nullable(Position('Its place in the journal; null of a test.')),
    ...Outcome,
    milliseconds: Type.Integer({ minimum: 0, description: 'How long it took.' }),
    at: Timestamp('When it began.'),
  },
  { description: 'One call.' },
);

/** As they are kept, too. */
export type Failure = Static<typeof FailureShape>;
export type Attempt = Static<typeof AttemptShape>;

const Deliveries = Type.Object(
  {
    failures: Type.Array(FailureShape, {
      description: 'What waits for another attempt, by position.',
    }),
    attempts: Type.Array(AttemptShape, { description: 'The last attempts, newest first.' }),
  },
  { $id: 'WebhookDeliveries', description: 'What became of the calls of a webhook.' },
);

const Secret = Type.String({
  pattern: '^whsec_',
  description: 'As Standard Webhooks has it.',
  examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
});

const WebhookSecret = Type.Object(
  {
    secret: Secret,
    previous: nullable(
      Type.Object(
        { secret: Secret, expires_at: Timestamp('Until when it signs along.') },
        { description: 'The one before; null: it signs no more.' },
      ),
    ),
  },
  { $id: 'WebhookSecret', description: 'What the calls are signed with.' },
);

export const create = write({
  resource: webhooks,
  name: 'webhooks.create',
  method: 'POST',
  path: '/webhooks',
  summary: 'Create a webhook',
  description:
    'It is sent what its credential may read, at every moment, within what the token of this ' +
    'request was limited to. It ends with that credential.',
  scope: 'webhooks.write',
  body: Type.Object({
    url: Url(urlText),
    types: Type.Optional(nullable({ ...types, description: typesText })),
    location_ids: Type.Optional(nullable({ ...locationIds, description: locationsText })),
    low_stock: Type.Optional(defaulted(Type.Boolean({ description: lowStockText }), false)),
    description: Type.Optional(nullable(Description)),
    status: Type.Optional(defaulted(Status, 'active')),
    from_position: Type.Optional(nullable(Position(`${fromText}; without it, what comes.`))),
    journal: Type.Optional(nullable(Journal)),
  }),
  data: Webhook,
  problems: ['location_not_granted', 'webhook_limit_reached'],
});

export const update = write({
  resource: webhooks,
  name: 'webhooks.update',
  method: 'PATCH',
  path: '/webhooks/{id}',
  summary: 'Change a webhook',
  description:
    'Only by the credential that made it. Members sent are set, null clears one. ' +
    '`from_position` moves it back or forward, and forgets failures.',
  scope: 'webhooks.write',
  body: Type.Object({
    url: Type.Optional(Url(urlText)),
    types: Type.Optional(nullable({ ...types, description: typesText })),
    location_ids: Type.Optional(nullable({ ...locationIds, description: locationsText })),
    low_stock: Type.Optional(nullable(Type.Boolean({ description: lowStockText }))),
    description: Type.Optional(nullable(Description)),
    status: Type.Optional(Status),
    from_position: Type.Optional(Position(`${fromText}.`)),
    journal: Type.Optional(Journal),
    rotate_secret: Type.Optional(
      Type.Boolean({ description: 'Make another secret; the old one signs along for 24 hours.' }),
    ),
  }),
  data: Webhook,
  problems: ['location_not_granted', 'webhook_limit_reached'],
});

export const list = collection({
  resource: webhooks,
  name: 'webhooks.list',
  path: '/webhooks',
  summary: 'List webhooks',
  description:
    "By ID, oldest first: one's own, and those of others that are sent nothing that one may not " +
    'read oneself.',
  scope: 'webhooks.read',
  query: Type.Object({ status: Type.Optional(oneOf(statuses, 'Only with this status.')) }),
  data: Webhook,
  problems: [],
});

export const get = member({
  resource: webhooks,
  name: 'webhooks.get',
  path: '/webhooks/{id}',
  summary: 'Read a webhook',
  scope: 'webhooks.read',
  data: Webhook,
  // It comes further without a new version.
  etag: false,
  problems: [],
});

export const getSecret = member({
  resource: webhooks,
  name: 'webhooks.secret.get',
  path: '/webhooks/{id}/secret',
  summary: 'Read the secret of a webhook',
  description: 'Only by the credential that made it.',
  scope: 'webhooks.write',
  data: WebhookSecret,
  etag: false,
  problems: ['webhook_secret_unreadable'],
});

export const getDeliveries = member({
  resource: webhooks,
  name: 'webhooks.deliveries.get',
  path: '/webhooks/{id}/deliveries',
  summary: 'See what became of calls',
  description: 'Without what was sent and answered.',
  scope: 'webhooks.read',
  data: Deliveries,
  etag: false,
  problems: [],
});

export const test = write({
  resource: webhooks,
  name: 'webhooks.test',
  method: 'POST',
  path: '/webhooks/{id}/test',
  summary: 'Send a test event',
  description:
    'Only by the credential that made it. One `webhook.test` event is sent once, after this is ' +
    'answered, also while the webhook is paused: what became of it is among its deliveries.',
  scope: 'webhooks.write',
  body: Type.Object({
    note: Type.Optional(nullable(text('text', { max: 255 }, 'Words that the event shall carry.'))),
  }),
  data: Webhook,
  problems: [],
});

export const redeliver = write({
  resource: webhooks,
  name: 'webhooks.redeliver',
  method: 'POST',
  path: '/webhooks/{id}/redeliver',
  summary: 'Deliver again from a position',
  description:
    'Only by the credential that made it. The webhook is active again, forgets its failures, and ' +
    'is sent what is behind the position.',
  scope: 'webhooks.write',
  body: Type.Object({
    from_position: Position(`${fromText}.`),
    journal: Type.Optional(nullable(Journal)),
  }),
  data: Webhook,
  problems: ['webhook_limit_reached'],
});

export type WebhookContract = typeof create | typeof update | typeof test | typeof redeliver;
