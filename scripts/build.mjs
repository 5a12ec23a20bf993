// Builds `sdk/dist/`, the client, and `dist/`: the compiled sources, typebox and the client in one
// file each, the page of the console, the pages of docs/integrate as HTML, and the program that
// draws the reference, so that it needs nothing from outside. That program comes with the linter of
// the document, and no package depends on it.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSync } from 'esbuild';
import { Marked } from 'marked';
import { build as viteBuild } from 'vite';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
const tsc = join(dirname(require.resolve('typescript/package.json')), 'bin', 'tsc');

// What a deleted source left there would be packed.
rmSync(join(root, 'dist'), { recursive: true, force: true });
rmSync(join(root, 'sdk', 'dist'), { recursive: true, force: true });
for (const project of ['sdk/tsconfig.json', 'tsconfig.build.json']) {
  execFileSync(process.execPath, [tsc, '-p', join(root, project)], { stdio: 'inherit' });
}

const bundle = (outfile, options) =>
  buildSync({
    // Its comments name files: wherever this is built, and whatever node_modules is linked to.
    absWorkingDir: root,
    preserveSymlinks: true,
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    ...options,
  });

// Every command reads what resources declare, and so loads typebox. Its 373 files took 90 ms of
// processor time; one file takes 10 (docs/decisions/0018-typebox-is-one-file.md).
const typebox = join(root, 'dist', 'typebox.js');
bundle(typebox, {
  stdin: {
    contents: "export { default } from 'typebox'; export { Check } from 'typebox/value';",
    resolveDir: root,
  },
  banner: { js: `/*\n${readFileSync(join(root, 'node_modules/typebox/license'), 'utf8')}*/` },
});

// Commands that work over HTTP use the client by its name, as any program does.
const client = join(root, 'dist', 'client.js');
bundle(client, { entryPoints: [join(root, 'sdk', 'dist', 'main.js')] });

const bundled = { typebox, 'typebox/value': typebox, '@tallybook/client': client };
const named = /(?<=(?: from |import\()')(?:typebox(?:\/value)?|@tallybook\/client)(?='\)?;?)/gm;
for (const path of readdirSync(join(root, 'dist'), { recursive: true })) {
  const file = join(root, 'dist', path);
  if (!file.endsWith('.js') || file === typebox || file === client) continue;
  const text = readFileSync(file, 'utf8');
  const changed = text.replace(named, (name) => {
    const place = relative(dirname(file), bundled[name]);
    return place.startsWith('.') ? place : `./${place}`;
  });
  if (changed !== text) writeFileSync(file, changed);
}

// The page of the console.
await viteBuild({ configFile: join(root, 'console', 'vite.config.ts'), logLevel: 'warn' });

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

// The service shows these pages under /docs, where what else the documents name is not there.
const documents = join(root, 'docs', 'integrate');
const pages = readdirSync(documents).filter((name) => name.endsWith('.md'));
/** As the repository names headings. */
const anchorOf = (text) =>
  text
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');
const renderer = {
  heading({ tokens, depth, text }) {
    return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
  },
  link({ href, tokens }) {
    const text = this.parser.parseInline(tokens);
    const [, name, anchor = ''] = /^([\w-]*\.md)?(#.*)?$/.exec(href) ?? [];
    if (/^https?:/.test(href)) return `<a href="${href}">${text}</a>`;
    if (name === undefined && anchor !== '') return `<a href="${anchor}">${text}</a>`;
    if (!pages.includes(name)) return text;
    const page = name === 'README.md' ? '/docs' : `/docs/${name.replace('.md', '')}`;
    return `<a href="${page}${anchor}">${text}</a>`;
  },
};
const marked = new Marked({ renderer });
mkdirSync(join(root, 'dist', 'http', 'docs'));
for (const name of pages.filter((one) => one !== 'README.md' && one !== 'errors.md')) {
  const html = marked.parse(readFileSync(join(documents, name), 'utf8'));
  writeFileSync(join(root, 'dist', 'http', 'docs', name.replace('.md', '.html')), html);
}
