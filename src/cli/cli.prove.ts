// What the command line guarantees, through real processes on the built program: the shape of what
// is printed, the exit codes, and that it works on the database of a running service. The server
// belongs to this process, so that nothing outlives it.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../test/kit/port.ts';
import { type ServiceProcess, serveProcess } from '../../test/kit/process.ts';
import { type PrivateServer, startPrivateServer } from '../postgres/server.ts';
import { scopes } from '../resources.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;

const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-z]{26}$`));
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const token = expect.stringMatching(/^tb_pat_[0-9A-Za-z]{46}$/);
const unknown = '01k9x3v7c2e4r8t1m5n6p0q9sa';

let directory: string;
let data: string;
let server: PrivateServer;
let service: ServiceProcess;
interface Named {
  readonly id: string;
}

interface Token extends Named {
  readonly token: string;
  readonly created_at: string;
  readonly expires_at: string;
  readonly valid_tokens: readonly { readonly created_at: string; readonly expires_at: string }[];
}

let greeting: { base_url: string; docs_url: string; token: string; merchant_id: string };

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tallybook-cli-'));
  data = join(directory, 'data');
  server = await startPrivateServer({
    dataDirectory: data,
    stopWithParent: true,
    log: () => undefined,
  });
  service = await serveProcess(['--data', data, '--demo']);
  greeting = service.greeting as typeof greeting;
});

afterAll(async () => {
  await service?.end();
  await server?.stop();
  await rm(directory, { recursive: true, force: true });
});

describe('serve', () => {
  test('with --demo on a new directory prints where it is and a token that works', async () => {
    expect(greeting).toEqual({
      console_url: expect.stringMatching(/\/console$/),
      sign_in_url: expect.stringMatching(/\/console\/invitation#tb_inv_\w+$/),
      base_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/api\/v1$/),
      docs_url: expect.stringMatching(/\/docs$/),
      merchant_id: id('mer'),
      token,
      expires_at: time,
    });
    const products = await get('/products?limit=200', greeting.token);
    expect(products.body.data).toHaveLength(60);
    const movements = await get('/inventory/movements?limit=200', greeting.token);
    expect(movements.body.data).toHaveLength(200);
  });

  test('refuses a port that is taken with 1, and leaves the database to others', async () => {
    const { port } = new URL(greeting.base_url);
    const { code, stderr } = await tallybook('serve', '--port', port, '--data', data);
    expect(code).toBe(1);
    expect(stderr).toContain('the port is in use: name another one with --port or TALLYBOOK_PORT');
    expect((await get('/credential', greeting.token)).status).toBe(200);
  });
});

test('a service with a demo is ready once it has printed the token', async () => {
  const fresh = await mkdtemp(join(tmpdir(), 'tallybook-ready-'));
  const port = await freePort();
  const args = ['serve', '--demo', '--json', '--port', String(port), '--data', fresh];
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let printed = '';
  child.stdout.on('data', (chunk) => {
    printed += String(chunk);
  });
  const status = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      (response) => response.status,
      () => 0,
    );
  await expect.poll(status, { interval: 50, timeout: 60_000 }).toBe(200);
  expect(JSON.parse(printed).token).toMatch(/^tb_pat_/);
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
  await rm(fresh, { recursive: true });
}, 90_000);

describe('every command', () => {
  const commands = [
    ...['serve', 'migrate', 'backup', 'restore', 'verify', 'demo'],
    ...['merchant', 'merchant create', 'merchant list'],
    ...['location', 'location create', 'location list'],
    ...['token', 'token create', 'token list', 'token show', 'token rotate', 'token revoke'],
    ...['token grant', 'token scope', 'token prune', 'limit', 'limit set', 'limit show'],
    ...['merchant rename', 'merchant disable', 'merchant enable', 'merchant export'],
    ...['customer', 'customer erase', 'customer export'],
  ];

  test.each(commands)('%s has help with an example of it', async (command) => {
    const { code, stdout, stderr } = await tallybook(...command.split(' '), '--help');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`Example:\n  \\$ .*tallybook ${command}`));
    const doesSomething = !commands.some((other) => other.startsWith(`${command} `));
    if (doesSomething) expect(stdout).toMatch(/--data.*--database-url.*--json/s);
  });
});

describe('a usage error exits with 2 and prints nothing but an error', () => {
  const merchant = `mer_${unknown}`;
  const create = ['token', 'create', '--merchant', merchant, '--name', 'till'];
  const all = ['--scopes', 'all', '--locations', 'all'];
  test.each([
    ['no command', []],
    ['an unknown command', ['mechant', 'list']],
    ['a group without a command', ['token']],
    ['an unknown option', ['merchant', 'list', '--jsn']],
    ['a missing option', ['merchant', 'create']],
    ['one argument too many', ['merchant', 'list', 'all']],
    ['two databases', ['verify', '--database-url', 'postgres://a@b/c']],
    ['a blank name', ['merchant', 'create', '--name', ' ']],
    ['an ID of another kind', ['token', 'show', merchant]],
    ['an ID that is none', ['token', 'revoke', 'cred_1']],
    ['an unknown scope', [...create, '--locations', 'all', '--scopes', 'inventory.red']],
    ['no scope', [...create, '--locations', 'all', '--scopes', ',']],
    ['a location that is no ID', [...create, '--scopes', 'all', '--locations', 'shop']],
    ['a life without a unit', [...create, ...all, '--expires-in', '90']],
    ['a life of nothing', [...create, ...all, '--expires-in', '0d']],
    ['too long a life', [...create, ...all, '--expires-in', '367d']],
    [
      'an unknown type',
      ['location', 'create', '--merchant', merchant, '--name', 'A', '--type', 'x'],
    ],
    ['a port that is none', ['serve', '--port', '80800']],
  ] satisfies [string, string[]][])('%s', async (_, args) => {
    const { code, stdout, stderr } = await tallybook(...args, '--data', data);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).not.toBe('');
    expect(stderr).not.toContain('    at ');
  });
});

describe('what does not exist exits with 1 and says so', () => {
  test.each([
    ['a credential', ['token', 'show', `cred_${unknown}`]],
    ['a credential to revoke', ['token', 'revoke', `cred_${unknown}`]],
    ['a merchant to verify', ['verify', '--merchant', `mer_${unknown}`]],
    ['a merchant of locations', ['location', 'list', '--merchant', `mer_${unknown}`]],
    ['a customer', ['customer', 'erase', `cus_${unknown}`, '--yes']],
  ])('%s', async (_, args) => {
    const { code, stdout, stderr } = await tallybook(...args, '--data', data, '--json');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: there is no .*\n$/);
  });

  test('a location to grant', async () => {
    const { id: credential } = await newToken('--locations', 'none');
    const { code, stderr } = await tallybook(
      ...['token', 'grant', credential, '--locations', `loc_${unknown}`, '--data', data],
    );
    expect(code).toBe(1);
    expect(stderr).toContain(`has no location loc_${unknown}`);
  });

  test('a database in the data directory', async () => {
    const elsewhere = join(directory, 'mistyped');
    const { code, stderr } = await tallybook('merchant', 'list', '--data', elsewhere);
    expect(code).toBe(1);
    expect(stderr).toContain(`there is no database in ${elsewhere}`);
    expect(existsSync(elsewhere)).toBe(false);
  });
});

describe('--json prints one value: ', () => {
  test('merchants', async () => {
    const made = await json('merchant', 'create', '--name', 'Zoë’s “Corner” Shop');
    expect(made).toEqual({
      ...{ id: id('mer'), name: 'Zoë’s “Corner” Shop', cell: 'cell_1', created_at: time },
      disabled_at: null,
    });
    expect(await json('merchant', 'list')).toContainEqual(made);
  });

  test('locations, as the interface shows them', async () => {
    const { id: merchant } = await json<Named>('merchant', 'create', '--name', 'Corner Shop');
    const made = await json<Named>(
      ...['location', 'create', '--merchant', merchant, '--name', 'Main Street'],
      ...['--code', 'MAIN', '--type', 'store'],
    );
    expect(made).toMatchObject({ id: id('loc'), name: 'Main Street', code: 'MAIN', type: 'store' });
    expect(await json('location', 'list', '--merchant', merchant)).toEqual([made]);
    const { token: pat } = await json<Token>(
      ...['token', 'create', '--merchant', merchant, '--name', 'till'],
      ...['--scopes', 'locations.read', '--locations', made.id],
    );
    expect((await get(`/locations/${made.id}`, pat)).body.data).toEqual(made);
    const again = await tallybook(
      ...['location', 'create', '--merchant', merchant, '--name', 'B', '--code', 'MAIN'],
      ...['--data', data],
    );
    expect(again).toMatchObject({ code: 1, stdout: '' });
  });

  test('a new token with its credential', async () => {
    const made = await newToken('--scopes', 'products.read,inventory.read,products.read');
    const credential = {
      id: id('cred'),
      merchant_id: greeting.merchant_id,
      name: 'till',
      kind: 'personal_access_token',
      application: null,
      approval_id: null,
      scopes: ['products.read', 'inventory.read'],
      locations: 'all',
      created_at: time,
      expires_at: time,
      revoked_at: null,
      last_used_at: null,
      last_four: made.token.slice(-4),
      valid_tokens: [
        { last_four: made.token.slice(-4), created_at: time, expires_at: made.expires_at },
      ],
    };
    expect(made).toEqual({ ...credential, token });
    expect(await json('token', 'show', made.id)).toEqual({ ...credential, id: made.id });
    const listed = await json('token', 'list', '--merchant', greeting.merchant_id);
    expect(listed).toContainEqual({ ...credential, id: made.id });
    expect(JSON.stringify(listed)).not.toContain('tb_pat_');
  });

  test('a life of 90 days, or of what is asked for', async () => {
    const days = ({ created_at, expires_at }: { created_at: string; expires_at: string }) =>
      Math.round((Date.parse(expires_at) - Date.parse(created_at)) / 86_400_000);
    expect(days(await newToken())).toBe(90);
    expect(days(await newToken('--expires-in', '48h'))).toBe(2);
    expect(days(await newToken('--expires-in', '366d'))).toBe(366);
  });

  test('"all" as the scopes of today, and the locations as they are granted', async () => {
    const { id: credential } = await newToken('--scopes', 'all', '--locations', 'none');
    expect(await json('token', 'show', credential)).toMatchObject({
      scopes: [...scopes],
      locations: [],
    });
    const merchant = ['--merchant', greeting.merchant_id];
    const [location = { id: '' }] = await json<Named[]>('location', 'list', ...merchant);
    expect(await json('token', 'grant', credential, '--locations', location.id)).toMatchObject({
      locations: [location.id],
    });
    expect(await json('token', 'scope', credential, '--scopes', 'events.read')).toMatchObject({
      scopes: ['events.read'],
    });
  });

  test('the state of the schema', async () => {
    expect(await json('migrate')).toEqual({ version: expect.any(Number), applied: [] });
  });

  test('another demo merchant', async () => {
    const made = await json<{ merchant_id: string; movements: number }>('demo');
    expect(made).toMatchObject({ locations: 3, products: 60, customers: 40, token });
    expect(made.movements).toBeGreaterThan(300);
    expect(made.merchant_id).not.toBe(greeting.merchant_id);
  });
});

describe('a running service', () => {
  test('refuses the old token at once when it is rotated without overlap', async () => {
    const old = await newToken();
    const rotated = await json<Token>('token', 'rotate', old.id, '--overlap', '0');
    expect(rotated).toMatchObject({ id: old.id, token });
    expect((await get('/credential', old.token)).status).toBe(401);
    expect((await get<Named>('/credential', rotated.token)).body.data.id).toBe(old.id);
  });

  test('admits both tokens for a day when it is rotated without a word', async () => {
    const old = await newToken();
    const rotated = await json<Token>('token', 'rotate', old.id);
    expect((await get('/credential', old.token)).status).toBe(200);
    expect((await get('/credential', rotated.token)).status).toBe(200);
    const [newer, older] = rotated.valid_tokens;
    const overlap = Date.parse(older?.expires_at ?? '') - Date.parse(newer?.created_at ?? '');
    expect(Math.round(overlap / 3_600_000)).toBe(24);
  });

  test('refuses a token once it is revoked, and revoking again is no error', async () => {
    const old = await newToken();
    expect((await get('/credential', old.token)).status).toBe(200);
    const revoked = await json('token', 'revoke', old.id);
    expect((await get('/credential', old.token)).status).toBe(401);
    expect(revoked).toMatchObject({ id: old.id, revoked_at: time, valid_tokens: [] });
    // When it was last used is noted a moment after it was.
    const again = { ...(revoked as object), last_used_at: expect.anything() };
    await expect.poll(() => json('token', 'revoke', old.id)).toEqual(again);
    const { code, stderr } = await tallybook('token', 'rotate', old.id, '--data', data);
    expect(code).toBe(1);
    expect(stderr).toContain('was revoked');
  });

  test('answers 410 for a customer that was erased', async () => {
    const customers = await get<Named[]>('/customers?limit=1', greeting.token);
    const customer = customers.body.data[0]?.id ?? '';
    const erased = await json('customer', 'erase', customer, '--yes');
    expect(erased).toEqual({ id: customer, merchant_id: greeting.merchant_id, erased_at: time });
    const answer = await get(`/customers/${customer}`, greeting.token);
    expect([answer.status, answer.body.error?.code]).toEqual([410, 'resource_erased']);
    expect(await json('customer', 'erase', customer, '--yes')).toEqual(erased);
  });

  test('has a sound ledger, until a hand has been in the database', async () => {
    const { id: merchant } = await json<Named>('merchant', 'create', '--name', 'Corner Shop');
    const nothing = { ok: true, levels: 0, movements: 0, differences: [] };
    expect(await json('verify', '--merchant', merchant)).toEqual(nothing);
    const sound = await json('verify', '--merchant', greeting.merchant_id);
    expect(sound).toEqual({ ok: true, levels: 136, movements: 443, differences: [] });
    await tamper();
    const { code, stdout } = await tallybook('verify', '--data', data, '--json');
    expect(code).toBe(1);
    const { ok, differences } = JSON.parse(stdout);
    expect(ok).toBe(false);
    expect(differences).toContainEqual({
      kind: 'quantity_differs',
      merchant_id: greeting.merchant_id,
      product_id: id('prod'),
      location_id: id('loc'),
      movement_id: id('imv'),
      message: expect.stringContaining('the level says'),
    });
    expect((await tallybook('verify', '--data', data)).stdout).toContain('quantity_differs');
  });
});

test('a command starts the server of a data directory for the moment only', async () => {
  const own = join(directory, 'own');
  const made = await tallybook('merchant', 'create', '--name', 'A', '--data', own);
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(existsSync(join(own, 'postgres'))).toBe(true);
  expect(existsSync(join(own, 'postgres', 'postmaster.pid'))).toBe(false);
  const listed = await tallybook('merchant', 'list', '--data', own);
  expect(listed.stdout).toContain('│ A ');
  expect(existsSync(join(own, 'postgres', 'postmaster.pid'))).toBe(false);
});

test('a command that is interrupted stops the server it has started', async () => {
  const own = join(directory, 'own');
  const pidFile = join(own, 'postgres', 'postmaster.pid');
  const args = [program, 'demo', '--data', own];
  const child = spawn(process.execPath, args, { env: environment, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await expect.poll(() => existsSync(pidFile), { interval: 5, timeout: 10_000 }).toBe(true);
  child.kill('SIGINT');
  expect(await ended).toBe(130);
  expect(existsSync(pidFile)).toBe(false);
});

/** Nothing of the environment of the tests, which may name another database. */
const environment = { PATH: process.env.PATH, HOME: process.env.HOME };

function tallybook(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const options = { env: environment };
    const child = execFile(process.execPath, [program, ...args], options, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

async function json<Printed>(...args: string[]): Promise<Printed> {
  const { code, stdout, stderr } = await tallybook(...args, '--data', data, '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}

function newToken(...options: string[]) {
  const defaults = { '--scopes': 'all', '--locations': 'all' };
  const rest = Object.entries(defaults).filter(([name]) => !options.includes(name));
  const merchant = ['--merchant', greeting.merchant_id, '--name', 'till'];
  return json<Token>('token', 'create', ...merchant, ...rest.flat(), ...options);
}

async function get<Data>(
  path: string,
  bearer: string,
): Promise<{ status: number; body: { data: Data; error?: { code: string } } }> {
  const headers = { authorization: `Bearer ${bearer}` };
  const response = await fetch(`${greeting.base_url}${path}`, { headers });
  const body = (await response.json()) as { data: Data };
  return { status: response.status, body };
}

async function tamper(): Promise<void> {
  const client = new pg.Client({ connectionString: server.ownerUrl });
  await client.connect();
  await client.query('set session_replication_role = replica');
  await client.query(
    `update inventory_levels set quantity = quantity + 1 where (product_id, location_id) =
     (select product_id, location_id from inventory_levels where merchant_id = $1 limit 1)`,
    [greeting.merchant_id],
  );
  await client.end();
}
