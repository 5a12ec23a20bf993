// The wire shape of what needs a person.

import Type from 'typebox';
import { member } from '../contract/contract.ts';
import { nullable, oneOf, Timestamp } from '../contract/schema.ts';
import { status } from './resource.ts';

const codes = [
  ...['token_ends', 'token_ended', 'invitation_ended', 'webhook_paused', 'webhook_failing'],
  ...['reservations_expired', 'backup_missing', 'backup_old', 'backup_failed'],
] as const;

export type NeedCode = (typeof codes)[number];

const codesText =
  '`token_ends`: within 14 days, in the last third of its time. `token_ended`: in the last 14 ' +
  'days. ' +
  '`invitation_ended`: nobody used it. `webhook_paused`: and nobody asked for that. ' +
  '`webhook_failing`: its receiver does not take what it is sent. `reservations_expired`: in the ' +
  'last day, at a location. `backup_missing`, `backup_old`, `backup_failed`: the daily backup.';

const Need = Type.Object(
  {
    code: oneOf(codes, codesText),
    text: Type.String({ description: 'The same for a person, in English.' }),
    about: Type.Object(
      {
        type: oneOf(['token', 'person', 'webhook', 'location', 'backup'], 'What it is.'),
        id: nullable(
          Type.String({
            description: 'Its ID; null of a backup.',
            examples: ['cred_01k9x3v7c2e4r8t1m5n6p0q9sa'],
          }),
        ),
        name: nullable(Type.String({ description: 'What it is called.' })),
      },
      { description: 'What it is about.' },
    ),
    at: nullable(Timestamp('When it happens, or since when it is so.')),
    count: Type.Integer({ minimum: 1, description: 'Of how many; 200 stands for more.' }),
  },
  { description: 'Something that needs a person.' },
);

const Status = Type.Object(
  {
    needs: Type.Array(Need, {
      description: 'At most 100 of a kind. Empty: nothing, as far as the caller may know.',
    }),
  },
  { $id: 'Status', description: 'What needs a person.' },
);

export const getStatus = member({
  resource: status,
  name: 'status.get',
  path: '/status',
  summary: 'Ask what needs a person',
  description:
    'Tokens, invitations and backups for who has `access.read`, webhooks for who has ' +
    '`webhooks.read`, reservations for who has `inventory.read`: what one may see, and no more.',
  scope: null,
  data: Status,
  etag: false,
  problems: [],
});
