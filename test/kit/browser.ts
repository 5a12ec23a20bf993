// A real Chromium: the package that the tests bring along, or the one that CHROMIUM names.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';

/** Its own list would switch off the rules about origins, which tests are to prove. */
export const browserFlags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--no-proxy-server',
  '--font-render-hinting=none',
  '--headless=new',
];

export async function startBrowser(): Promise<Browser> {
  const executablePath = await browserPath();
  return chromium.launch({ executablePath, args: browserFlags, chromiumSandbox: false });
}

export async function browserPath(): Promise<string> {
  return process.env.CHROMIUM ?? (await packaged());
}

/** Where it is unpacked, once for all runs of a user in this checkout: nobody else may start it. */
const home = fileURLToPath(
  new URL(`../../node_modules/.cache/chromium-${userInfo().uid}/`, import.meta.url),
);

/** It unpacks itself into the temporary folder: a process of its own has one of its own. */
async function packaged(): Promise<string> {
  const path = join(home, 'chromium');
  if (existsSync(path)) return path;
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw new Error(
      'set the variable CHROMIUM to the path of a Chromium: the tests bring none here',
    );
  }
  await mkdir(dirname(home.replace(/\/$/, '')), { recursive: true });
  const folder = await mkdtemp(home.replace(/\/$/, '-'));
  const script = "import('@sparticuz/chromium').then(({ default: one }) => one.executablePath())";
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  await promisify(execFile)(process.execPath, ['-e', script], {
    cwd,
    env: { ...process.env, TMPDIR: folder },
  });
  // Whole or not at all: several files of tests may begin at once. One is enough.
  await rename(folder, home).catch(() => rm(folder, { recursive: true, force: true }));
  return path;
}
