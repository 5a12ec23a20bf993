// The rows of stock in the matrix of access.

import { asked, cursor, key, type Row } from './matrix-row.ts';

export const stockRows: Readonly<Record<string, Row>> = {
  'inventory.levels.list': {
    route: 'GET /inventory/levels',
    scope: 'inventory.read',
    ok: '200',
    granted: asked('200', '403 location_not_granted'),
    showsGranted: true,
    foreign: {
      'query.location_id': '403 location_not_granted',
      'query.product_id': '200 none',
      ...cursor,
    },
  },
  'inventory.movements.list': {
    route: 'GET /inventory/movements',
    scope: 'inventory.read',
    ok: '200',
    granted: { asked: '200', another: '200', none: '200 none' },
    showsGranted: true,
    foreign: {
      'query.location_id': '403 location_not_granted',
      'query.product_id': '200 none',
      'query.operation_id': '200 none',
      ...cursor,
    },
  },
  'inventory.movements.get': {
    route: 'GET /inventory/movements/{id}',
    scope: 'inventory.read',
    ok: '200',
    granted: asked('200', '404 not_found'),
    foreign: { path: '404 not_found' },
  },
  'inventory.daily.list': {
    route: 'GET /inventory/daily',
    scope: 'inventory.read',
    ok: '200',
    granted: asked('200', '403 location_not_granted'),
    foreign: {
      'query.location_id': '403 location_not_granted',
      // Days on which it did not move.
      'query.product_id': '200',
      ...cursor,
    },
  },
  // Names are those of products.
  'stock.list': {
    route: 'GET /stock',
    scope: 'inventory.read',
    ok: '200',
    shown: { withAny: [['products.read']], otherwise: '200 none' },
    granted: asked('200', '403 location_not_granted'),
    showsGranted: true,
    foreign: { 'query.location_id': '403 location_not_granted', 'query.q': '200 none', ...cursor },
  },
  'inventory.adjust': {
    route: 'POST /inventory/adjustments',
    scope: 'inventory.write',
    ok: '201',
    granted: asked('201', '403 location_not_granted'),
    foreign: {
      'body.location_id': '403 location_not_granted',
      'body.product_id': '422 product_not_found',
      [key]: '201',
    },
  },
  'inventory.transfer': {
    route: 'POST /inventory/transfers',
    scope: 'inventory.write',
    ok: '201',
    granted: asked('201', '403 location_not_granted'),
    foreign: {
      'body.from_location_id': '403 location_not_granted',
      'body.to_location_id': '403 location_not_granted',
      'body.lines.product_id': '422 product_not_found',
      [key]: '201',
    },
  },
  'inventory.transfers.list': {
    route: 'GET /inventory/transfers',
    scope: 'inventory.read',
    ok: '200',
    granted: { asked: '200', another: '200 none', none: '200 none' },
    foreign: { 'query.location_id': '403 location_not_granted', ...cursor },
  },
  'inventory.count': {
    route: 'POST /inventory/counts',
    scope: 'inventory.write',
    ok: '201',
    granted: asked('201', '403 location_not_granted'),
    foreign: {
      'body.location_id': '403 location_not_granted',
      'body.lines.product_id': '422 product_not_found',
      [key]: '201',
    },
  },
  'inventory.counts.list': {
    route: 'GET /inventory/counts',
    scope: 'inventory.read',
    ok: '200',
    granted: { asked: '200', another: '200 none', none: '200 none' },
    foreign: { 'query.location_id': '403 location_not_granted', ...cursor },
  },
  'inventory.counts.get': {
    route: 'GET /inventory/counts/{id}',
    scope: 'inventory.read',
    ok: '200',
    granted: asked('200', '404 not_found'),
    foreign: { path: '404 not_found' },
  },
  'inventory.transfers.get': {
    route: 'GET /inventory/transfers/{id}',
    scope: 'inventory.read',
    ok: '200',
    granted: asked('200', '404 not_found'),
    foreign: { path: '404 not_found' },
  },
  'inventory.reserve': {
    route: 'POST /inventory/reservations',
    scope: 'inventory.write',
    ok: '201',
    granted: asked('201', '403 location_not_granted'),
    foreign: {
      'body.location_id': '403 location_not_granted',
      'body.lines.product_id': '422 product_not_found',
      [key]: '201',
    },
  },
  'inventory.release': {
    route: 'POST /inventory/reservations/{id}/release',
    scope: 'inventory.write',
    ok: '200',
    granted: asked('200', '404 not_found'),
    foreign: { path: '404 not_found', [key]: '200' },
  },
  'inventory.fulfil': {
    route: 'POST /inventory/reservations/{id}/fulfil',
    scope: 'inventory.write',
    ok: '200',
    granted: asked('200', '404 not_found'),
    foreign: { path: '404 not_found', [key]: '200' },
  },
  'inventory.reservations.list': {
    route: 'GET /inventory/reservations',
    scope: 'inventory.read',
    ok: '200',
    granted: { asked: '200', another: '200 none', none: '200 none' },
    foreign: { 'query.location_id': '403 location_not_granted', ...cursor },
  },
  'inventory.reservations.get': {
    route: 'GET /inventory/reservations/{id}',
    scope: 'inventory.read',
    ok: '200',
    granted: asked('200', '404 not_found'),
    foreign: { path: '404 not_found' },
  },
};
