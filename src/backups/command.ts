// A backup by `tallybook backup --verify` in a process of its own, at a low priority: packing and
// restoring take processor time and memory that belong to the requests.

import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../bin/tallybook.js', import.meta.url));

/**
 * @param environment of the command; it names the database.
 * @throws Error when the backup was not written, or is not sound, with the reason.
 */
export async function takeProvenBackup(
  file: string,
  environment: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  const child = spawn(process.execPath, [program, 'backup', file, '--verify', '--json'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const end = () => child.kill('SIGTERM');
  signal.addEventListener('abort', end);
  try {
    const [output, errors, code] = await Promise.all([
      textOf(child.stdout),
      textOf(child.stderr),
      new Promise<number | null>((resolve, reject) => {
        child.once('error', reject);
        child.once('close', resolve);
        lowerPriority(child.pid);
      }),
    ]);
    if (code !== 0) throw new Error(reasonIn(output) ?? (errors.trim() || `exit code ${code}`));
  } finally {
    signal.removeEventListener('abort', end);
  }
}

function lowerPriority(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It has ended already.
  }
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
}

/** Of a backup that was written and is not sound. */
function reasonIn(output: string): string | undefined {
  try {
    const { file, proof } = JSON.parse(output);
    return `${file} is ${proof.verdict}: ${proof.reason}`;
  } catch {
    return undefined;
  }
}
