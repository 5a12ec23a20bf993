// Puts what the pages are made of beside the built program, so that the service needs no
// development dependency to show its reference.

import { copyFile, mkdir } from 'node:fs/promises';

const from = '../node_modules/@scalar/api-reference/dist/browser/standalone.js';

await mkdir(new URL('../dist/assets/', import.meta.url), { recursive: true });
await copyFile(
  new URL(from, import.meta.url),
  new URL('../dist/assets/scalar.js', import.meta.url),
);
