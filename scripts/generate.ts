// Writes the files that are made from others: openapi.json and docs/integrate/errors.md from the
// contracts and the problem table, sdk/operations.ts from that document, db/schema.sql from the
// migrations, the settings in docs/operate/run.md. The drift test calls the same functions and
// compares, so a file that was edited by hand, or not generated again, fails the suite.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endpoints } from '../src/app.ts';
import { type Setting, settings } from '../src/config.ts';
import { migrate } from '../src/database/migrate.ts';
import { errorsMarkdown } from '../src/http/document/errors-page.ts';
import { documentText, openApiDocument } from '../src/http/document/openapi.ts';
import { programVersion } from '../src/http/sites.ts';
import { startPrivateServer } from '../src/postgres/server.ts';
import { clientSource } from './client.ts';
import { schemaFile } from './schema.ts';

/** Each generated file, by its path in the repository. `migratedUrl` is a database to read. */
export const generators: Readonly<Record<string, (migratedUrl: string) => Promise<string>>> = {
  'openapi.json': async () => documentText(openApiDocument(endpoints, programVersion())),
  'docs/integrate/errors.md': async () => errorsMarkdown(),
  'sdk/operations.ts': async () => clientSource(openApiDocument(endpoints, programVersion())),
  'db/schema.sql': schemaFile,
  'docs/operate/run.md': withSettings,
};

export const fileOf = (path: string): URL => new URL(`../${path}`, import.meta.url);

/** The page as it is, with its table of settings made anew from the configuration. */
async function withSettings(): Promise<string> {
  const page = await readFile(fileOf('docs/operate/run.md'), 'utf8');
  const rows = Object.values<Setting>(settings).map(
    ({ variable, flag, default: fallback, meaning }) =>
      `| \`${variable}\` | ${flag === undefined ? '' : `\`${flag}\``} | ${fallback} | ${meaning} |`,
  );
  const table = ['| Variable | Flag | Default | Meaning |', '|---|---|---|---|', ...rows].join(
    '\n',
  );
  return page.replace(
    /<!-- settings -->.*<!-- \/settings -->/s,
    () => `<!-- settings -->\n${table}\n<!-- /settings -->`,
  );
}

async function generateAll(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'tallybook-generate-'));
  const server = await startPrivateServer({
    dataDirectory: directory,
    stopWithParent: true,
    log: () => undefined,
  });
  try {
    await migrate({ owner: server.ownerUrl, service: server.serviceUrl });
    for (const [path, generate] of Object.entries(generators)) {
      await writeFile(fileOf(path), await generate(server.ownerUrl));
      process.stdout.write(`${path}\n`);
    }
  } finally {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await generateAll();
