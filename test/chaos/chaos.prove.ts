// Real processes under faults: a short run of `npm run chaos`.

import { expect, test } from 'vitest';
import { runChaos } from './chaos.ts';
import { missed, describe as words } from './report.ts';

// A lane that has not met all of its faults by then goes on for a while, and what a receiver of
// webhooks has refused twice comes again half a minute later.
const seconds = 60;
const seed = 20_261_121;

test('nothing is lost, doubled or contradicted, and every request is answered', async () => {
  const outcome = await runChaos(seed, seconds);
  const report = words(outcome, 'this one');
  for (const { what, faults } of outcome.findings) expect(faults, `${what}\n${report}`).toEqual([]);
  expect(missed(outcome), report).toEqual([]);
}, 480_000);
