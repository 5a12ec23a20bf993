// A real Chromium: the package that the tests bring along, or the one that CHROMIUM names.

import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** Its own list would switch off the rules about origins, which tests are to prove. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--no-proxy-server',
  '--font-render-hinting=none',
  '--headless=new',
];

export async function startBrowser(): Promise<Browser> {
  const executablePath = process.env.CHROMIUM ?? (await packaged());
  return chromium.launch({ executablePath, args: flags, chromiumSandbox: false });
}

/** It unpacks itself into the temporary folder, for the user who did it alone. */
async function packaged(): Promise<string> {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(
      'set the variable CHROMIUM to the path of a Chromium: none is brought along here',
    );
  }
  const before = process.env.TMPDIR;
  const folder = join(before ?? tmpdir(), `tallybook-chromium-${userInfo().uid}`);
  await mkdir(folder, { recursive: true });
  const path = join(folder, 'chromium');
  if (existsSync(path)) return path;
  process.env.TMPDIR = folder;
  try {
    const { default: brought } = await import('@sparticuz/chromium');
    return await brought.executablePath();
  } finally {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  }
}
