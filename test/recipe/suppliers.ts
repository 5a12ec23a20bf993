// The files of a resource that does not exist, by the recipe of CONTRIBUTING.md: those it adds, and
// what it inserts into those that are there.

const migration = `-- Whom the merchant buys from.
-- Safe while the version before runs: it knows no suppliers.

create table suppliers (
  merchant_id text collate "C" not null references merchants,
  id text collate "C" not null,
  name text not null,
  external_id text,
  metadata jsonb not null default '{}',
  status text not null default 'active' check (status in ('active', 'archived')),
  version integer not null default 1 check (version >= 1),
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create unique index suppliers_external_id on suppliers (merchant_id, external_id)
  where external_id is not null;
create index suppliers_updated on suppliers (merchant_id, updated_at);
alter table suppliers add primary key (merchant_id, id);
`;

const contract = `// Suppliers: their members, and their endpoints on the wire.

import Type from 'typebox';
import { collection, member, ownIdQuery, upsertText, write } from '../contract/contract.ts';
import { anyOf, ExternalId, oneOf, Timestamp, text } from '../contract/schema.ts';
import { externalId, metadata, required, state } from '../records/members.ts';
import { record } from '../records/record.ts';

const statuses = ['active', 'archived'] as const;

export const suppliers = record({
  name: 'suppliers',
  noun: 'supplier',
  prefix: 'sup_',
  description: 'Whom the merchant buys from.',
  schema: { $id: 'Supplier', description: 'Somebody the merchant buys from.' },
  members: {
    name: required(text('name', { min: 1, max: 255 }, 'The name.'), {
      shown: 'The name.',
      example: 'Mill & Sons',
    }),
    external_id: externalId,
    metadata,
    status: state(statuses, 'Archived suppliers stay readable.'),
  },
});

export const create = write({
  resource: suppliers,
  name: 'suppliers.create',
  method: 'POST',
  path: '/suppliers',
  summary: 'Create a supplier',
  scope: 'suppliers.write',
  body: suppliers.createBody,
  data: suppliers.answer,
  problems: ['external_id_taken'],
});

export const update = write({
  resource: suppliers,
  name: 'suppliers.update',
  method: 'PATCH',
  path: '/suppliers/{id}',
  summary: 'Change a supplier',
  scope: 'suppliers.write',
  body: suppliers.patchBody,
  data: suppliers.answer,
  problems: ['external_id_taken'],
});

export const upsert = write({
  resource: suppliers,
  name: 'suppliers.upsert',
  method: 'PATCH',
  path: '/suppliers',
  summary: 'Create or change a supplier by your own ID',
  description: upsertText,
  scope: 'suppliers.write',
  body: suppliers.patchBody,
  data: suppliers.answer,
  query: ownIdQuery,
  problems: [],
});

export const list = collection({
  resource: suppliers,
  name: 'suppliers.list',
  path: '/suppliers',
  summary: 'List suppliers',
  scope: 'suppliers.read',
  query: Type.Object({
    external_id: Type.Optional(anyOf(ExternalId, 'external IDs')),
    status: Type.Optional(oneOf(statuses, 'Only with this status.')),
    updated_after: Type.Optional(Timestamp('Only changed at or after this.')),
  }),
  data: suppliers.answer,
  problems: [],
});

export const get = member({
  resource: suppliers,
  name: 'suppliers.get',
  path: '/suppliers/{id}',
  summary: 'Read a supplier',
  scope: 'suppliers.read',
  data: suppliers.answer,
  etag: true,
  problems: [],
});
`;

const endpoints = `// The endpoints of suppliers.

import { recordEndpoints } from '../records/endpoints.ts';
import * as contract from './contract.ts';

export const supplierEndpoints = recordEndpoints(contract.suppliers, contract);
`;

