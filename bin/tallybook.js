#!/usr/bin/env node
// The command `tallybook`. It runs what `npx tsc -p tsconfig.build.json` has built into dist/.

import { existsSync } from 'node:fs';

const program = new URL('../dist/cli/main.js', import.meta.url);

if (existsSync(program)) {
  const { run } = await import(program.href);
  await run(process.argv);
} else {
  process.stderr.write(
    'error: Tallybook is not built yet; run "npm ci && npx tsc -p tsconfig.build.json" first\n',
  );
  process.exitCode = 1;
}
