// An earlier version of the program, from the history of this repository: checked out into a
// directory of its own, built, and run by its command line as an operator would.

import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

export interface Program {
  readonly commit: string;
  /** The file to run with node. */
  readonly bin: string;
  /** The version of the schema that it makes. */
  readonly schema: number;
  remove(): Promise<void>;
}

/** The program as it is here, built. */
export async function presentProgram(): Promise<Program> {
  return { ...(await programIn(repository, 'present')), remove: async () => undefined };
}

export async function checkOut(revision: string): Promise<Program> {
  const commit = await git('rev-parse', '--short', `${revision}^{commit}`);
  const directory = await mkdtemp(join(tmpdir(), `tallybook-${commit}-`));
  await chmod(directory, 0o755);
  const remove = () => rm(directory, { recursive: true, force: true });
  try {
    const unpack = 'git archive "$1" | tar -x -C "$2"';
    await run('sh', ['-c', unpack, 'sh', commit, directory], { cwd: repository });
    await giveModules(directory);
    await run(process.execPath, [join('scripts', 'build.mjs')], { cwd: directory });
    return { ...(await programIn(directory, commit)), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** The last commit before a migration was added; before the newest one unless told otherwise. */
export async function commitBefore(migration?: number): Promise<string> {
  const names = await migrationsIn(repository);
  const name = names[(migration ?? names.length) - 1];
  if (name === undefined) throw new Error(`there is no migration ${migration}`);
  const file = `db/migrations/${name}`;
  const added = await git('log', '--diff-filter=A', '--format=%h', '--', file);
  if (added === '') {
    throw new Error(`the history does not say when ${file} was added: fetch all of it`);
  }
  return `${added.split('\n').at(-1)}^`;
}

/** Runs a command of the program to its end. */
export async function tallybook(
  program: Program,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ code: number; stdout: string; stderr: string }> {
  const options = { env: { PATH: process.env.PATH ?? '', ...env } };
  try {
    return { code: 0, ...(await run(process.execPath, [program.bin, ...args], options)) };
  } catch (error) {
    const { code, stdout, stderr } = Object(error) as Record<string, unknown>;
    return { code: Number(code), stdout: String(stdout), stderr: String(stderr) };
  }
}

async function programIn(directory: string, commit: string) {
  const schema = (await migrationsIn(directory)).length;
  return { commit, schema, bin: join(directory, 'bin', 'tallybook.js') };
}

async function migrationsIn(directory: string): Promise<string[]> {
  const names = await readdir(join(directory, 'db', 'migrations'));
  return names.filter((name) => name.endsWith('.sql')).sort();
}

/** Ours will do while all that it names has the same version here. */
async function giveModules(directory: string): Promise<void> {
  const [theirs, ours] = await Promise.all([directory, repository].map(versionsIn));
  const isSame = Object.entries(theirs ?? {}).every(([name, version]) => ours?.[name] === version);
  if (isSame) await symlink(join(repository, 'node_modules'), join(directory, 'node_modules'));
  else await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: directory });
}

async function versionsIn(directory: string): Promise<Record<string, string>> {
  const { dependencies, devDependencies } = JSON.parse(
    await readFile(join(directory, 'package.json'), 'utf8'),
  ) as Record<string, Record<string, string>>;
  return { ...dependencies, ...devDependencies };
}

async function git(...args: string[]): Promise<string> {
  return (await run('git', args, { cwd: repository })).stdout.trim();
}
