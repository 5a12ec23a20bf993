import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { FileStore } from './file-store.ts';
import type { OutboxEntry } from './outbox-store.ts';

let folder: string;
let path: string;
let count = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallybook-outbox-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));
beforeEach(() => {
  count += 1;
  path = join(folder, `outbox-${count}`);
});

const entry = (id: string, note = 'ß'): OutboxEntry => ({
  id,
  name: 'inventory.adjust',
  request: { method: 'POST', path: '/inventory/adjustments', headers: {}, body: note },
  credential: null,
  addedAt: '2026-01-31T12:00:00.000Z',
  parked: null,
});

async function idsIn(file: string): Promise<string[]> {
  const store = await FileStore.open(file);
  const ids = (await store.all()).map(({ id }) => id);
  await store.close();
  return ids;
}

test('what was added, changed and removed is there after a restart, in order', async () => {
  const store = await FileStore.open(path);
  await Promise.all(['a', 'b', 'c', 'd'].map((id) => store.add(entry(id))));
  await store.replace({ ...entry('b'), credential: 'cred_1' });
  await store.remove('c');
  const all = await store.all();
  await store.close();
  const again = await FileStore.open(path);
  expect(await again.all()).toEqual(all);
  expect(all.map(({ id, credential }) => [id, credential])).toEqual([
    ['a', null],
    ['b', 'cred_1'],
    ['d', null],
  ]);
  await again.close();
});

test('a file that ends anywhere has what was stored before its last line', async () => {
  const store = await FileStore.open(path);
  const sizes: number[] = [];
  for (const id of ['a', 'b', 'c']) {
    await store.add(entry(id));
    sizes.push((await stat(path)).size);
  }
  await store.close();
  const bytes = await readFile(path);
  for (let length = 0; length <= bytes.length; length += 1) {
    const torn = `${path}-torn`;
    await writeFile(torn, bytes.subarray(0, length));
    const whole = sizes.filter((size) => size <= length).length;
    expect(await idsIn(torn), `${length} bytes`).toEqual(['a', 'b', 'c'].slice(0, whole));
  }
});

test('a torn line is not continued by the next one', async () => {
  const store = await FileStore.open(path);
  await store.add(entry('a'));
  await store.close();
  await appendFile(path, '0123456789abcdef [{"put":{"id":"to');
  const next = await FileStore.open(path);
  await next.add(entry('b'));
  await next.close();
  expect(await idsIn(path)).toEqual(['a', 'b']);
});

test('a line that was damaged later is named, and nothing is sent without it', async () => {
  const store = await FileStore.open(path);
  for (const id of ['a', 'b']) await store.add(entry(id));
  await store.close();
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.replace('"id":"a"', '"id":"x"'));
  await expect(FileStore.open(path)).rejects.toThrow('is damaged at line 1');
});

test('the file stays short when entries come and go, and only its owner may read it', async () => {
  const store = await FileStore.open(path);
  const large = 'x'.repeat(100_000);
  for (let n = 0; n < 60; n += 1) {
    await store.add(entry(`${n}`, large));
    if (n !== 7) await store.remove(`${n}`);
  }
  const { size, mode } = await stat(path);
  expect(size).toBeLessThan(1_800_000);
  expect(mode & 0o777).toBe(0o600);
  await store.close();
  expect(await idsIn(path)).toEqual(['7']);
});

test('one process uses a file at a time, and one that died is no hindrance', async () => {
  const store = await FileStore.open(path);
  await expect(FileStore.open(path)).rejects.toThrow(`is used by process ${process.pid}`);
  await store.close();
  await writeFile(`${path}.lock`, '999999999 1');
  await (await FileStore.open(path)).close();
  // The number of a process that died belongs to another one now.
  await writeFile(`${path}.lock`, `${process.pid} 1`);
  const opened = await Promise.allSettled([FileStore.open(path), FileStore.open(path)]);
  const [winner, ...others] = opened.flatMap((one) =>
    one.status === 'fulfilled' ? [one.value] : [],
  );
  expect(others).toEqual([]);
  await winner?.close();
  const left = (await readdir(folder)).filter((name) => name.startsWith(`outbox-${count}`));
  expect(left).toEqual([`outbox-${count}`]);
});
