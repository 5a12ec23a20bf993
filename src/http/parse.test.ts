import { expect, test } from 'vitest';
import { endpoints } from '../app.ts';
import { BodyParser } from './parse.ts';

const change = endpoints
  .map(({ contract }) => contract)
  .find((one) => one.name === 'customers.update');
if (change?.kind !== 'write') throw new Error('there is no such write');
const parser = new BodyParser(change);

test('a body with thousands of faults is judged within 200 ms', () => {
  const wrong = Object.fromEntries(Array.from({ length: 8_000 }, (_, n) => [`k${n}`, n]));
  for (const body of [wrong, { metadata: wrong }]) {
    const started = performance.now();
    expect(parser.faults(body).length).toBeGreaterThanOrEqual(8_000);
    expect(performance.now() - started).toBeLessThan(200);
  }
});

test('a fault names its member as it was sent, whatever signs its name has', () => {
  const metadata = { 'a/b': 1, 'a~b': 2, '~1': 3 };
  const fields = parser.faults({ name: 'A', email: 'a@b.de', metadata }).map((one) => one.field);
  expect(fields).toEqual(['metadata.a/b', 'metadata.a~b', 'metadata.~1']);
});
