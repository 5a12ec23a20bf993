import { expect, test } from 'vitest';
import { slicesOf } from './slices.ts';

const text = 'one\ntwo\n\nfour\nfive\n';

async function cut(size: number, rowsMax: number): Promise<string[]> {
  async function* chunks() {
    for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size));
  }
  const slices: string[] = [];
  for await (const slice of slicesOf(chunks(), rowsMax)) {
    const parts: Buffer[] = [];
    for await (const part of slice) parts.push(part);
    slices.push(Buffer.concat(parts).toString());
  }
  return slices;
}

test.each([1, 2, 3, 4, 5, 7, 100])(
  'chunks of %s bytes are cut at the ends of rows',
  async (size) => {
    expect(await cut(size, 1)).toEqual(['one\n', 'two\n', '\n', 'four\n', 'five\n']);
    expect(await cut(size, 2)).toEqual(['one\ntwo\n', '\nfour\n', 'five\n']);
    expect(await cut(size, 5)).toEqual([text]);
    expect(await cut(size, 100)).toEqual([text]);
  },
);

test('of no rows there is no slice', async () => {
  const slices: unknown[] = [];
  async function* none(): AsyncGenerator<Buffer> {}
  for await (const slice of slicesOf(none(), 3)) slices.push(slice);
  expect(slices).toEqual([]);
});
