// The wire shape of a credential, as its holder sees it.

import Type from 'typebox';
import { member } from '../contract/contract.ts';
import { id, nullable, oneOf, Timestamp } from '../contract/schema.ts';
import type { IdPrefix } from '../core/id.ts';
import { credentialKinds } from '../core/principal.ts';
import { scopes } from '../resources.ts';
import { credential } from './resource.ts';
import { roles } from './roles.ts';

const Named = (prefix: IdPrefix, description: string) =>
  Type.Object({ id: id(prefix, 'Its ID.'), name: Type.String() }, { description });

const Credential = Type.Object(
  {
    id: id('cred_', 'Stays the same when the token is rotated.'),
    kind: oneOf(credentialKinds, 'What the token is.'),
    role: nullable(oneOf(roles, 'Of a person; null of what a program calls with.')),
    merchant: Named('mer_', 'The merchant whose records the credential reaches.'),
    application: nullable(Named('app_', 'The OAuth application that acts.')),
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
  resource: credential,
  name: 'credential.get',
  path: '/credential',
  summary: 'Ask what one’s own credential may do',
  scope: null,
  data: Credential,
  etag: false,
  problems: [],
});
