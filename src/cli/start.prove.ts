// What a start refuses, through the real command line: a database that could lose what is
// acknowledged, or that is not of this program. The message names the setting and what mends it,
// and the exit code is 1.

import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Cluster, startCluster } from '../../test/kit/cluster.ts';
import { serveProcess } from '../../test/kit/process.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;

let cluster: Cluster;
let environment: Record<string, string>;

beforeAll(async () => {
  cluster = await startCluster();
  await cluster.sql('create database books');
  environment = {
    DATABASE_URL: cluster.url('books_service', 'books'),
    TALLYBOOK_MIGRATE_URL: cluster.url('owner', 'books'),
    TALLYBOOK_SECRET: 'a secret of at least thirty-two characters',
  };
});
afterAll(() => cluster.stop());

/** A command, ended after a while: a service that starts after all would run for ever. */
function tallybook(command: string, env: Record<string, string> = environment) {
  return new Promise<{ code: number | null; stderr: string }>((resolve) => {
    const options = { env: { PATH: process.env.PATH, ...env }, timeout: 15_000 };
    const args = [program, ...command.split(' ')];
    const child = execFile(process.execPath, args, options, (_, __, stderr) =>
      resolve({ code: child.exitCode, stderr }),
    );
  });
}

const serve = 'serve --port 0';

/** Changes a setting of the server's, and waits until sessions begin with it. */
async function configure(name: string, value = 'on'): Promise<void> {
  await cluster.sql(`alter system set ${name} = ${value}`);
  await cluster.sql('select pg_reload_conf()');
  await expect.poll(() => cluster.sql(`show ${name}`)).toEqual([{ [name]: value }]);
}

describe('a server that a crash could take acknowledged writes from', () => {
  test.each([
    ['fsync', serve],
    ['full_page_writes', 'migrate'],
  ])('is refused and left as it was: %s', async (name, command) => {
    await configure(name, 'off');
    const { code, stderr } = await tallybook(command);
    expect(code).toBe(1);
    expect(stderr).toContain(`${name} is off, it must be on (it comes from: configuration file)`);
    expect(stderr).toContain(`set ${name} = on in the server's settings and reload them`);
    const [found] = await cluster.sql(`select to_regclass('schema_migrations') as made`, 'books');
    expect(found).toEqual({ made: null });
    await configure(name);
  });

  test('is refused for its age before anything is done with it', async () => {
    // No such server is at hand: this one says that it is one.
    await cluster.sql(
      `create schema old;
       create view old.pg_settings as select name, source,
         case name when 'server_version_num' then '140020' else setting end as setting
         from pg_catalog.pg_settings;
       alter database books set search_path = old, pg_catalog, public`,
      'books',
    );
    const { code, stderr } = await tallybook(serve);
    expect(code).toBe(1);
    expect(stderr).toContain('the server is PostgreSQL 14, it must be 15 or newer: upgrade it');
    await cluster.sql('alter database books reset search_path; drop schema old cascade', 'books');
  });
});

describe('a database in another encoding than UTF-8', () => {
  test('is refused and left as it was, and what the message says mends it', async () => {
    await cluster.sql(`create database latin template template0 encoding 'LATIN1'`);
    const envOf = (database: string) => ({
      ...environment,
      DATABASE_URL: cluster.url('books_service', database),
      TALLYBOOK_MIGRATE_URL: cluster.url('owner', database),
    });
    const { code, stderr } = await tallybook('migrate', envOf('latin'));
    expect(code).toBe(1);
    expect(stderr).toContain('its encoding is LATIN1, it must be UTF8');
    const [found] = await cluster.sql(`select to_regclass('schema_migrations') as made`, 'latin');
    expect(found).toEqual({ made: null });
    const [, remedy = ''] = /with (create database NAME [^,]*)/.exec(stderr) ?? [];
    await cluster.sql(remedy.replace('NAME', 'utf8'));
    expect(await tallybook('migrate', envOf('utf8'))).toMatchObject({ code: 0 });
  });
});

describe('a system that sorts otherwise than when indexes were built', () => {
  test('is refused, and what the message says mends it', async () => {
    await cluster.sql(
      `create database sorted template template0 locale_provider icu icu_locale 'en'`,
    );
    await cluster.sql(`update pg_database set datcollversion = '1' where datname = 'sorted'`);
    const env = {
      ...environment,
      DATABASE_URL: cluster.url('books_service', 'sorted'),
      TALLYBOOK_MIGRATE_URL: cluster.url('owner', 'sorted'),
    };
    const { code, stderr } = await tallybook(serve, env);
    expect(code).toBe(1);
    expect(stderr).toMatch(/sorts text by version \S+ of its rules, the indexes were built by 1: /);
    const [, reindex = '', refresh = ''] = /run (reindex .*), then (alter .*)/.exec(stderr) ?? [];
    await cluster.sql(reindex, 'sorted');
    await cluster.sql(refresh, 'sorted');
    expect(await tallybook('migrate', env)).toMatchObject({ code: 0 });
  });
});

