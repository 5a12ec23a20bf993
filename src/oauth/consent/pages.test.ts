// What the pages of a consent ask, show and refuse. The browser has no scripts.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask, ConsentEnvironment, refusal } from '../../../test/kit/consent-environment.ts';
import type { GivenCredential } from '../../../test/kit/given.ts';
import { authorizationRequest, type Browser, redirectUri } from '../../../test/kit/oauth.ts';
import { scopes } from '../../resources.ts';
import { scopeWords } from './scope-words.ts';

let scene: ConsentEnvironment;

beforeAll(async () => {
  scene = await ConsentEnvironment.start();
});
afterAll(() => scene.close());

describe('the page', () => {
  test('names the application, the scopes and the locations asked for', async () => {
    const { url } = await authorizationRequest(scene.made, {
      ...ask,
      locations: scene.shops[1] ?? '',
    });
    const page = await scene.browser().get(url);
    expect(page.status).toBe(200);
    for (const text of [
      'Stock &lt;Sync&gt;',
      'See stock <code>inventory.read</code>',
      'See locations <code>locations.read</code>',
      'It asks for one location.',
    ]) {
      expect(page.text).toContain(text);
    }
    expect(page.text).not.toContain('Stock <Sync>');
  });

  test('has words for every scope', () => {
    expect(Object.keys(scopeWords).sort()).toEqual([...scopes].sort());
  });

  test('runs no script, loads nothing, and may not be framed', async () => {
    const { url } = await authorizationRequest(scene.made, ask);
    const { headers, text } = await scene.browser().get(url);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/default-src 'none'/);
    expect(policy).toMatch(/frame-ancestors 'none'/);
    expect(policy).toMatch(/form-action 'self' https:\/\/sync\.example\.com;/);
    expect(policy).not.toMatch(/script|unsafe/);
    expect(text).not.toMatch(/<script|javascript:|onclick/i);
    expect(headers.get('x-request-id')).toMatch(/^req_/);
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('offers the locations that person and approval reach, the asked ones ticked', async () => {
    const narrow = await scene.application([scene.shops[0] ?? '', scene.shops[1] ?? '']);
    const giver = await scene.person({ locations: [scene.shops[1] ?? '', scene.shops[2] ?? ''] });
    const asked = { ...ask, locations: scene.shops.join(' ') };
    const { chosen } = await scene.consent(giver, [], narrow, asked);
    const offered = [...chosen.text.matchAll(/name="location" value="(\w+)"( checked)?/g)];
    expect(offered.map(([, id, ticked]) => [id, ticked])).toEqual([[scene.shops[1], ' checked']]);
    expect(chosen.text).toContain('Harbour');
    const all = await scene.consent(await scene.person(), []);
    expect(all.chosen.text).toContain('value="all"');
    expect(all.chosen.text.match(/name="location"/g)).toHaveLength(1 + scene.shops.length);
  });

  test('lets a person grant only what they have and what is approved', async () => {
    const faults = new Map<string, GivenCredential>([
      ['You cannot grant what you do not hold', await scene.person({ scopes: ['locations.read'] })],
      ['is not approved at Other', await scene.foreignPerson()],
      ['not valid', await scene.revokedPerson()],
      ['not valid', { merchant: scene.merchant, id: '', token: 'tb_pat_nonsense' }],
    ]);
    for (const [fault, giver] of faults) {
      const { chosen, end } = await scene.consent(giver, ['all']);
      expect([chosen.status, end.status]).toEqual([403, 403]);
      expect(chosen.text).toContain(fault);
    }
    const beyond = await scene.consent(await scene.person({ locations: [scene.shops[0] ?? ''] }), [
      scene.shops[1] ?? '',
    ]);
    expect(beyond.end.status).toBe(403);
    const all = await scene.consent(await scene.person({ locations: [scene.shops[0] ?? ''] }), [
      'all',
    ]);
    expect(all.end.status).toBe(403);
    const unknown = await scene.consent(await scene.person(), ['loc_unknown']);
    expect(unknown.end.status).toBe(403);
  });

  test('takes no OAuth token for a proof', async () => {
    const { exchange } = await scene.consent(await scene.person(), ['all']);
    const { access_token: token } = await exchange();
    const { chosen } = await scene.consent({ merchant: scene.merchant, id: '', token }, ['all']);
    expect(chosen.status).toBe(403);
    expect(chosen.text).toContain('not valid');
  });

  test('sends the person back with access_denied when he refuses', async () => {
    const { url, exchange } = await authorizationRequest(scene.made, ask);
    const browser = scene.browser();
    await browser.get(url);
    await browser.submit([['decision', 'refuse']]);
    expect(browser.url.startsWith(redirectUri)).toBe(true);
    expect(await refusal(exchange(browser.url))).toBe('access_denied');
  });

  test('continues under an ID that only the browser with the token knows', async () => {
    const { url } = await authorizationRequest(scene.made, ask);
    const browser = scene.browser();
    await browser.get(url);
    // Whoever planted the request in another's browser has all of its cookies.
    const planter = browser.copy();
    const { token } = await scene.person();
    await browser.submit([
      ['decision', 'prove'],
      ['token', token],
    ]);
    expect(browser.url).not.toBe(planter.url);
    expect(browser.cookiePath('tallybook_consent')).toBe(new URL(browser.url).pathname);
    const page = await planter.submit([
      ['decision', 'allow'],
      ['location', 'all'],
    ]);
    expect(page.status).toBe(400);
    expect(planter.url).not.toContain('code=');
  });

  test('leaves a line when it turns somebody away', async () => {
    const refused = [
      ['insufficient_scope', await scene.person({ scopes: ['locations.read'] })],
      ['unauthorized_client', await scene.foreignPerson()],
      ['invalid_token', await scene.revokedPerson()],
    ] as const;
    for (const [code, giver] of refused) {
      await scene.consent(giver, []);
      const line = `%"route":"/console/consent/:uid","status":403,"code":"${code}"%`;
      const lines = () =>
        scene.service.db.sql('select from audit_records where line like $1', [line]);
      await expect.poll(async () => (await lines()).length).toBeGreaterThan(0);
    }
  });

  test('belongs to the browser that asked: with its address alone it is a dead end', async () => {
    const { url } = await authorizationRequest(scene.made, ask);
    const browser = scene.browser();
    await browser.get(url);
    const stranger = scene.browser();
    expect((await stranger.get(browser.url)).status).toBe(400);
    const { token } = await scene.person();
    const page = await stranger.submit([
      ['decision', 'prove'],
      ['token', token],
    ]);
    expect(page.status).toBe(400);
  });

  test('is asked for every time: no session remembers the person', async () => {
    const { browser } = await scene.consent(await scene.person(), ['all']);
    const { url } = await authorizationRequest(scene.made, ask);
    const page = await browser.get(url);
    expect(page.text).toContain('name="token"');
    expect(await silent(browser)).toBe('interaction_required');
  });
});

async function silent(browser: Browser): Promise<string | undefined> {
  const { url, exchange } = await authorizationRequest(scene.made, { ...ask, prompt: 'none' });
  await browser.get(url);
  return refusal(exchange(browser.url));
}

describe('an authorization request', () => {
  test('with text that cannot be kept or shown is refused, and is no error of ours', async () => {
    const texts = ['a\u0000b', 'a\nb', 'x'.repeat(600)];
    const names = ['state', 'login_hint', 'ui_locales', 'display', 'locations', 'nonce'];
    for (const name of names) {
      for (const text of texts) {
        const { url } = await authorizationRequest(scene.made, { ...ask, [name]: text });
        const answer = await fetch(url, { redirect: 'manual' });
        expect([name, answer.status]).toEqual([name, 303]);
        expect(answer.headers.get('location')).toContain('error=invalid_request');
      }
    }
    const shout = { ...ask, locations: 'none. CALL +1 555 0100' };
    const { url } = await authorizationRequest(scene.made, shout);
    const answer = await fetch(url, { redirect: 'manual' });
    expect(answer.headers.get('location')).toContain('error=invalid_request');
  });

  test('is answered in the query only: no page with a script, no fragment', async () => {
    for (const response_mode of ['form_post', 'fragment', 'jwt']) {
      const { url } = await authorizationRequest(scene.made, { ...ask, response_mode });
      const answer = await fetch(url, { redirect: 'manual' });
      expect(answer.status).toBe(400);
      expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    }
  });

  test('goes back only to an address that was registered exactly', async () => {
    const near = [
      'https://sync.example.com/',
      `${redirectUri}?more=1`,
      `${redirectUri}/`,
      'https://evil.com/',
    ];
    for (const redirect_uri of near) {
      const { url } = await authorizationRequest(scene.made, { ...ask, redirect_uri });
      const browser = scene.browser();
      const page = await browser.get(url);
      expect(page.status).toBe(400);
      expect(browser.url).toBe(url);
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    }
  });

  test('needs PKCE with S256, and scopes that exist and the application was made for', async () => {
    const wrong: Record<string, string>[] = [
      { ...ask, code_challenge: '' },
      { ...ask, code_challenge_method: 'plain' },
      { scope: 'inventory.read no.such' },
      { scope: 'customers.read' },
      { scope: '' },
    ];
    const seen: (string | undefined)[] = [];
    for (const parameters of wrong) {
      const { url, exchange } = await authorizationRequest(scene.made, parameters);
      const browser = scene.browser();
      await browser.get(url);
      seen.push(await refusal(exchange(browser.url)));
    }
    const scope = Array(3).fill('invalid_scope');
    expect(seen).toEqual(['invalid_request', 'invalid_request', ...scope]);
  });
});
