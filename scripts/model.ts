// `npm run model`: the model of test/model at length, with new commands each time, or with those of
// a failure again. The test run itself is the usual one; it is only told how much to do.

import { parseArgs } from 'node:util';
import { createVitest } from 'vitest/node';
import type { ModelRun } from '../test/model/run.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string' },
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
    commands: { type: 'string', default: '100' },
    path: { type: 'string' },
    replay: { type: 'string' },
  },
});

const asked: ModelRun = {
  // As many as there is time for, unless it is said how many.
  runs: Number(values.runs ?? 1_000_000),
  minutes: values.runs === undefined ? Number(values.minutes) : 24 * 60,
  seed: Number(values.seed),
  commands: Number(values.commands),
  path: values.path,
  replay: values.replay,
};
process.stdout.write(`runs of up to ${asked.commands} commands, seed ${asked.seed}\n`);

const vitest = await createVitest('test', { watch: false, run: true, project: 'together' });
vitest.provide('modelRun', asked);
await vitest.start(['test/model/model.test.ts']);
await vitest.close();