describe('a role of the service that could switch off what guards the ledger', () => {
  test.each([
    ['superuser', 'alter role books_service superuser', 'is a superuser'],
    ['member of the owner', 'grant owner to books_service', 'may act as the owner'],
  ])('as a %s is refused, and what the message says mends it', async (_, statement, fault) => {
    expect(await tallybook('migrate')).toMatchObject({ code: 0 });
    await cluster.sql(statement);
    const { code, stderr } = await tallybook(serve);
    expect(code).toBe(1);
    expect(stderr).toContain(fault);
    const [, remedy = ''] = /run ((?:alter|revoke) [^;\n]*)/.exec(stderr) ?? [];
    await cluster.sql(remedy);
    expect(await tallybook('migrate')).toMatchObject({ code: 0 });
  });
});

describe('an owner of the schema that is no superuser', () => {
  let env: Record<string, string>;

  beforeAll(async () => {
    await cluster.sql('create role keeper login');
    await cluster.sql('create database kept owner keeper');
    env = {
      ...environment,
      DATABASE_URL: cluster.url('kept_service', 'kept'),
      TALLYBOOK_MIGRATE_URL: cluster.url('keeper', 'kept'),
    };
  });

  const refused = async () => {
    const { code, stderr } = await tallybook('migrate', env);
    expect(code).toBe(1);
    return stderr;
  };

  test('and may not make roles learns what it lacks before a migration', async () => {
    const stderr = await refused();
    expect(stderr).toContain('kept_service, the role of DATABASE_URL, is not there');
    expect(stderr).toContain('keeper (TALLYBOOK_MIGRATE_URL) may not create it');
    const [found] = await cluster.sql(`select to_regclass('merchants') as made`, 'kept');
    expect(found).toEqual({ made: null });
    const [, byHand = ''] = /by hand with (.*)\n/.exec(stderr) ?? [];
    await cluster.sql(byHand);
    const [, settings = ''] =
      /may not change .* superuser (alter .*)\n/.exec(await refused()) ?? [];
    await cluster.sql(settings);
    expect(await tallybook('migrate', env)).toMatchObject({ code: 0 });
  });

  test('and may make roles makes it', async () => {
    await cluster.sql('drop owned by kept_service; drop role kept_service', 'kept');
    const [, remedy = ''] = /superuser (alter role keeper createrole)/.exec(await refused()) ?? [];
    await cluster.sql(remedy);
    expect(await tallybook('migrate', env)).toMatchObject({ code: 0 });
  });

  test('goes on without that right while there is nothing to change', async () => {
    await cluster.sql('alter role keeper nocreaterole');
    expect(await tallybook('migrate', env)).toMatchObject({ code: 0 });
    await cluster.sql('alter role kept_service in database kept reset lock_timeout');
    const stderr = await refused();
    expect(stderr).toContain('keeper (TALLYBOOK_MIGRATE_URL) may not change kept_service');
    const [, remedy = ''] = /superuser (alter .*)\n/.exec(stderr) ?? [];
    expect(remedy.split(';')).toHaveLength(1);
    await cluster.sql(remedy);
    expect(await tallybook('migrate', env)).toMatchObject({ code: 0 });
  });

  test('is told how to mend a service that is one', async () => {
    await cluster.sql('alter role kept_service superuser');
    await cluster.sql('alter role kept_service in database kept reset lock_timeout');
    const [, remedy = ''] = /is a superuser: run (.*)\n/.exec(await refused()) ?? [];
    expect(remedy).toBe('alter role kept_service nosuperuser');
    await cluster.sql(`${remedy}; alter role keeper createrole`);
    expect(await tallybook('migrate', env)).toMatchObject({ code: 0 });
  });
});

describe('a default of acknowledging before a write is on disk', () => {
  beforeAll(async () => {
    expect(await tallybook('migrate')).toMatchObject({ code: 0 });
  });

  test.each([
    ['of the role', 'alter role books_service', 'off'],
    ['of the role in the database', 'alter role books_service in database books', 'local'],
    ['of the database', 'alter database books', 'off'],
    ['of all roles', 'alter role all', 'remote_write'],
  ])('%s is refused, and what the message says mends it', async (_, whose, value) => {
    await cluster.sql(`${whose} set synchronous_commit = ${value}`);
    const { code, stderr } = await tallybook(serve);
    expect(code).toBe(1);
    expect(stderr).toContain(`synchronous_commit is ${value}, it must be on`);
    const [, remedy = ''] = /: run (alter [^;\n]*)/.exec(stderr) ?? [];
    await cluster.sql(remedy);
    const found = await cluster.sql('show synchronous_commit', 'books', 'books_service');
    expect(found).toEqual([{ synchronous_commit: 'on' }]);
  });

  test('of guarding nothing is refused as well', async () => {
    await cluster.sql('alter database books set session_replication_role = replica');
    const { code, stderr } = await tallybook(serve);
    expect(code).toBe(1);
    expect(stderr).toContain('session_replication_role is replica, it must be origin');
    const [, remedy = ''] = /: run (alter [^;\n]*)/.exec(stderr) ?? [];
    await cluster.sql(remedy);
    expect(await tallybook('migrate')).toMatchObject({ code: 0 });
  });

  test('of the server is refused', async () => {
    await configure('synchronous_commit', 'local');
    const { code, stderr } = await tallybook(serve);
    expect(code).toBe(1);
    expect(stderr).toContain('synchronous_commit is local, it must be on');
    expect(stderr).toContain("set synchronous_commit = on in the server's settings");
    await configure('synchronous_commit');
  });

  test('of the connection is refused', async () => {
    const url = `${environment.DATABASE_URL}&options=-c%20synchronous_commit%3Doff`;
    const { code, stderr } = await tallybook(serve, { ...environment, DATABASE_URL: url });
    expect(code).toBe(1);
    expect(stderr).toContain("take it out of the connection's options");
  });
});