const examples = `
  'suppliers.create': { body: (_, n) => ({ name: \`Mill \${n}\`, external_id: \`M-\${n}\` }) },
  'suppliers.update': {
    id: (shop) => firstOf(shop.others.supplier),
    body: (_, n) => ({ name: \`Mill \${n}\` }),
  },
  'suppliers.upsert': {
    query: () => ({ external_id: 'supplier-1' }),
    body: (_, n) => ({ name: \`Mill \${n}\` }),
  },
  'suppliers.list': {},
  'suppliers.get': { id: (shop) => firstOf(shop.others.supplier) },`;

const matrix = `
  'suppliers.create': {
    route: 'POST /suppliers',
    scope: 'suppliers.write',
    ok: '201',
    granted: everywhere('201'),
    foreign: { 'body.external_id': '201', [key]: '201' },
  },
  'suppliers.update': {
    route: 'PATCH /suppliers/{id}',
    scope: 'suppliers.write',
    ok: '200',
    granted: everywhere('200'),
    foreign: { path: '404 not_found', 'body.external_id': '200', [key]: '200' },
  },
  'suppliers.upsert': {
    route: 'PATCH /suppliers',
    scope: 'suppliers.write',
    ok: '200',
    granted: everywhere('200'),
    foreign: { 'query.external_id': '201', [key]: '200' },
  },
  'suppliers.list': {
    route: 'GET /suppliers',
    scope: 'suppliers.read',
    ok: '200',
    granted: everywhere('200'),
    foreign: { 'query.external_id': '200 none', ...cursor },
  },
  'suppliers.get': {
    route: 'GET /suppliers/{id}',
    scope: 'suppliers.read',
    ok: '200',
    granted: everywhere('200'),
    foreign: { path: '404 not_found' },
  },`;

/** What stands in a file already, and what the resource puts behind it. */
export interface Insertion {
  readonly file: string;
  readonly behind: string;
  readonly text: string;
}

export interface Change {
  /** New files, by their paths. */
  readonly added: Readonly<Record<string, string>>;
  readonly inserted: readonly Insertion[];
}

/** @param number of the next migration. */
export const suppliers = (number: string): Change => ({
  added: {
    [`db/migrations/cell/${number}_suppliers.sql`]: migration,
    'src/suppliers/README.md': 'Whom a merchant buys from. May import: core, contract, records.\n',
    'src/suppliers/contract.ts': contract,
    'src/suppliers/endpoints.ts': endpoints,
  },
  inserted: [
    {
      file: 'src/resources.ts',
      behind: "import { products } from './products/contract.ts';\n",
      text: "import { suppliers } from './suppliers/contract.ts';\n",
    },
    { file: 'src/resources.ts', behind: '  locations,\n', text: '  suppliers,\n' },
    {
      file: 'src/app.ts',
      behind: "import { productEndpoints } from './products/endpoints.ts';\n",
      text: "import { supplierEndpoints } from './suppliers/endpoints.ts';\n",
    },
    { file: 'src/app.ts', behind: '  ...locationEndpoints,\n', text: '  ...supplierEndpoints,\n' },
    { file: 'test/kit/examples.ts', behind: "'credential.get': {},", text: examples },
    { file: 'test/kit/matrix.ts', behind: 'Readonly<Record<string, Row>> = {', text: matrix },
  ],
});

/** One member more, of a resource that is there. */
export const barcode = (number: string): readonly Insertion[] => [
  {
    file: `db/migrations/cell/${number}_suppliers.sql`,
    behind: '  external_id text,\n',
    text: '  barcode text,\n',
  },
  {
    file: 'src/suppliers/contract.ts',
    behind: '    external_id: externalId,\n',
    text: `    barcode: optional(text('text', { max: 64 }, 'A barcode.'), {
      shown: 'A barcode.',
      example: '4006381333931',
    }),
`,
  },
  {
    file: 'src/suppliers/contract.ts',
    behind: 'externalId, metadata, ',
    text: 'optional, ',
  },
];
