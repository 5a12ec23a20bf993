// Who may do what, written by hand: the answers that the interface promises, route by route. The
// tests send every request that the contracts allow for and compare; nothing here is computed from
// a contract, so a contract that changes its scope, its path or what it takes has to change here.

import { accessRows } from './matrix-access.ts';
import { asked, cursor, everywhere, key, type Row } from './matrix-row.ts';
import { stockRows } from './matrix-stock.ts';

/** What webhooks of a credential with all scopes are sent. */
const everyRead = ['customers.read', 'products.read', 'locations.read', 'inventory.read'] as const;

export const matrix: Readonly<Record<string, Row>> = {
  'customers.create': {
    route: 'POST /customers',
    scope: 'customers.write',
    ok: '201',
    granted: everywhere('201'),
    foreign: { 'body.email': '201', 'body.external_id': '201', [key]: '201' },
  },
  'customers.update': {
    route: 'PATCH /customers/{id}',
    scope: 'customers.write',
    ok: '200',
    granted: everywhere('200'),
    foreign: {
      path: '404 not_found',
      'body.email': '200',
      'body.external_id': '200',
      [key]: '200',
    },
  },
  'customers.upsert': {
    route: 'PATCH /customers',
    scope: 'customers.write',
    ok: '200',
    granted: everywhere('200'),
    foreign: { 'query.external_id': '201', 'body.email': '200', [key]: '200' },
  },
  'customers.list': {
    route: 'GET /customers',
    scope: 'customers.read',
    ok: '200',
    granted: everywhere('200'),
    foreign: {
      'query.email': '200 none',
      'query.external_id': '200 none',
      'query.q': '200 none',
      ...cursor,
    },
  },
  'customers.get': {
    route: 'GET /customers/{id}',
    scope: 'customers.read',
    ok: '200',
    granted: everywhere('200'),
    foreign: { path: '404 not_found' },
  },
  'products.create': {
    route: 'POST /products',
    scope: 'products.write',
    ok: '201',
    granted: everywhere('201'),
    foreign: {
      'body.sku': '201',
      'body.barcode': '201',
      'body.external_id': '201',
      [key]: '201',
    },
  },
  'products.update': {
    route: 'PATCH /products/{id}',
    scope: 'products.write',
    ok: '200',
    granted: everywhere('200'),
    foreign: {
      path: '404 not_found',
      'body.sku': '200',
      'body.barcode': '200',
      'body.external_id': '200',
      [key]: '200',
    },
  },
  'products.upsert': {
    route: 'PATCH /products',
    scope: 'products.write',
    ok: '200',
    granted: everywhere('200'),
    foreign: {
      'query.external_id': '201',
      'body.sku': '200',
      'body.barcode': '200',
      [key]: '200',
    },
  },
  'products.list': {
    route: 'GET /products',
    scope: 'products.read',
    ok: '200',
    granted: everywhere('200'),
    foreign: {
      'query.id': '200 none',
      'query.sku': '200 none',
      'query.barcode': '200 none',
      'query.external_id': '200 none',
      'query.q': '200 none',
      ...cursor,
    },
  },
  'products.get': {
    route: 'GET /products/{id}',
    scope: 'products.read',
    ok: '200',
    granted: everywhere('200'),
    foreign: { path: '404 not_found' },
  },
  'products.levels.list': {
    route: 'GET /products/{id}/levels',
    scope: 'inventory.read',
    ok: '200',
    granted: { asked: '200', another: '200', none: '200 none' },
    showsGranted: true,
    foreign: { path: '404 not_found', ...cursor },
  },
  'locations.create': {
    route: 'POST /locations',
    scope: 'locations.write',
    ok: '201',
    granted: {
      asked: '403 location_not_granted',
      another: '403 location_not_granted',
      none: '403 location_not_granted',
    },
    foreign: { 'body.code': '201', 'body.external_id': '201', [key]: '201' },
  },
  'locations.update': {
    route: 'PATCH /locations/{id}',
    scope: 'locations.write',
    ok: '200',
    granted: asked('200', '404 not_found'),
    foreign: {
      path: '404 not_found',
      'body.code': '200',
      'body.external_id': '200',
      [key]: '200',
    },
  },
  'locations.upsert': {
    route: 'PATCH /locations',
    scope: 'locations.write',
    ok: '200',
    granted: asked('200', '403 location_not_granted'),
    foreign: { 'query.external_id': '201', 'body.code': '200', [key]: '200' },
  },
  'locations.list': {
    route: 'GET /locations',
    scope: 'locations.read',
    ok: '200',
    granted: { asked: '200', another: '200', none: '200 none' },
    showsGranted: true,
    foreign: { 'query.code': '200 none', 'query.external_id': '200 none', ...cursor },
  },
  'locations.get': {
    route: 'GET /locations/{id}',
    scope: 'locations.read',
    ok: '200',
    granted: asked('200', '404 not_found'),
    foreign: { path: '404 not_found' },
  },
  ...stockRows,
  'webhooks.create': {
    route: 'POST /webhooks',
    scope: 'webhooks.write',
    ok: '201',
    granted: everywhere('201'),
    foreign: { [key]: '201' },
  },
  // The writes of these are of one's own; others' do not exist.
  'webhooks.update': {
    route: 'PATCH /webhooks/{id}',
    scope: 'webhooks.write',
    ok: '200',
    granted: everywhere('200'),
    foreign: { path: '404 not_found', [key]: '200' },
  },
  'webhooks.list': {
    route: 'GET /webhooks',
    scope: 'webhooks.read',
    ok: '200',
    granted: { asked: '200 none', another: '200 none', none: '200 none' },
    foreign: { ...cursor },
  },
  'webhooks.get': {
    route: 'GET /webhooks/{id}',
    scope: 'webhooks.read',
    ok: '200',
    shown: { withAny: [everyRead], otherwise: '404 not_found' },
    granted: { asked: '404 not_found', another: '404 not_found', none: '404 not_found' },
    foreign: { path: '404 not_found' },
  },
  'webhooks.secret.get': {
    route: 'GET /webhooks/{id}/secret',
    scope: 'webhooks.write',
    ok: '200',
    granted: everywhere('200'),
    foreign: { path: '404 not_found' },
  },
  'webhooks.deliveries.get': {
    route: 'GET /webhooks/{id}/deliveries',
    scope: 'webhooks.read',
    ok: '200',
    shown: { withAny: [everyRead], otherwise: '404 not_found' },
    granted: { asked: '404 not_found', another: '404 not_found', none: '404 not_found' },
    foreign: { path: '404 not_found' },
  },
  'webhooks.test': {
    route: 'POST /webhooks/{id}/test',
    scope: 'webhooks.write',
    ok: '200',
    granted: everywhere('200'),
    foreign: { path: '404 not_found', [key]: '200' },
  },
  'webhooks.redeliver': {
    route: 'POST /webhooks/{id}/redeliver',
    scope: 'webhooks.write',
    ok: '200',
    granted: everywhere('200'),
    foreign: { path: '404 not_found', [key]: '200' },
  },
  ...accessRows,
  // Each write in it needs what it needs by itself.
  'batches.submit': {
    route: 'POST /batches',
    scope: null,
    ok: '200',
    granted: everywhere('200'),
    foreign: { [key]: '200' },
  },
  // One's own operations need nothing. These are others', about customers, products and so on.
  'operations.list': {
    route: 'GET /operations',
    scope: null,
    ok: '200',
    shown: {
      withAny: [
        ['operations.read', 'customers.read'],
        ['operations.read', 'products.read'],
        ['operations.read', 'locations.read'],
        ['operations.read', 'inventory.read'],
        ['operations.read', 'webhooks.read'],
        ['operations.read', 'access.read'],
      ],
      otherwise: '200 none',
    },
    granted: everywhere('200'),
    showsGranted: true,
    foreign: {
      'query.request_id': '200 none',
      'query.credential_id': '200 none',
      [key]: '200 none',
      ...cursor,
    },
  },
  // Somebody's adjustment.
  'operations.get': {
    route: 'GET /operations/{id}',
    scope: null,
    ok: '200',
    shown: { withAny: [['operations.read', 'inventory.read']], otherwise: '404 not_found' },
    granted: asked('200', '404 not_found'),
    foreign: { path: '404 not_found' },
  },
  // By the scope alone one sees that nothing has happened.
  'events.list': {
    route: 'GET /events',
    scope: 'events.read',
    ok: '200',
    shown: {
      withAny: [['customers.read'], ['products.read'], ['locations.read'], ['inventory.read']],
      otherwise: '200 none',
    },
    granted: everywhere('200'),
    showsGranted: true,
    foreign: {
      'query.location_id': '403 location_not_granted',
      'query.product_id': '200 none',
      ...cursor,
    },
  },
  // What is in it depends on the scopes of each thing.
  'status.get': {
    route: 'GET /status',
    scope: null,
    ok: '200',
    granted: everywhere('200'),
    foreign: {},
  },
  'credential.get': {
    route: 'GET /credential',
    scope: null,
    ok: '200',
    granted: everywhere('200'),
    foreign: {},
  },
};

/** Outside of the version: pages that ask for no credential, and answer GET and HEAD only. */
export const pages: readonly string[] = [
  '/openapi.json',
  '/docs',
  '/docs/start.js',
  '/docs/redoc.js',
  '/docs/errors',
  ...['guide', 'access', 'events', 'import-export', 'reads', 'stock', 'webhooks', 'writes'].map(
    (of) => `/docs/${of}`,
  ),
  '/healthz',
  '/readyz',
  '/console',
];

/** Outside of the version: OAuth, which judges its callers by itself. */
export const oauthPaths: readonly string[] = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/oauth-protected-resource',
  '/oauth/authorize',
  '/oauth/authorize/:uid',
  '/console/consent/:uid',
  '/oauth/introspect',
  '/oauth/revoke',
  '/oauth/token',
];
