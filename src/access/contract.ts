// The wire shape of a credential, as its holder sees it.

import Type from 'typebox';
import { member } from '../core/contract.ts';
import { scopes } from '../core/principal.ts';
import { id, nullable, oneOf, Timestamp } from '../core/schema.ts';

export const credentialKinds = ['personal_access_token', 'oauth_access_token'] as const;

const Named = (kind: 'merchant' | 'application', description: string) =>
  Type.Object({ id: id(kind, 'Its ID.'), name: Type.String() }, { description });

const Credential = Type.Object(
  {
    id: id('credential', 'Stays the same when the token is rotated.'),
    kind: oneOf(credentialKinds, 'What the token is.'),
    merchant: Named('merchant', 'The merchant whose records the credential reaches.'),
    application: nullable(Named('application', 'The OAuth application that acts.')),
    scopes: Type.Array(oneOf(scopes, 'A scope.'), { description: 'What the credential may do.' }),
    locations: Type.Unsafe<'all' | string[]>({
      anyOf: [
        { type: 'string', const: 'all' },
        { type: 'array', items: { type: 'string' } },
      ],
      description: 'The granted locations: "all", those to come included, or their IDs.',
    }),
    expires_at: nullable(Timestamp('When the token ends.')),
    last_used_at: nullable(Timestamp('When it was last used, to a quarter of an hour.')),
    rate_limit: nullable(
      Type.Object(
        {
          requests_per_minute: Type.Integer({ minimum: 1 }),
          burst: Type.Integer({ minimum: 1 }),
        },
        { description: 'The limit of this credential; null when there is none.' },
      ),
    ),
  },
  { $id: 'Credential', description: 'The credential that sent the request.' },
);

export const getCredential = member({
  name: 'credential.get',
  path: '/credential',
  summary: 'Ask what one’s own credential may do',
  scope: null,
  data: Credential,
  etag: false,
  problems: [],
});
