// A second merchant whose records have the very IDs of another's, as after a copy restored under
// another merchant: nothing but merchant_id tells the two apart. A statement that forgets it finds
// too much, changes too much or locks too much, and no luck with IDs hides it. What the mirror
// shows differs: its names and some notes say so, its quantities are two more, one more of each is
// reserved, and its last counts are a day older.

import type pg from 'pg';
import { hashToken, mintToken } from '../../src/access/token.ts';
import { mintId } from '../../src/core/id.ts';
import { resources } from '../../src/resources.ts';
import { mirrorCell } from './cells.ts';
import type { TestDatabase } from './database.ts';

const tables = resources.flatMap((one) => one.tables.map(({ name }) => name));
const copied = ['credentials', ...tables];

export const mirrorJournal = `jrn_${'0'.repeat(26)}`;

/** What differs, so that one can tell whose a record is. `$1` is the mirror. */
const marks = [
  ...['customers', 'products', 'locations', 'credentials'].map(
    (table) => `update ${table} set name = 'Mirror ' || name where merchant_id = $1`,
  ),
  `update inventory_movements set quantity_after = quantity_after + 2,
     quantity_before = quantity_before + case when sequence > 1 then 2 else 0 end,
     quantity_delta = quantity_delta + case when sequence = 1 then 2 else 0 end
   where merchant_id = $1`,
  'update inventory_levels set quantity = quantity + 2 where merchant_id = $1 and sequence > 0',
  ...['inventory_counts', 'inventory_transfers', 'inventory_reservations'].map(
    (table) => `update ${table} set note = 'Mirror' where merchant_id = $1`,
  ),
  `update inventory_last_counts set counted_at = counted_at - interval '1 day'
   where merchant_id = $1`,
  'update inventory_reserved set quantity = quantity + 1 where merchant_id = $1 and quantity > 0',
  `update journals set id = '${mirrorJournal}' where merchant_id = $1`,
  `update operations set request_id = 'req_${'0'.repeat(26)}' where merchant_id = $1`,
];

export interface Mirror {
  readonly merchant: string;
  /** In the order of those asked for: a token of the mirrored credential. */
  readonly tokens: readonly string[];
}

/** Copies all that a merchant has, and of its tokens those that are named. */
export async function mirrorOf(
  db: TestDatabase,
  merchant: string,
  tokens: readonly string[] = [],
): Promise<Mirror> {
  const mirror = mintId('mer_');
  const home = await db.session();
  const session = await db.session(mirrorCell);
  // No trigger and no foreign key looks at the rows that a session like this one writes.
  await session.query("set session_replication_role = 'replica'; set search_path = public");
  await session.query(
    `insert into merchants (id, name, cell, created_at)
     select $2, 'Mirror ' || name, $3, created_at from merchants where id = $1`,
    [merchant, mirror, mirrorCell],
  );
  await copy(home, session, merchant, mirror);
  await home.end();
  const minted: string[] = [];
  for (const token of tokens) {
    const one = mintToken(token.includes('_oat_') ? 'oat' : 'pat');
    const values = [hashToken(token), mirror, hashToken(one), one.slice(-4)];
    await session.query(
      `insert into credential_tokens (token_hash, merchant_id, credential_id, last_four, scopes,
         created_at, expires_at)
       select $3, $2, credential_id, $4, scopes, created_at, expires_at
       from credential_tokens where token_hash = $1`,
      values,
    );
    await session.query(
      'update credentials set given_by = $3 where merchant_id = $2 and given_by = $1',
      values.slice(0, 3),
    );
    minted.push(one);
  }
  // Nobody knows the others, but whoever looks at their credentials sees that they are live.
  await session.query(
    `insert into credential_tokens (token_hash, merchant_id, credential_id, last_four, created_at,
       expires_at)
     select sha256(t.token_hash || convert_to($2, 'UTF8')), $2, t.credential_id, t.last_four,
       t.created_at, t.expires_at
     from credential_tokens t
     join credentials c on c.merchant_id = t.merchant_id and c.id = t.credential_id
     where t.merchant_id = $1 and c.application_id is null and t.token_hash <> all ($3)`,
    [merchant, mirror, tokens.map(hashToken)],
  );
  await session.query(`set search_path = ${mirrorCell}, public`);
  for (const mark of marks) await session.query(mark, [mirror]);
  await session.end();
  return { merchant: mirror, tokens: minted };
}

/** The two cells may be on two servers. */
async function copy(
  home: pg.Client,
  session: pg.Client,
  merchant: string,
  mirror: string,
): Promise<void> {
  for (const table of copied) {
    const place = table === 'credentials' ? table : `${mirrorCell}.${table}`;
    const { rows } = await home.query<{ copies: string }>(
      `select jsonb_agg(to_jsonb(t) || jsonb_build_object('merchant_id', $2::text))::text as copies
       from ${table} t where t.merchant_id = $1`,
      [merchant, mirror],
    );
    await session.query(
      `insert into ${place} with copies as materialized (
         select * from jsonb_populate_recordset(null::${place}, $1)) select * from copies`,
      [rows[0]?.copies],
    );
  }
}

const owned = [...copied, 'credential_tokens'];

/**
 * A fingerprint of all that a merchant has, but for one table. When a credential was used is no
 * record of its, and attempts to call a webhook are noted behind the answer.
 */
export function recordsOf(db: TestDatabase, merchant: string, but?: string): Promise<unknown> {
  const sum = "count(*)::int, md5(string_agg(one, '|' order by one)) as sum";
  return ofEach(
    db,
    merchant,
    owned.filter((table) => table !== but),
    sum,
  );
}

/** The times that a merchant's rows hold, as often as they do, as JSON writes them. */
export async function timesOf(db: TestDatabase, merchant: string): Promise<string[]> {
  const found = await ofEach<{ rows: string | null }>(
    db,
    merchant,
    owned,
    "string_agg(one, ' ') as rows",
  );
  const time = /\d{4}-\d\d-\d\dT[\d:.]+/g;
  return found.flatMap(({ rows }) => rows?.match(time) ?? []);
}

/** What an expression says of the rows of each table, `one` by one. */
async function ofEach<Said extends pg.QueryResultRow>(
  db: TestDatabase,
  merchant: string,
  names: readonly string[],
  expression: string,
): Promise<Said[]> {
  const [found] = await db.sql<{ cell: string }>('select cell from merchants where id = $1', [
    merchant,
  ]);
  const placeOf = (table: string) => (tables.includes(table) ? `${found?.cell}.${table}` : table);
  const queries = names.map(
    (table) =>
      `select '${table}' as name, ${expression}
       from (select (to_jsonb(t) - 'last_used_at' - 'attempts')::text as one
         from ${placeOf(table)} t
         where merchant_id = $1) rows`,
  );
  return db.sql<Said>(queries.join(' union all '), [merchant]);
}
