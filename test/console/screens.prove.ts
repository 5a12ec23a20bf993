// Every screen of the console: what axe finds, in light and dark, on a phone and on a large screen,
// and that texts of anybody do nothing there.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { axeFindings, type DemoConsole, openScreen, startDemoConsole } from '../kit/screens.ts';

/** Where `npm run pictures` wants pictures of what is judged. */
const pictures = process.env.TALLYBOOK_PICTURES;

let here: DemoConsole;
let origin: string;

beforeAll(async () => {
  here = await startDemoConsole();
  ({ origin } = here.console.service.api);
}, 120_000);
afterAll(() => here.console.stop());

describe.each([
  [390, 844],
  [1400, 900],
] as const)('at %i pixels', (width, height) => {
  test.each(['light', 'dark'] as const)(
    'in %s axe finds nothing, and nothing is beside the page',
    async (colorScheme) => {
      const { page } = here.owner;
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      const found: string[] = [];
      for (const { name, path } of here.screens) {
        await openScreen(page, origin, path);
        if (pictures !== undefined && (colorScheme === 'light' || name === 'stock')) {
          const mode = colorScheme === 'dark' ? '-dark' : '';
          await page.screenshot({ path: `${pictures}/${name}-${width}${mode}.png` });
        }
        found.push(...(await axeFindings(page)).map((one) => `${name} ${one}`));
        const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
        if (wide !== width) found.push(`${name} is ${wide} wide`);
      }
      expect(found).toEqual([]);
    },
    240_000,
  );
});

test('axe finds what is wrong', async () => {
  const page = await here.console.open('/');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.evaluate("document.querySelector('main').append(document.createElement('input'))");
  expect(await axeFindings(page)).toEqual([expect.stringMatching(/^label: <input>/)]);
});

test('the way in has nothing that axe finds either', async () => {
  const page = await here.console.open('/');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(await axeFindings(page)).toEqual([]);
});

const evil = '"><img src=x onerror="window.hacked=1"><svg onload=window.hacked=1>';

/** In every field that takes any text. */
async function writeEvil(): Promise<string> {
  const api = here.console.service.api.as(here.demo.token);
  const made = async (path: string, body: object) => {
    const answer = await api.post(path, body);
    expect([path, answer.status, answer.body.error]).toEqual([path, 201, undefined]);
    return answer.body.data as { id: string };
  };
  const location = await made('/locations', { name: `A ${evil}`, code: 'EVIL' });
  const product = await made('/products', {
    ...{ name: `A ${evil}`, description: evil, sku: `A${evil}`, barcode: evil.slice(0, 60) },
    unit: { code: 'kg', precision: 2 },
    external_id: evil,
    metadata: { evil },
  });
  await made('/customers', {
    ...{ name: `A ${evil}`, email: 'a@example.com', external_id: evil, metadata: { evil } },
  });
  await made('/inventory/adjustments', {
    ...{ product_id: product.id, location_id: location.id, target_quantity: '3' },
    ...{ reason: 'correction', note: evil, reference: evil },
  });
  await made('/inventory/transfers', {
    to_location_id: location.id,
    ...{ reason: 'receipt', note: evil, reference: evil },
    lines: [{ product_id: product.id, quantity: '1' }],
  });
  await made('/inventory/counts', {
    location_id: location.id,
    ...{ note: evil, reference: evil },
    lines: [{ product_id: product.id, counted_quantity: '9' }],
  });
  await made('/inventory/reservations', {
    location_id: location.id,
    ...{ note: evil, reference: evil },
    lines: [{ product_id: product.id, quantity: '1' }],
  });
  await made('/people', { name: `A ${evil}`, role: 'viewer', all_locations: true });
  const scopes = ['products.read'];
  await made('/tokens', { name: `A ${evil}`, scopes, all_locations: true });
  await made('/webhooks', { url: 'https://example.com/a', description: evil });
  return `?location=${location.id}&product=${product.id}`;
}

test('each component has its styles', async () => {
  const configFile = fileURLToPath(new URL('../../console/vite.config.ts', import.meta.url));
  const built = await build({ configFile, logLevel: 'silent', build: { write: false } });
  const chunks = [built].flat().flatMap((one) => ('output' in one ? one.output : []));
  const modules = chunks.flatMap((one) => (one.type === 'chunk' ? Object.keys(one.modules) : []));
  const used = modules.flatMap(
    (path) => /@mantine\/core\/.*\/(\w+)\.module\.mjs$/.exec(path)?.[1] ?? [],
  );
  const styles = await readFile(new URL('../../console/src/styles.ts', import.meta.url), 'utf8');
  expect(used.length).toBeGreaterThan(20);
  expect(used.filter((name) => !styles.includes(`/${name}.css'`))).toEqual([]);
}, 60_000);

test('texts that are code elsewhere are texts on every screen', async () => {
  const query = await writeEvil();
  const [, product = ''] = /product=(\w+)/.exec(query) ?? [];
  const { page } = here.owner;
  const all = [...here.screens, { name: 'evil', path: `/products/${product}` }];
  let seen = 0;
  for (const { name, path } of all) {
    await openScreen(page, origin, path + (path.includes('?') ? '' : query));
    expect([name, await page.evaluate('window.hacked')]).toEqual([name, undefined]);
    if ((await page.locator('body').innerText()).includes('<img src=x')) seen += 1;
  }
  expect(seen).toBeGreaterThan(6);
}, 120_000);
