// Builds `dist/`: the compiled sources, and the file that draws the documentation page, so that the
// page needs nothing from outside.

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');

execFileSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json')], {
  stdio: 'inherit',
});
mkdirSync(join(root, 'dist', 'http', 'site'), { recursive: true });
copyFileSync(
  join(root, 'node_modules', '@scalar', 'api-reference', 'dist', 'browser', 'standalone.js'),
  join(root, 'dist', 'http', 'site', 'scalar.js'),
);
