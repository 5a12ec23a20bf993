// Where SQL stands, and what every statement of a merchant's tables must hold. A statement is read
// as it is sent: constants of the same file that it embeds are put in.

import { isNode, type Node, nameOf, nodesOf, type SourceFile } from '../kit/source.ts';
import { type Files, finding, findLines, type Rule, type Tree } from './rule.ts';
import { isStore, ownNames } from './statement-names.ts';

interface Text {
  readonly line: number;
  /** The function or constant that it stands in. */
  readonly owner: string;
  readonly text: string;
}

/** How a statement begins, up to where no sentence of prose would go on like it. */
const statements = [
  /^\s*select\s[\s\S]*\bfrom\s/,
  /^\s*select\s+(\$|\d|[a-z_]+\()/,
  /^\s*(insert|merge)\s+into\s/,
  /^\s*update\s+\w+\s+(\w+\s+)?set\s/,
  /^\s*delete\s+from\s/,
  /^\s*with\s+(recursive\s+)?\w+\s*(\([^)]*\)\s*)?as\s+((not\s+)?materialized\s+)?\(/,
  /^\s*(create|alter|drop)\s+(unique\s+)?(table|index|role|function|trigger|database|schema)\s/,
  /^\s*(truncate|lock\s+table)\s/,
  /^\s*begin\s+(isolation|read|transaction)/,
  /^\s*set\s+(local|session)\s/,
];

function isStatement(text: string): boolean {
  // Ours are in lower case; prose begins with one capital, a statement from elsewhere has more.
  const lower = /^\s*[A-Z]{2}/.test(text) ? text.toLowerCase() : text;
  return statements.some((beginning) => beginning.test(lower));
}

function isDatabase(path: string): boolean {
  return /^src\/(database|postgres)\//.test(path);
}

const home: Rule = {
  id: 'sql-home',
  name: 'SQL stands in the store of its domain, in src/database/ and in src/postgres/',
  remedy: 'make it a function of the store that returns the statement',
  check(file) {
    if (!file.isService || isStore(file.path) || isDatabase(file.path)) return [];
    return textsOf(file).flatMap(({ line, owner, text }) =>
      isStatement(text) ? [finding(file, line, owner)] : [],
    );
  },
  refuses: [
    {
      files: { 'src/products/edit.ts': '\nconst a = `\n  select id from products`;' },
      at: ['src/products/edit.ts:2'],
    },
    { files: { 'src/cli/a.ts': "f('INSERT INTO a VALUES (1)');" }, at: ['src/cli/a.ts:1'] },
    { files: { 'src/cli/a.ts': "f('update a set ' + b);" }, at: ['src/cli/a.ts:1'] },
    { files: { 'src/app.ts': "f('with a as (' + b);" }, at: ['src/app.ts:1'] },
    {
      files: { 'src/app.ts': `\nf(\`\${a} from b\`);\nconst a = 'select 1';` },
      at: ['src/app.ts:2'],
    },
  ],
  allows: [
    { 'src/products/store.ts': "const a = 'select id from products where merchant_id = $1';" },
    { 'src/access/operator/credential-store.ts': "const a = 'delete from a';" },
    { 'src/database/migrate.ts': "f('create table a (b text)');" },
    { 'src/products/contract.ts': "const summary = 'Update a product, then set its price';" },
    { 'src/products/a.test.ts': "f('select id from products');" },
  ],
};

const namedColumns: Rule = {
  id: 'named-columns',
  name: 'a statement names the columns it returns',
  remedy: 'name them: a new column must not reach a client by itself',
  check(file) {
    if (!isStore(file.path)) return [];
    return textsOf(file).flatMap(({ line, owner, text }) =>
      isStatement(text) && hasStar(text) ? [finding(file, line, owner)] : [],
    );
  },
  refuses: [
    { files: { 'src/a/store.ts': "const a = 'select * from b';" }, at: ['src/a/store.ts:1'] },
    {
      files: { 'src/a/store.ts': "const a = 'select b.id, c.* from b, c';" },
      at: ['src/a/store.ts:1'],
    },
    {
      files: { 'src/a/store.ts': "const a = 'update b set c = 1 returning *';" },
      at: ['src/a/store.ts:1'],
    },
  ],
  allows: [
    // The columns of a lateral are chosen by the select around it, those of a `with` inside it.
    { 'src/a/store.ts': "const a = 'select b.id from (select * from b) b';" },
    {
      'src/a/store.ts':
        "const a = 'select * from ((select b from c) union all (select d from e))';",
    },
    { 'src/a/store.ts': "const a = 'with b as (select id from c) select b.*, 1 from b';" },
    { 'src/a/store.ts': "const a = 'select count(*), b * 2 from b';" },
  ],
};

/** Whether it returns `*` at the top level, other than of a part whose columns it names itself. */
function hasStar(text: string): boolean {
  const parts = [...text.matchAll(/\b(\w+)\s+as\s+(?:(?:not\s+)?materialized\s+)?\(/g)];
  const named = new Set(parts.map(([, name]) => name));
  const outer = topLevel(text.replace(/\*(?=\s+from[\s(]+select\s+(?!(?:\w+\.)?\*))/g, 'them'));
  const stars = outer.matchAll(/(?:\bselect|\breturning|,)\s+(?:(\w+)\.)?\*/g);
  return [...stars].some(([, table]) => table === undefined || !named.has(table));
}

/** The text without what stands in parentheses. */
function topLevel(text: string): string {
  const inner = /\([^()]*\)/g;
  const without = text.replace(inner, ' ');
  return without === text ? text : topLevel(without);
}

const merchants: Rule = {
  id: 'merchant-bound',
  name: "a statement of a merchant's table is bound to the merchant",
  remedy: 'add merchant_id = $n, of the principal, or that of the records, as `a` or `s`',
  check(file, tree) {
    if (!file.isService || !file.path.endsWith('.ts') || file.path.startsWith('src/database/'))
      return [];
    const tables = merchantTables(tree);
    return textsOf(file).flatMap(({ line, owner, text }) => {
      const touched = [...text.matchAll(/\b(?:from|join|into|update)\s+(\w+)/g)];
      const table = touched.map(([, name]) => name ?? '').find((name) => tables.has(name));
      return table === undefined || isBound(text)
        ? []
        : [finding(file, line, `${owner}: ${table}`)];
    });
  },
  refuses: [
    { files: orders("const f = 'select b from orders where id = $1';"), at: ['src/a/store.ts:1'] },
    { files: orders('f(`delete from orders`);'), at: ['src/a/store.ts:1'] },
    { files: orders("\nf('select merchant_id from orders');"), at: ['src/a/store.ts:2'] },
    {
      files: orders(`const a = 'select b from orders';\nf(\`\${a} where id = $1\`);`),
      at: ['src/a/store.ts:2'],
    },
    {
      files: orders("f('select b from orders o join a on o.id = a.id');"),
      at: ['src/a/store.ts:1'],
    },
    {
      files: orders(
        "f('select b from orders where id in (select id from json_to_recordset($1) a)');",
      ),
      at: ['src/a/store.ts:1'],
    },
  ],
  allows: [
    orders(`const a = 'select b from orders';\nf(\`\${a} where merchant_id = $1\`);`),
    orders(
      "f('select b from json_to_recordset($1) a join orders o on o.merchant_id = a.merchant_id');",
    ),
    orders(`f(\`select b from orders o where (o.merchant_id, o.id) in (
      select a.merchant_id, a.id from json_to_recordset($1) as a (b text))\`);`),
    orders(`const a = (b) => 'select b from orders';\nf(\`\${a(1)} where merchant_id = $1\`);`),
    orders("f('insert into orders (merchant_id, id) values ($1, $2)');"),
    orders("f('insert into orders as added (merchant_id, id) values ($1, $2)');"),
    orders("f('select o.id from orders o join a using (merchant_id, id)');"),
    orders("f('select id from merchants where id = $1');"),
  ],
};

/** To a parameter, or to the merchant that each record of a set names. */
function isBound(text: string): boolean {
  const ofRecords = [
    /\bmerchant_id\s*=\s*[as]\.merchant_id\b/,
    /\(\w+\.merchant_id,[^()]*\)\s+in\s*\(\s*select\s+a\.merchant_id\b/,
  ];
  const isOfRecords = /recordset\([^()]*\$1\)/.test(text);
  return [
    ...(isOfRecords ? ofRecords : [/\bmerchant_id\s*=\s*\$\d/]),
    /\binsert\s+into\s+\w+(?:\s+as\s+\w+)?\s*\([^)]*\bmerchant_id\b/,
    /\busing\s*\([^)]*\bmerchant_id\b/,
  ].some((binding) => binding.test(text));
}

/** What may not stand in an SQL text, whatever it is about, and why. */
const refusedForms: readonly (readonly [RegExp, string])[] = [
  [/\bpublic\./, 'a schema by its name'],
  [
    new RegExp(
      String.raw`\bupdate\b(?:(?!\b(?:returning|insert|select)\b)[\s\S])*` +
        String.raw`\b(?:random|clock_timestamp|gen_random_uuid)\(`,
    ),
    'a volatile function in an update',
  ],
  [
    /json(?:b)?_to_recordset\((?:(?!\bjoin\b)[\s\S]){0,120}\bwhere\s+not\s+exists/,
    '`not exists` on a record set',
  ],
];

const distributed: Rule = {
  id: 'distributed-sql',
  name: 'a statement runs on a distributed engine as well',
  remedy:
    'name no schema; read a clock or chance in the program; use json_array_elements($1) and ->> ' +
    'where `not exists` meets records',
  check(file) {
    if (!isStore(file.path) && file.path !== 'src/operations/keys.ts') return [];
    return textsOf(file).flatMap(({ line, owner, text }) =>
      refusedForms.flatMap(([form, what]) =>
        form.test(text) ? [finding(file, line, `${owner}: ${what}`)] : [],
      ),
    );
  },
  refuses: [
    {
      files: { 'src/a/store.ts': "const a = 'select b from public.c';" },
      at: ['src/a/store.ts:1'],
    },
    {
      files: { 'src/a/store.ts': "const a = 'update b set c = clock_timestamp()';" },
      at: ['src/a/store.ts:1'],
    },
    {
      files: {
        'src/a/store.ts':
          "f('select d from json_to_recordset($1) as d (e text) where not exists (select 1)');",
      },
      at: ['src/a/store.ts:1'],
    },
  ],
  allows: [
    { 'src/a/store.ts': "const a = 'update b set c = now()';" },
    {
      'src/a/store.ts':
        "f('select d from json_array_elements($1) d where not exists (select from e)');",
    },
  ],
};

const functions: Rule = {
  id: 'functions-name-no-schema',
  name: 'a function of the database names no schema, and copies its transition table first',
  remedy:
    'write `set search_path from current`, and read the transition table into a variable once',
  check(file) {
    if (!file.path.startsWith('db/migrations/')) return [];
    const schemas = findLines(file, /\bpublic\.\w+/);
    const bodies = [
      ...file.text.matchAll(/create (?:or replace )?function (\w+)[\s\S]*?end \$\$;/g),
    ];
    const reading = bodies.flatMap(({ 0: text, 1: name = '', index }) => {
      const line = file.text.slice(0, index).split('\n').length;
      const isPinned = /set search_path from current/.test(text);
      const isReading = /(?<!distinct )\b(?:from|into|update|join)\s+(?!added\b)[a-z_]+\s/.test(
        text,
      );
      const copies = text.match(/\bfrom added\b/g)?.length ?? 0;
      const isCopied = copies === 0 || (copies === 1 && /:= \([\s\S]*from added/.test(text));
      return [
        ...(isReading && !isPinned ? [finding(file, line, `${name}: no search_path`)] : []),
        ...(isCopied ? [] : [finding(file, line, `${name}: reads a transition table`)]),
      ];
    });
    return [...schemas, ...reading];
  },
  refuses: [
    {
      files: { 'db/migrations/0001_a.sql': 'grant select on public.b to c;' },
      at: ['db/migrations/0001_a.sql:1'],
    },
    {
      files: {
        'db/migrations/0001_a.sql':
          'create function f() returns trigger language plpgsql as $$\nbegin\n' +
          '  perform 1 from b where c;\nend $$;',
      },
      at: ['db/migrations/0001_a.sql:1'],
    },
    {
      files: {
        'db/migrations/0001_a.sql':
          'create function f() returns trigger language plpgsql set search_path from current as ' +
          '$$\nbegin\n  perform 1 from b join added on true;\n  perform 1 from added a;\nend $$;',
      },
      at: ['db/migrations/0001_a.sql:1'],
    },
  ],
};

/** A store, and a table of a merchant. */
function orders(store: string): Files {
  const tables = ['merchants (\n  id text', 'orders (\n  merchant_id text'];
  const migration = tables.map((table) => `create table ${table}\n);\n`).join('');
  return { 'src/a/store.ts': store, 'db/migrations/0001_a.sql': migration };
}

/** The tables whose rows belong to a merchant, as the migrations make them. */
function merchantTables(tree: Tree): ReadonlySet<string> {
  const migrations = [...tree.values()].filter((file) => file.path.startsWith('db/migrations/'));
  const tables = migrations.flatMap((file) => [
    ...file.text.matchAll(/create table (?:if not exists )?(\w+) \(\n([\s\S]*?)\n\)/g),
  ]);
  const owned = tables.filter(([, , columns = '']) => /^\s+merchant_id\s/m.test(columns));
  return new Set(owned.map(([, name = '']) => name));
}

/** The texts of a file, each whole; a constant that another text embeds is not one by itself. */
function textsOf(file: SourceFile): Text[] {
  const constants = new Map<string, Node>();
  for (const { node, around } of nodesOf(file, 'VariableDeclarator')) {
    const isTop = around.every(({ type }) => !/Function/.test(type));
    const name = nameOf(node.id);
    if (isTop && name !== undefined && isNode(node.init)) constants.set(name, node.init);
  }
  const embedded = new Set(
    nodesOf(file, 'TemplateLiteral').flatMap(({ node }) =>
      (node.expressions as Node[]).map((one) => constants.get(nameOf(one.callee ?? one) ?? '')),
    ),
  );
  return nodesOf(file, 'Literal', 'TemplateLiteral', 'BinaryExpression').flatMap(
    ({ node, around }) => {
      const isPart = around.some((one) => isText(one) || embedded.has(one));
      if (!isText(node) || isPart || embedded.has(node)) return [];
      const text = textOf(node, constants);
      return [{ line: file.lineAt(node.start), owner: ownerOf(around), text }];
    },
  );
}

function isText(node: Node): boolean {
  if (node.type === 'BinaryExpression') return node.operator === '+';
  return node.type === 'TemplateLiteral' || typeof node.value === 'string';
}

function textOf(node: unknown, constants: ReadonlyMap<string, Node>): string {
  if (!isNode(node)) return '';
  const inner = (one: unknown) => textOf(one, constants);
  switch (node.type) {
    case 'Literal':
      return String(node.value);
    case 'TemplateLiteral': {
      const expressions = (node.expressions as Node[]).map(inner);
      const quasis = node.quasis as readonly { readonly value: { readonly cooked: string } }[];
      return quasis
        .map(({ value }, index) => `${value.cooked}${expressions[index] ?? ''}`)
        .join('');
    }
    case 'BinaryExpression':
      return `${inner(node.left)}${inner(node.right)}`;
    case 'ConditionalExpression':
      return `${inner(node.consequent)} ${inner(node.alternate)}`;
    case 'CallExpression':
      return inner(node.callee);
    case 'ArrowFunctionExpression':
      return inner(node.body);
    case 'Identifier': {
      const constant = constants.get(nameOf(node) ?? '');
      return constant === undefined ? '?' : inner(constant);
    }
    default:
      return '?';
  }
}

function ownerOf(around: readonly Node[]): string {
  const named = around.map((node) => nameOf(node.id)).filter((name) => name !== undefined);
  return named.at(-1) ?? 'the file';
}

export const statementRules: readonly Rule[] = [
  home,
  ownNames,
  namedColumns,
  merchants,
  distributed,
  functions,
];
