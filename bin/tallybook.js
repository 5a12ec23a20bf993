#!/usr/bin/env node
// The command `tallybook`. It runs what `npm run build` has made of src/.

import { existsSync } from 'node:fs';

const program = new URL('../dist/cli/main.js', import.meta.url);

if (existsSync(program)) {
  const { run } = await import(program.href);
  await run(process.argv);
} else {
  process.stderr.write('error: Tallybook is not built yet; run "npm ci && npm run build" first\n');
  process.exitCode = 1;
}
