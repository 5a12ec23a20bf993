// Logs of workers on their way into one.

import { expect, test } from 'vitest';
import { linesInto } from './lines.ts';

function collect(...pieces: string[]) {
  const written: string[] = [];
  const others: string[] = [];
  const take = linesInto({
    write: (line) => written.push(line),
    other: (text) => others.push(text),
  });
  for (const piece of pieces) take(piece);
  return { written, others };
}

test('lines are whole however they arrive, and one that is not finished is left out', () => {
  expect(collect('{"a":1}\n{"b"', ':', '2}\n{"c":3}\n{"d"').written).toEqual([
    '{"a":1}\n',
    '{"b":2}\n',
    '{"c":3}\n',
  ]);
});

test('what the runtime writes by itself is told apart', () => {
  const { written, others } = collect('{"a":1}\n\nFATAL ERROR: heap', ' limit\n{"b":2}\n');
  expect(written).toEqual(['{"a":1}\n', '{"b":2}\n']);
  expect(others).toEqual(['FATAL ERROR: heap limit']);
});
