// The schema as it is once all migrations have run, read from the catalogue of a migrated database
// and written as SQL that one can read: db/schema.sql. What a migration says in passing, such as a
// name the server chose, stands here in full. The same schema always gives the same text.

import pg from 'pg';
import { firstCell } from '../src/core/cells.ts';
import { findCells } from '../src/database/cells.ts';

/** As a file: of cells, which are alike, the first. */
export const schemaFile = (url: string) => schemaSnapshot(url, [firstCell]);

/** @param url of a migrated database. Nothing is changed in it. */
export async function schemaSnapshot(url: string, wanted?: readonly string[]): Promise<string> {
  const client = new pg.Client({ connectionString: url, application_name: 'tallybook' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const texts = [header, await textsOf(client, 'public', globalHeader)];
    for (const cell of wanted ?? (await findCells(client))) {
      texts.push(await textsOf(client, cell, `-- ${cell}: merchants' data.`));
    }
    return texts.join('\n\n').concat('\n');
  } finally {
    await client.end();
  }
}

async function textsOf(client: pg.Client, schema: string, head: string): Promise<string> {
  // Names are printed without their schema where the search path leads to it.
  await client.query(`set search_path = ${schema}, public`);
  const rowsOf = async <Row extends pg.QueryResultRow>(query: string) =>
    (await client.query<Row>(query, [schema])).rows;
  const tables = await rowsOf<NamedRow>(tablesQuery);
  const columns = await rowsOf<ColumnRow>(columnsQuery);
  const constraints = await rowsOf<PartRow>(constraintsQuery);
  const indexes = await rowsOf<PartRow>(indexesQuery);
  const triggers = await rowsOf<PartRow>(triggersQuery);
  const functions = await rowsOf<FunctionRow>(functionsQuery);
  const parts = tables.map((table) =>
    tableText(table, {
      columns: columns.filter((row) => row.relation === table.name),
      constraints: constraints.filter((row) => row.relation === table.name),
      indexes: indexes.filter((row) => row.relation === table.name),
      triggers: triggers.filter((row) => row.relation === table.name),
    }),
  );
  return [head, ...parts, ...functions.map(functionText)].join('\n\n');
}

const globalHeader = '-- public: the global tables.';

const header = `-- Generated from the migrations. Do not edit: write a migration and generate again.
-- Each table with its columns, constraints, indexes and triggers; the functions at the end of
-- each schema. Further cells are as the first.`;

interface NamedRow {
  readonly name: string;
  readonly is_logged: boolean;
  readonly options: string | null;
  readonly comment: string | null;
}

interface ColumnRow {
  readonly relation: string;
  readonly name: string;
  readonly type: string;
  readonly collation: string | null;
  readonly not_null: boolean;
  readonly generated: boolean;
  readonly expression: string | null;
  readonly comment: string | null;
}

interface PartRow {
  readonly relation: string;
  readonly name: string;
  readonly definition: string;
  readonly comment: string | null;
}

interface FunctionRow {
  readonly definition: string;
  readonly comment: string | null;
  readonly signature: string;
}

const tablesQuery = `
  select c.relname as name, c.relpersistence = 'p' as is_logged,
    array_to_string(c.reloptions, ', ') as options,
    obj_description(c.oid, 'pg_class') as comment
  from pg_class c
  where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p')
  order by c.relname collate "C"`;

const columnsQuery = `
  select c.relname as relation, a.attname as name,
    format_type(a.atttypid, a.atttypmod) as type,
    case when a.attcollation <> t.typcollation then quote_ident(l.collname) end as collation,
    a.attnotnull as not_null, a.attgenerated <> '' as generated,
    pg_get_expr(d.adbin, d.adrelid) as expression,
    col_description(c.oid, a.attnum) as comment
  from pg_attribute a
  join pg_class c on c.oid = a.attrelid and c.relkind in ('r', 'p')
  join pg_type t on t.oid = a.atttypid
  left join pg_collation l on l.oid = a.attcollation
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where c.relnamespace = $1::regnamespace and a.attnum > 0 and not a.attisdropped
  order by c.relname collate "C", a.attnum`;

// Not-null constraints (contype n, from PostgreSQL 18 on) stand with their columns; internal
// constraint triggers are part of their constraint.
const constraintsQuery = `
  select c.relname as relation, k.conname as name, pg_get_constraintdef(k.oid, true) as definition,
    obj_description(k.oid, 'pg_constraint') as comment
  from pg_constraint k
  join pg_class c on c.oid = k.conrelid
  where c.relnamespace = $1::regnamespace and k.contype in ('p', 'u', 'c', 'f', 'x')
  order by c.relname collate "C", position(k.contype in 'puxfc'), k.conname collate "C"`;

const indexesQuery = `
  select c.relname as relation, x.relname as name,
    pg_get_indexdef(i.indexrelid) as definition,
    obj_description(x.oid, 'pg_class') as comment
  from pg_index i
  join pg_class c on c.oid = i.indrelid
  join pg_class x on x.oid = i.indexrelid
  where c.relnamespace = $1::regnamespace
    and not exists (select from pg_constraint k where k.conindid = i.indexrelid
      and k.contype in ('p', 'u', 'x'))
  order by c.relname collate "C", x.relname collate "C"`;

const triggersQuery = `
  select c.relname as relation, t.tgname as name, pg_get_triggerdef(t.oid, true) as definition,
    obj_description(t.oid, 'pg_trigger') as comment
  from pg_trigger t
  join pg_class c on c.oid = t.tgrelid
  where c.relnamespace = $1::regnamespace and not t.tgisinternal
  order by c.relname collate "C", t.tgname collate "C"`;

const functionsQuery = `
  select pg_get_functiondef(p.oid) as definition, p.oid::regprocedure::text as signature,
    obj_description(p.oid, 'pg_proc') as comment
  from pg_proc p
  where p.pronamespace = $1::regnamespace and p.prokind in ('f', 'p')
  order by p.oid::regprocedure::text collate "C"`;

interface TableParts {
  readonly columns: readonly ColumnRow[];
  readonly constraints: readonly PartRow[];
  readonly indexes: readonly PartRow[];
  readonly triggers: readonly PartRow[];
}

function tableText(table: NamedRow, parts: TableParts): string {
  const { name } = table;
  const lines = [
    ...parts.columns.map(columnText),
    ...parts.constraints.map((part) => `constraint ${part.name} ${plain(part.definition)}`),
  ];
  const options = table.options === null ? '' : ` with (${table.options})`;
  const kind = table.is_logged ? 'table' : 'unlogged table';
  return [
    `create ${kind} ${name} (\n${lines.map((line) => `  ${line}`).join(',\n')}\n)${options};`,
    ...[...parts.indexes, ...parts.triggers].map((part) => `${plain(part.definition)};`),
    ...commentTexts(`table ${name}`, table.comment),
    ...parts.columns.flatMap((one) => commentTexts(`column ${name}.${one.name}`, one.comment)),
    ...parts.constraints.flatMap((one) =>
      commentTexts(`constraint ${one.name} on ${name}`, one.comment),
    ),
    ...parts.indexes.flatMap((one) => commentTexts(`index ${one.name}`, one.comment)),
    ...parts.triggers.flatMap((one) => commentTexts(`trigger ${one.name} on ${name}`, one.comment)),
  ].join('\n');
}

function columnText(column: ColumnRow): string {
  const { name, type, collation, not_null, generated, expression } = column;
  return [
    `${name} ${type}`,
    ...(collation === null ? [] : [`collate ${collation}`]),
    ...(not_null ? ['not null'] : []),
    ...valueTexts(generated, expression),
  ].join(' ');
}

function valueTexts(generated: boolean, expression: string | null): string[] {
  if (expression === null) return [];
  const value = plain(expression);
  return [generated ? `generated always as (${value}) stored` : `default ${value}`];
}

function functionText({ definition, signature, comment }: FunctionRow): string {
  const body = definition.indexOf('AS $');
  const head = plain(definition.slice(0, body)).replace('create or replace', 'create');
  const text = `${head}${definition.slice(body).replace('AS', 'as').trimEnd()};`;
  return [text, ...commentTexts(`function ${signature}`, comment)].join('\n');
}

/** As the migrations are written: key words in lower case, without what goes without saying. */
function plain(definition: string): string {
  return definition
    .split(/('[^']*'|"[^"]*")/)
    .map((part, index) => (index % 2 === 1 ? part : inLowerCase(part)))
    .join('');
}

function inLowerCase(part: string): string {
  return part
    .replaceAll(/\b[A-Z]+\b/g, (word) => word.toLowerCase())
    .replaceAll(/\b(?:public|cell_\w+)\./g, '')
    .replaceAll(' using btree', '')
    .replaceAll(/::(?:text|numeric|jsonb|tsvector)(?!\[)/g, '');
}

function commentTexts(what: string, comment: string | null): string[] {
  return comment === null ? [] : [`comment on ${what} is '${comment.replaceAll("'", "''")}';`];
}
