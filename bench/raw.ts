// The raw figures: what the database does by itself with the same work, driven by pgbench. It logs
// every transaction, so that the figures cover the same kind of window as the service's: whole
// seconds after the new connections have planned and compiled.

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import type { MerchantId } from '../src/core/principal.ts';
import type { Statement } from '../src/core/statement.ts';
import { findAdjustments } from '../src/inventory/read-store.ts';
import { movementDigits, productDigits } from '../test/kit/many-rows.ts';
import { runProgram } from '../test/kit/program.ts';
import type { Measured } from './load.ts';
import { requireProgram } from './servers.ts';

/** The service's role writes nothing outside of a transaction that says so; a raw call does. */
const writable = '-c default_transaction_read_only=off';

/** New connections take so long until all of them are at work. */
const rampSeconds = 1;

/** As pgbench reads it: `:name` is a constant, or one of the numbers, which are drawn at random. */
export interface RawStatement {
  readonly text: string;
  readonly constants: Readonly<Record<string, string>>;
  /** Each is drawn from 1 to its value, for every transaction. */
  readonly numbers: Readonly<Record<string, number>>;
}

export type RawWork = readonly { readonly weight: number; readonly statement: RawStatement }[];

/** A product at random, as an expression. Its prefix is the constant `prefix`, its number `:n`. */
export const anyProduct = `:prefix || lpad(:n::text, ${productDigits}, '0')`;

/** A movement at random. Its prefix is the constant `prefix`, its number `:v`. */
export const anyMovement = `:prefix || lpad(:v::text, ${movementDigits}, '0')`;

/**
 * A statement of the service as it is, except for parameters that are given as expressions, by
 * their number. Values are texts, numbers and nulls.
 */
export function rawOf(
  { text, values }: Statement,
  expressions: Readonly<Record<number, string>> = {},
  more: Partial<Pick<RawStatement, 'constants' | 'numbers'>> = {},
): RawStatement {
  const constants: Record<string, string> = { ...more.constants };
  const replaced = text.replace(/\$([0-9]+)/g, (_, digits: string) => {
    const number = Number(digits);
    const value = values[number - 1];
    const expression = expressions[number];
    if (expression !== undefined) return expression;
    if (value === null || value === undefined) return 'null';
    // pgbench takes no empty text; this is before every ID as well.
    constants[`p${number}`] = value === '' ? '!' : String(value);
    return `:p${number}`;
  });
  return { text: replaced, constants, numbers: more.numbers ?? {} };
}

/** With every name replaced. A cast (`::`) is none. */
function renamed(text: string, rename: (name: string) => string): string {
  return text.replace(/(?<!:):([a-z][a-z0-9_]*)/g, (_, name: string) => rename(name));
}

export async function runPgbench(
  url: string,
  directory: string,
  work: RawWork,
  clients: number,
  seconds: number,
): Promise<Measured> {
  const cwd = join(directory, 'pgbench');
  await rm(cwd, { recursive: true, force: true });
  await mkdir(cwd);
  const scripts = work.map(scriptOf);
  for (const { name, text } of scripts) await writeFile(join(cwd, name), text);
  const running = runProgram(
    requireProgram('pgbench'),
    [
      ...['--no-vacuum', '--protocol=prepared', '--log', '--log-prefix=transactions'],
      ...scripts.map(({ name, weight }) => `--file=${name}@${weight}`),
      `--client=${clients}`,
      `--jobs=${Math.min(clients, availableParallelism())}`,
      `--time=${seconds + rampSeconds}`,
      ...scripts.flatMap(({ definitions }) => definitions),
    ],
    { limitMs: (seconds + rampSeconds) * 1_000 + 20_000, cwd, env: connection(url) },
  );
  // One that is aborted is an error of the run, which goes on: the rest of it is worth keeping.
  const failure = await running.then(
    () => undefined,
    (error: Error) => error.message,
  );
  return measuredByLog(cwd, seconds, failure);
}

/** Names are the script's own: pgbench has one set of variables for all scripts. */
function scriptOf({ weight, statement }: RawWork[number], index: number) {
  const own = (name: string) => `${name}_${index}`;
  const draws = Object.entries(statement.numbers).map(
    ([name, most]) => `\\set ${own(name)} random(1, ${most})\n`,
  );
  // A statement is one line: pgbench ends it at the semicolon, and blanks mean nothing here.
  const line = renamed(statement.text.trim(), (name) => `:${own(name)}`).replace(/\s+/g, ' ');
  return {
    name: `script-${index}.sql`,
    weight,
    text: `${draws.join('')}${line};\n`,
    definitions: Object.entries(statement.constants).map(
      ([name, value]) => `--define=${own(name)}=${value}`,
    ),
  };
}

/** As libpq reads it; a password on the command line would show in the list of processes. */
function connection(url: string): Record<string, string> {
  const { username, password, port, pathname, hostname, searchParams } = new URL(url);
  return {
    PGHOST: searchParams.get('host') ?? hostname,
    PGPORT: port,
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: pathname.slice(1),
    PGSSLMODE: 'disable',
    PGOPTIONS: writable,
  };
}

/**
 * A line is: client, transaction, duration, script, second and microsecond of its end. The window
 * is the last `seconds` before the last transaction ended: all clients were at work.
 */
