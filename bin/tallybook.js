#!/usr/bin/env -S node --max-semi-space-size=8
// The command `tallybook`. It runs what `npm run build` has made of src/. The young generation is
// bounded because Node 24 lets it grow to 64 MB twice: after 256 connections the service had 317 MB
// resident, and has 201 so, at no processor time that could be measured.

import { existsSync } from 'node:fs';

// As Node 21 has it. Without it pg loads all of fetch, which takes 20 ms of processor time, to
// learn that this is not Cloudflare.
globalThis.navigator ??= { userAgent: `Node.js/${process.versions.node.split('.')[0]}` };

const program = new URL('../dist/cli/main.js', import.meta.url);

if (existsSync(program)) {
  const { run } = await import(program.href);
  await run(process.argv);
} else {
  process.stderr.write('error: Tallybook is not built yet; run "npm ci && npm run build" first\n');
  process.exitCode = 1;
}
