// The cookies that tie a request for consent to its browser, where TLS ends at a proxy.

import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../test/kit/database.ts';
import { testSecret } from '../../../test/kit/environment.ts';
import { redirectUri } from '../../../test/kit/oauth.ts';
import { freePort } from '../../../test/kit/port.ts';
import { createApplication } from '../../access/operator/applications.ts';
import { readConfig } from '../../config.ts';
import { start } from '../../main.ts';
import type { Running } from '../../node/running.ts';

let db: TestDatabase;
let running: Running;
let port: number;

beforeAll(async () => {
  db = await createTestDatabase();
  port = await freePort();
  const environment = {
    TALLYBOOK_MIGRATE_URL: db.ownerUrl,
    TALLYBOOK_SECRET: testSecret,
    TALLYBOOK_PUBLIC_URL: 'https://books.example.com',
  };
  const config = readConfig({ databaseUrl: db.serviceUrl, port: String(port) }, environment);
  running = await start(config, pino({ level: 'silent' }));
});
afterAll(async () => {
  await running.stop();
  await db.drop();
});

test('go over TLS only, to no script, and to no other site', async () => {
  const { database } = running.store;
  const { application } = await createApplication(database, {
    name: 'Stock Sync',
    scopes: ['inventory.read'],
    redirectUris: [redirectUri],
    jwks: undefined,
  });
  const query = new URLSearchParams({
    client_id: application.id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'inventory.read',
    code_challenge: 'a'.repeat(43),
    code_challenge_method: 'S256',
  });
  // As the proxy hands it over, with what a browser might claim.
  const answer = await fetch(`http://127.0.0.1:${port}/oauth/authorize?${query}`, {
    redirect: 'manual',
    headers: { 'x-forwarded-proto': 'http', 'x-forwarded-host': 'evil.example' },
  });
  expect([answer.status, answer.headers.get('location')]).toEqual([
    303,
    expect.stringMatching(/^(?:https:\/\/books\.example\.com)?\/console\/consent\//),
  ]);
  const cookies = answer.headers.getSetCookie();
  expect(cookies.length).toBeGreaterThanOrEqual(2);
  for (const cookie of cookies) {
    expect(cookie).toMatch(/; secure(?:;|$)/);
    expect(cookie).toMatch(/; httponly(?:;|$)/);
    expect(cookie).toMatch(/; samesite=lax(?:;|$)/);
    expect(cookie).toMatch(/; path=\/(?:oauth\/authorize|console\/consent)\//);
    expect(cookie).not.toMatch(/; domain=/);
  }
});
