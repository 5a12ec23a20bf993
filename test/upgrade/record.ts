// Records what an earlier version binds and answers, from that version itself:
// `npx tsx test/upgrade/record.ts COMMIT` writes test/upgrade/kept/NNNN.json and NNNN.sql, by the
// version of its schema. To be run once per migration, before it is merged, and never again.

import type pg from 'pg';
import { Api } from '../kit/api.ts';
import { Given } from '../kit/given.ts';
import { serveProcess } from '../kit/process.ts';
import { type Ground, openGround } from './ground.ts';
import { type Exchange, type Kept, withoutRequest, writeKept } from './kept.ts';
import { checkOut, tallybook } from './program.ts';
import { keyOf, listsOf, type Step, steps } from './requests.ts';

/** What belongs to a merchant; the rest is as the migrations made it. */
const tables = [
  'merchants',
  'credentials',
  'credential_tokens',
  'customers',
  'products',
  'locations',
  'operations',
  'inventory_levels',
  'inventory_movements',
];

const [revision = 'HEAD'] = process.argv.slice(2);
const ground = await openGround();
const program = await checkOut(revision);
try {
  const migrated = await tallybook(program, ['migrate'], ground.env);
  if (migrated.code !== 0) throw new Error(migrated.stderr);
  const node = await serveProcess([], ground.env, { bin: program.bin });
  try {
    const kept = await record(ground, new Api(node.api.origin, undefined, () => undefined));
    writeKept(kept, await rowsOf(ground.client));
    console.log(`recorded version ${kept.schema} of ${kept.commit}`);
  } finally {
    await node.end();
  }
} finally {
  await program.remove();
  await ground.close();
}

async function record(place: Ground, api: Api): Promise<Kept> {
  const given = new Given(place);
  const { token } = await given.credential(await given.merchant('Corner Shop'));
  await place.sql("update credential_tokens set expires_at = '2999-01-01Z'");
  const caller = api.as(token);
  const made = new Map<string, string>();
  const idOf = (name: string) => made.get(name) ?? '';
  const sent: { step: Step; key: string }[] = [];
  for (const [index, stepOf] of steps.entries()) {
    const step = stepOf(idOf);
    const key = keyOf(index);
    const { body } = await send(caller, step, key, step.body);
    if (typeof body.data?.id === 'string') made.set(step.name, body.data.id);
    sent.push({ step, key });
  }
  const exchanges: Exchange[] = [];
  for (const { step, key } of sent) {
    const { status, body } = await send(caller, step, key, step.again);
    const { name, method, path, ifMatch = null } = step;
    const [first, again, changed] = [step.body, step.again, step.changed].map((one) =>
      JSON.stringify(one),
    );
    if (typeof body.meta.operation_id !== 'string') throw new Error(`${name} bound no key`);
    exchanges.push({
      ...{ name, key, method, path, ifMatch },
      ...{ body: first ?? '', again: again ?? '', changed: changed ?? '' },
      ...{ status, answer: withoutRequest(body) },
    });
  }
  const lists = [];
  for (const path of listsOf(idOf)) lists.push({ path, data: (await caller.get(path)).body.data });
  const { commit, schema } = program;
  return { commit, schema, token: [token.slice(0, 7), token.slice(7)], exchanges, lists };
}

function send(caller: Api, { method, path, ifMatch }: Step, key: string, body: object) {
  const headers = ifMatch === undefined ? {} : { 'if-match': ifMatch };
  return caller.send(method, path, JSON.stringify(body), { key, headers });
}

/** Every row as text, as the server writes its values: no number loses a digit. */
async function rowsOf(client: pg.Client): Promise<string> {
  await client.query("set timezone = 'UTC'");
  const parts: string[] = [];
  for (const table of tables) {
    const { rows: columns } = await client.query<{ name: string }>(
      `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0
         and not attisdropped and attgenerated = '' order by attnum`,
      [table],
    );
    const names = columns.map(({ name }) => name);
    const values = names.map((name) => `quote_nullable(${name}::text)`).join(", ', ', ");
    const { rows } = await client.query<{ row: string }>(
      `select concat('(', ${values}, ')') as row from ${table} t order by t::text collate "C"`,
    );
    if (rows.length === 0) continue;
    const list = rows.map(({ row }) => row).join(',\n');
    parts.push(`insert into ${table} (${names.join(', ')}) values\n${list};\n`);
  }
  return parts.join('\n');
}
