import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { checkModel, type ModelRun, type OpenedService, openService } from './run.ts';

/** The same runs every time: `npm run model` makes new ones. */
const usual: ModelRun = {
  runs: 100,
  seed: 20_261_121,
  commands: 80,
  path: undefined,
  replay: undefined,
};
const told = inject('modelRun');
const asked = told ?? usual;

let service: OpenedService;

beforeAll(async () => {
  service = await openService();
});
afterAll(() => service.close());

const secondsPerRun = 10;

test('every answer to any sequence of requests is what the model says', {
  timeout: (60 + asked.runs * secondsPerRun) * 1_000,
}, async () => {
  await checkModel(service, asked);
  const seen = [...service.outcomes].sort(([a], [b]) => (a < b ? -1 : 1));
  if (told !== undefined) console.table(seen);
  if (asked.runs < usual.runs) return;
  expect(expected.filter((outcome) => !service.outcomes.has(outcome))).toEqual([]);
});

const edits = ['customers', 'products', 'locations'].flatMap((noun) =>
  ['create', 'update'].map((verb) => `${noun}.${verb}`),
);

/** A run in which one of these never happened would prove nothing about it. */
const expected = [
  ...edits.map((type) => `${type} done ${type.endsWith('create') ? 201 : 200}`),
  ...edits.map((type) => `${type} replayed ${type.endsWith('create') ? 201 : 200}`),
  ...edits.map((type) => `${type} refused 401 invalid_token`),
  ...edits.map((type) => `${type} refused 403 insufficient_scope`),
  ...edits.map((type) => `${type} refused 409 idempotency_key_reused`),
  ...edits.map((type) => `${type} refused 422 validation_failed`),
  ...edits.map((type) => `${type} rejected 422 external_id_taken`),
  ...edits.map((type) => `${type} replayed 422 external_id_taken`),
];
