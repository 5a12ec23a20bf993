// What `tallybook person` does: through real processes, on a database that a service could use.

import { execFile } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AuditTrail } from '../../test/kit/audit.ts';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { Given } from '../../test/kit/given.ts';
import { hashToken } from '../access/token.ts';

const program = new URL('../../bin/tallybook.js', import.meta.url).pathname;

let db: TestDatabase;
let merchant: string;
let location: string;

beforeAll(async () => {
  db = await createTestDatabase();
  const given = new Given(db);
  merchant = await given.merchant();
  location = await given.location(merchant);
});
afterAll(() => db.drop());

function tallybook(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { PATH: process.env.PATH, TALLYBOOK_MIGRATE_URL: db.ownerUrl };
  return new Promise((resolve) => {
    const all = [program, 'person', ...args, '--database-url', db.serviceUrl];
    const child = execFile(process.execPath, all, { env }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

const invite = (...args: string[]) => tallybook('invite', '--merchant', merchant, ...args);

async function invitationOf(link: string): Promise<unknown> {
  const [, token = ''] = link.split('#');
  const [found] = await db.sql(
    `select id, role, invitation_expires_at > now() + interval '9 minutes' as is_new
     from credentials where invitation_hash = $1`,
    [hashToken(token)],
  );
  return found;
}

describe('an invitation by command', () => {
  test('is a link and a QR code of it, and the trail says whose command it was', async () => {
    const { code, stdout, stderr } = await invite(
      ...['--name', 'Ada', '--role', 'keeper', '--locations', location],
      ...['--url', 'https://shop.example.com'],
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [link = ''] = /https:\S+/.exec(stdout) ?? [];
    expect(link).toMatch(
      /^https:\/\/shop\.example\.com\/console\/invitation#tb_inv_[0-9A-Za-z]{46}$/,
    );
    expect(await invitationOf(link)).toMatchObject({ role: 'keeper', is_new: true });
    // A square of modules, two in each line.
    const square = stdout.split('\n').filter((line) => /^[█▀▄ ]{30,}$/.test(line));
    expect(new Set(square.map((line) => line.length)).size).toBe(1);
    expect(square.length).toBe(Math.ceil((square[0]?.length ?? 0) / 2));
    const trail = new AuditTrail(db);
    expect(await trail.lines('people.invite')).toMatchObject([
      { merchant_id: merchant, operator: expect.stringContaining('@') },
    ]);
    expect(await trail.lines('person.invite')).toHaveLength(1);
    await trail.database.close();
  });

  test('again is of the same person, also of one who was revoked', async () => {
    const made = await invite('--name', 'Grace', '--role', 'owner', '--json');
    const { id, link } = JSON.parse(made.stdout);
    const other = await invite('--name', 'Alan', '--role', 'owner', '--json');
    expect(other.code).toBe(0);
    const revoked = await tallybook('revoke', id);
    expect(revoked).toEqual({ code: 0, stdout: 'Grace is revoked.\n', stderr: '' });
    expect(await invitationOf(link)).toBeUndefined();
    const again = JSON.parse((await tallybook('reinvite', id, '--json')).stdout);
    expect(again).toMatchObject({ id, name: 'Grace', role: 'owner' });
    expect(again.link).toMatch(/^http:\/\/127\.0\.0\.1:8080\/console\/invitation#/);
    expect(await invitationOf(again.link)).toMatchObject({ id });
    const listed = JSON.parse((await tallybook('list', '--merchant', merchant, '--json')).stdout);
    expect(listed).toEqual(
      expect.arrayContaining([expect.objectContaining({ id, status: 'invited' })]),
    );
    expect(JSON.stringify(listed)).not.toContain('tb_inv_');
    expect((await tallybook('list', '--merchant', merchant)).stdout).toContain('Grace');
  });

  test('that cannot be is refused with the reason, and nothing is made', async () => {
    await invite('--name', 'Mary', '--role', 'viewer');
    const taken = await invite('--name', 'mary', '--role', 'viewer');
    expect(taken).toMatchObject({ code: 1, stdout: '' });
    expect(taken.stderr).toContain('Another person of this merchant has this name.');
    const url = await invite('--name', 'Eve', '--role', 'viewer', '--url', 'shop.example.com');
    expect(url).toMatchObject({ code: 2, stdout: '' });
    expect((await tallybook('list', '--merchant', merchant)).stdout).not.toContain('Eve');
  });
});
