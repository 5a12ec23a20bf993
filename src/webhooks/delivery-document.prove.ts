// The receiver that the document for integrators shows, run as it stands there.

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startEnvironment } from '../../test/kit/environment.ts';
import { freePort } from '../../test/kit/port.ts';
import { thisCheckout } from '../../test/kit/program.ts';
import { Shop } from '../../test/kit/shop.ts';

test('the receiver of the document takes what is sent, and refuses what is not', async () => {
  const document = readFileSync(`${thisCheckout}docs/integrate/webhooks.md`, 'utf8');
  const [, code = ''] = /^```js\n(.*?)^```$/ms.exec(document) ?? [];
  const service = await startEnvironment();
  const delivery = service.service.deliver();
  const shop = await Shop.open(service);
  const id = await shop.hook({ url: 'http://127.0.0.1/' }, { status: 'paused' });
  const [SECRET = ''] = await shop.secrets(id);
  let printed = '';
  const run = async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
      cwd: thisCheckout,
      env: { PORT: String(port), SECRET },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    child.stdout.on('data', (chunk) => {
      printed += String(chunk);
    });
    const forge = () => fetch(url, { method: 'POST', body: '{}' }).catch(() => undefined);
    let status: number | undefined;
    while (status === undefined && child.exitCode === null) status = (await forge())?.status;
    return { child, url, status };
  };
  let receiver = await run();
  // Somebody else has taken the port meanwhile.
  while (receiver.child.exitCode !== null) receiver = await run();
  expect(receiver.status).toBe(401);
  await shop.change(id, { url: receiver.url });
  await shop.customer();
  await shop.change(id, { status: 'active' });
  await expect.poll(() => printed).toBe('1 customer.created\n');
  await shop.untilWebhook(id, { last_status: 204, position: '1' });
  receiver.child.kill();
  await delivery.stop(0);
  await service.stop();
});
