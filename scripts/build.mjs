// Builds `dist/`: the compiled sources, and the program that draws the documentation page, so that
// the page needs nothing from outside. It comes with the linter of the document, and no package
// depends on it.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');

// What a deleted source left there would be packed.
rmSync(join(root, 'dist'), { recursive: true, force: true });
execFileSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.build.json')], {
  stdio: 'inherit',
});

// The program that draws the page would load this image from its makers' site.
const program = join(
  root,
  'node_modules',
  '@redocly',
  'cli',
  'lib',
  'chunks',
  'redoc.standalone.js',
);
const logo = /https:\/\/cdn\.redoc\.ly\/redoc\/logo-mini(?:-full)?\.svg/g;
const word =
  '<svg xmlns="http://www.w3.org/2000/svg" width="42" height="12"><text y="10" ' +
  'font-family="sans-serif" font-size="11" fill="gray">Redoc</text></svg>';
mkdirSync(join(root, 'dist', 'http'), { recursive: true });
writeFileSync(
  join(root, 'dist', 'http', 'redoc.js'),
  readFileSync(program, 'utf8').replace(logo, `data:image/svg+xml,${encodeURIComponent(word)}`),
);
