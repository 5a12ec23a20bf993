// Requests that tests send again because they were 503 or 504: a busy machine answers that to what
// would wait, or has waited, too long. A 504 may have been done: its key is sent again. A service
// that answers it too easily would pass such tests, so a file of tests may send only so many again.
// The end of a run says how many there were.

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect } from 'vitest';
import { type Answer, type Api, newKey } from './api.ts';

/** A file may send so many again in all */
const againMax = 20;
/** and one more for so many that it asks. */
const askedForOne = 20;
/** How many wait for each processor. `npm test` by itself makes two or three. */
const busyLoad = 4;

interface Count {
  asked: number;
  again: number;
}

const counts = new Map<string, Count>();

/**
 * Asks again while the answer is a refusal that a busy machine explains. A write needs a key of its
 * own for that.
 * @param refusal what was refused, when it was.
 * @throws Error when the file of tests has asked too often again.
 */
export async function asked<Sent>(
  ask: () => Promise<Sent>,
  refusal: (sent: Sent) => string | undefined,
): Promise<Sent> {
  const file = relative('.', expect.getState().testPath ?? '');
  const count = counts.get(file) ?? { asked: 0, again: 0 };
  counts.set(file, count);
  count.asked += 1;
  for (;;) {
    const sent = await ask();
    const why = refusal(sent);
    if (why === undefined) return sent;
    count.again += 1;
    appendFileSync(join(tmpdir(), listName), `${file}\n`);
    const most = mostOf(count);
    if (count.again > most) throw new Error(tooOften(file, count, most, why));
  }
}

/** Sends a request again while it is 503 or 504. */
export const served = (ask: () => Promise<Answer>): Promise<Answer> =>
  asked(ask, ({ status, code }) => (isBusy(status) ? `${status} ${code}` : undefined));

/** Creates something for a test to start from. */
export async function created(api: Api, path: string, form: object): Promise<Answer['body']> {
  const key = newKey();
  const { status, body } = await served(() => api.post(path, form, { key }));
  expect([status, body.error]).toEqual([201, undefined]);
  return body;
}

const isBusy = (status: number) => status === 503 || status === 504;

/** Ten times as many on a machine with more to do than a run of tests gives it. */
function mostOf({ asked }: Count): number {
  const isLoaded = (loadavg()[0] ?? 0) > busyLoad * availableParallelism();
  return (againMax + Math.floor(asked / askedForOne)) * (isLoaded ? 10 : 1);
}

function tooOften(file: string, count: Count, most: number, why: string): string {
  return (
    `${file} sent ${count.again} requests again, of ${count.asked}, and may do so ${most} times: ` +
    `the service refuses too easily, or the machine is too busy for this test (${why}; load ` +
    `${loadavg()[0]?.toFixed(1)})`
  );
}

const listName = 'sent-again';

/** What was sent again in a run, by file; nothing when nothing was. */
export function toldAgain(directory: string): string {
  const list = join(directory, listName);
  if (!existsSync(list)) return '';
  const files = readFileSync(list, 'utf8').trim().split('\n');
  const each = [...new Set(files)].map((one) => `${one} ${files.filter((f) => f === one).length}`);
  const why = 'because of 503 or 504, which a quiet machine does not need';
  return `sent again ${why}: ${each.join(', ')}\n`;
}