describe('a role whose settings were taken away', () => {
  test.each([
    ['default_transaction_isolation', 'serializable'],
    ['lock_timeout', '0'],
    ['datestyle', 'SQL, DMY'],
    ['extra_float_digits', '-1'],
    ['search_path', 'app'],
  ])(
    'is refused to who may not mend it, and mended by "tallybook migrate": %s',
    async (name, value) => {
      const role = 'role books_service in database books';
      await cluster.sql(`alter ${role} set ${name} to '${value}'`);
      const { TALLYBOOK_MIGRATE_URL: _, ...service } = environment;
      const { code, stderr } = await tallybook(serve, service);
      expect(code).toBe(1);
      expect(stderr).toMatch(
        new RegExp(`${name} is [^;]+, it must be [^;]*run "tallybook migrate"`),
      );
      expect(await tallybook('migrate')).toMatchObject({ code: 0 });
      expect(await tallybook('verify', service)).toMatchObject({ code: 0 });
    },
  );
});

describe('a schema', () => {
  test('newer than this program is refused by every command, and not touched', async () => {
    await cluster.sql(
      `insert into schema_migrations (number, name, checksum, steps)
       values (99, 'later', '', 1)`,
      'books',
    );
    for (const command of [serve, 'migrate', 'merchant list']) {
      const { code, stderr } = await tallybook(command);
      expect(code).toBe(1);
      expect(stderr).toMatch(/the database is at version 99, this program knows \d+: run a newer/);
    }
    await cluster.sql('delete from schema_migrations where number = 99', 'books');
  });

  test('that a newer program has begun to change is refused, too', async () => {
    const begin = "update schema_migrations set name = '99_later.sql', steps = 1 where number = 0";
    await cluster.sql(begin, 'books');
    for (const command of [serve, 'migrate', 'merchant list', 'backup -']) {
      const { code, stderr } = await tallybook(command);
      expect(code).toBe(1);
      expect(stderr).toMatch(/the database is at version \d+, this program knows \d+: run a newer/);
    }
    const end = "update schema_migrations set name = '', steps = 0 where number = 0";
    await cluster.sql(end, 'books');
  });

  test('of before the first release is refused with what to do, and not touched', async () => {
    await cluster.sql('create database early');
    // The history as it was kept then.
    await cluster.sql(
      `create table schema_migrations (number integer primary key, name text not null,
         checksum text not null, applied_at timestamptz not null default now());
       insert into schema_migrations (number, name, checksum)
         values (0, 'lock', ''), (1, 'a', 'b')`,
      'early',
    );
    const env = {
      ...environment,
      DATABASE_URL: cluster.url('books_service', 'early'),
      TALLYBOOK_MIGRATE_URL: cluster.url('owner', 'early'),
    };
    for (const command of [serve, 'migrate', 'merchant list', 'backup -']) {
      const { code, stderr } = await tallybook(command, env);
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /made by a version of Tallybook before the first release.* name a new data directory/,
      );
    }
    const tables = `select count(*)::int as tables from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r'`;
    expect(await cluster.sql(tables, 'early')).toEqual([{ tables: 1 }]);
  });
});

describe('a service that runs', () => {
  test('is not ready while its server could lose what it acknowledges', async () => {
    const service = await serveProcess([], environment);
    const ready = async () => (await fetch(`${service.api.origin}/readyz`)).status;
    try {
      expect(await ready()).toBe(200);
      for (const name of ['fsync', 'full_page_writes']) {
        await configure(name, 'off');
        await expect.poll(ready).toBe(503);
        await configure(name);
        await expect.poll(ready).toBe(200);
        const warnings = () => service.log().split(`not ready: ${name} is off`).length - 1;
        await expect.poll(warnings).toBe(1);
      }
      await expect.poll(() => service.log().split('"ready again"').length - 1).toBe(2);
    } finally {
      await service.end();
    }
  });
});