async function measuredByLog(
  directory: string,
  seconds: number,
  failure: string | undefined,
): Promise<Measured> {
  const names = (await readdir(directory)).filter((name) => name.startsWith('transactions.'));
  const texts = await Promise.all(names.map((name) => readFile(join(directory, name), 'utf8')));
  const fields = texts
    .flatMap((text) => text.split('\n'))
    .filter((line) => line !== '')
    .map((line) => line.split(' '));
  const good = fields.filter(([, , duration = '']) => /^[0-9]+$/.test(duration));
  const endOf = ([, , , , second, micro]: string[]) => Number(second) * 1e6 + Number(micro);
  const last = good.reduce((latest, line) => Math.max(latest, endOf(line)), 0);
  const within = good.filter((line) => endOf(line) > last - seconds * 1e6);
  const sorted = Float64Array.from(within, ([, , duration]) => Number(duration) / 1_000).sort();
  const errors = fields.length - good.length + (failure === undefined ? 0 : 1);
  return {
    requests: sorted.length,
    seconds,
    total: good.length,
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    errors,
    firstError: errors === 0 ? undefined : (failure ?? 'a transaction failed'),
  };
}

/** The smallest value that at least this share of all is not above. */
function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

/** 104 bits that grow with time, as wide as the service's own IDs: an index fills alike. */
const newId = (prefix: string) => `'${prefix}' || substr(replace(uuidv7()::text, '-', ''), 1, 26)`;

const random32 = 'uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())';

/** Locks the journal, binds the key, and gives `operation`, `place` and `moment` their values. */
const bind = (type: string, location: string, movements: number) => `
  perform from journals where merchant_id = merchant for no key update;
  select coalesce(max(last.position), 0) + 1 into strict place from (
    select o.position from operations o
    where o.merchant_id = merchant and o.position is not null
    order by o.merchant_id desc, o.position desc limit 1) last;
  moment := date_trunc('milliseconds', clock_timestamp());
  insert into operations (merchant_id, id, credential_id, type, key_hash, fingerprint,
    fingerprint_version, status, resource_id, movements, position, location_id, request_id,
    created_at)
  values (merchant, ${newId('op_')}, credential, '${type}', ${random32}, ${random32}, 1,
    'succeeded', resource, ${movements}, place, ${location}, ${newId('req_')}, moment)
  returning id into strict operation;`;

const adjust = `
create function bench_adjust(merchant text, credential text, location text, product text)
returns void language plpgsql as $$
declare
  operation text;
  resource text;
  level record;
  found_product record;
  place bigint;
  moment timestamptz;
begin
  select quantity, sequence into strict level from inventory_levels
  where merchant_id = merchant and product_id = product and location_id = location
  for no key update;
  select status, inventory_tracked, unit_precision into strict found_product from products
  where merchant_id = merchant and id = product;
  if found_product.status <> 'active' or not found_product.inventory_tracked then
    raise exception 'not to be adjusted';
  end if;
  -- After the lock: within a level, IDs follow the sequence.
  resource := ${newId('imv_')};
  ${bind('inventory.adjust', 'location', 1)}
  update inventory_levels
  set quantity = level.quantity + 1, sequence = level.sequence + 1, last_movement_id = resource,
    first_position = coalesce(first_position, place), updated_at = moment
  where merchant_id = merchant and product_id = product and location_id = location;
  insert into inventory_movements (merchant_id, id, product_id, location_id, sequence, type,
    reason, quantity_before, quantity_delta, quantity_after, operation_id, position, line,
    credential_id, actor_kind, recorded_at)
  values (merchant, resource, product, location, level.sequence + 1, 'adjustment', 'stock_count',
    level.quantity, 1, level.quantity + 1, operation, place, 1, credential, 'personal_access_token',
    moment);
end $$`;

const createCustomer = `
create function bench_create_customer(merchant text, credential text)
returns void language plpgsql as $$
declare
  operation text;
  resource text := ${newId('cus_')};
  number text := substr(resource, 5, 12);
  place bigint;
  moment timestamptz;
begin
  ${bind('customers.create', 'null', 0)}
  insert into customers (merchant_id, id, name, email, email_key, phone, status, version,
    created_at, updated_at, search)
  values (merchant, resource, 'Ada Bench ' || number, 'c' || number || '@example.com',
    'c' || number || '@example.com', '+493012345678', 'active', 1, moment, moment,
    ('ada bench ' || number || ' c' || number || ' example com')::tsvector);
end $$`;

/** The key of a write that has happened, and what its answer shows: two reads, nothing written. */
const replay = (shown: string) => `
create function bench_replay(merchant text, credential text, used text)
returns table (sequence bigint, level_quantity numeric) language plpgsql as $$
#variable_conflict use_column
declare
  resource text;
begin
  select resource_id into strict resource from operations
  where merchant_id = merchant and credential_id = credential and type = 'inventory.adjust'
    and key_hash = sha256(used::bytea);
  return query select shown.sequence, shown.level_quantity from (${shown}) shown;
end $$`;

/**
 * The writes as one statement each: what a transaction of the service does when it carries a single
 * command, with the same tables, indexes, constraints and triggers, and nothing of HTTP.
 */
export async function createFunctions(owner: pg.Client): Promise<void> {
  const shown = findAdjustments('' as MerchantId, [])
    .text.replaceAll('$1', 'merchant')
    .replace('any ($2)', 'any (array[resource])');
  for (const text of [adjust, createCustomer, replay(shown)]) await owner.query(text);
}
