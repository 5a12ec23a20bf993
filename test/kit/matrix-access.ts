// The rows of people and tokens in the matrix of access.

import { cursor, everywhere, key, type Row } from './matrix-row.ts';

/** What one must hold to give it. */
const viewer = [
  ...(['customers.read', 'products.read', 'locations.read', 'inventory.read'] as const),
  ...(['operations.read', 'events.read'] as const),
] as const;

export const accessRows: Readonly<Record<string, Row>> = {
  // Of a viewer, who has no location.
  'people.invite': {
    route: 'POST /people',
    scope: 'access.write',
    ok: '201',
    shown: { withAny: [viewer], otherwise: '403 insufficient_scope' },
    granted: everywhere('201'),
    foreign: { [key]: '201' },
  },
  'people.update': {
    route: 'PATCH /people/{id}',
    scope: 'access.write',
    ok: '200',
    shown: { withAny: [viewer], otherwise: '403 insufficient_scope' },
    granted: everywhere('200'),
    foreign: { path: '404 not_found', [key]: '200' },
  },
  'people.invite_again': {
    route: 'POST /people/{id}/invite',
    scope: 'access.write',
    ok: '200',
    shown: { withAny: [viewer], otherwise: '403 insufficient_scope' },
    granted: everywhere('200'),
    foreign: { path: '404 not_found', [key]: '200' },
  },
  'people.list': {
    route: 'GET /people',
    scope: 'access.read',
    ok: '200',
    granted: everywhere('200'),
    foreign: { ...cursor },
  },
  'people.get': {
    route: 'GET /people/{id}',
    scope: 'access.read',
    ok: '200',
    granted: everywhere('200'),
    foreign: { path: '404 not_found' },
  },
  // With the scope access.write and no location.
  'tokens.create': {
    route: 'POST /tokens',
    scope: 'access.write',
    ok: '201',
    granted: everywhere('201'),
    foreign: { [key]: '201' },
  },
  'tokens.update': {
    route: 'PATCH /tokens/{id}',
    scope: 'access.write',
    ok: '200',
    granted: everywhere('200'),
    foreign: { path: '404 not_found', [key]: '200' },
  },
  'tokens.rotate': {
    route: 'POST /tokens/{id}/rotate',
    scope: 'access.write',
    ok: '200',
    granted: everywhere('200'),
    foreign: { path: '404 not_found', [key]: '200' },
  },
  'tokens.list': {
    route: 'GET /tokens',
    scope: 'access.read',
    ok: '200',
    granted: everywhere('200'),
    foreign: { ...cursor },
  },
  'tokens.get': {
    route: 'GET /tokens/{id}',
    scope: 'access.read',
    ok: '200',
    granted: everywhere('200'),
    foreign: { path: '404 not_found' },
  },
};
