// How people get into the console, and out, in a browser.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Console, password, type Shop } from '../kit/console.ts';

let here: Console;
let shop: Shop;

beforeAll(async () => {
  here = await Console.start();
  shop = await here.shop();
  await shop.location();
});
afterAll(() => here.stop());

const stock = { name: 'Stock', level: 1 } as const;

describe('an invitation', () => {
  test('lets somebody in once, and leaves no secret in address, history or storage', async () => {
    const { invitation } = await shop.invite();
    const page = await here.open(`/invitation#${invitation}`);
    await page.getByLabel('A password').waitFor();
    expect(page.url()).not.toContain('tb_inv_');
    await page.getByLabel('A password').fill(password);
    await page.getByRole('button', { name: 'Set the password and sign in' }).click();
    await page.getByRole('heading', stock).waitFor();
    const storage = await page.evaluate<string>(
      'JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.cookie',
    );
    expect(storage).not.toMatch(/tb_(inv|ses|pat)_/);
    const another = await here.open(`/invitation#${invitation}`);
    await another.getByText('This invitation cannot be used').waitFor();
  });

  test('takes a passkey, which opens the console again', async () => {
    const { invitation } = await shop.invite();
    const page = await here.open('/');
    const devices = await page.context().newCDPSession(page);
    await devices.send('WebAuthn.enable');
    await devices.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
      },
    });
    const { port } = new URL(here.service.api.origin);
    await page.goto(`http://localhost:${port}/console/invitation#${invitation}`);
    await page.getByRole('button', { name: 'Set up a passkey' }).click();
    await page.getByRole('heading', stock).waitFor();
    await page.getByRole('button', { name: /^Signed in:/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', stock).waitFor();
  });
});

describe('name and password', () => {
  test('open the console again after signing out; wrong ones do not', async () => {
    const { name, invitation } = await shop.invite({ role: 'keeper' });
    const page = await here.open(`/invitation#${invitation}`);
    await page.getByLabel('A password').fill(password);
    await page.getByRole('button', { name: 'Set the password and sign in' }).click();
    await page.getByRole('button', { name: `Signed in: ${name}` }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name);
    await page.getByRole('textbox', { name: 'Password' }).fill('not the password');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('The name or the password is not right.').waitFor();
    await page.getByRole('textbox', { name: 'Password' }).fill(password);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', stock).waitFor();
  });
});

test('a browser at / is led to the console, a program is told where the API is', async () => {
  const page = await here.open('/..');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(new URL(page.url()).pathname).toBe('/console');
  const answer = await fetch(here.service.api.origin);
  expect([answer.status, await answer.text()]).toEqual([404, expect.stringContaining('/api/v1')]);
});

test('who is revoked is told so at the next request', async () => {
  const { page, id } = await shop.enter({ role: 'keeper' });
  await page.getByRole('heading', stock).waitFor();
  const { status } = await shop.api.patch(`/people/${id}`, { status: 'revoked' });
  expect(status).toBe(200);
  // The feed that the page follows is such a request.
  await page.getByText('You are no longer signed in').waitFor();
});

test('the page is for nobody else: no inline code, no frames, no outside origin', async () => {
  const answer = await fetch(`${here.service.api.origin}/console/anything/at/all`);
  const policy = answer.headers.get('content-security-policy') ?? '';
  expect(policy).toMatch(/^default-src 'self'; style-src 'self' 'nonce-[\w-]{22}';/);
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  const html = await answer.text();
  expect(html).not.toContain('__NONCE__');
  const [, part] = /src="(\/console\/assets\/[^"]+)"/.exec(html) ?? [];
  const asset = await fetch(here.service.api.origin + part);
  expect(asset.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  for (const path of ['/console/api/v1/nothing', '/console/assets/nothing.js']) {
    expect((await fetch(here.service.api.origin + path)).status).toBe(404);
  }
});
