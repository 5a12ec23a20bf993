// What a start says of the connections to its database.

import type { Logger } from 'pino';
import { expect, test } from 'vitest';
import type { Store } from '../database/open.ts';
import { roomFor } from '../database/room.ts';
import { shareConnections } from './connections.ts';

/** What is said of a server with so many connections, and how many are read by. */
async function saidOf(workers: number, available: number, pooling: Store['pooling'] = 'none') {
  const lines: object[] = [];
  const log = {
    info: (event: object, text: string) => lines.push({ ...event, text }),
    warn: (event: object, text: string) => lines.push({ ...event, text, level: 'warn' }),
  };
  const reserve = { query: async <Row>() => [{ available }] as Row[] };
  const store = { database: { reserve }, pooling } as unknown as Store;
  const reads = await shareConnections(store, workers, log as unknown as Logger);
  return { reads, lines };
}

test.each([1, 2])(
  '%s of a node are told how many such nodes there is room for',
  async (workers) => {
    const { needed, reads } = roomFor(workers);
    expect(await saidOf(workers, needed)).toEqual({
      reads,
      lines: [
        { workers, needed, available: needed, nodes: 1, text: 'connections to the database' },
      ],
    });
  },
);

test('a process alone is warned where there are fewer than it opens', async () => {
  const { needed } = roomFor(1);
  const { lines } = await saidOf(1, needed - 1);
  expect(lines).toMatchObject([{ nodes: 0, level: 'warn', text: expect.stringContaining('503') }]);
});

test('workers are warned where they read by fewer', async () => {
  const { needed, reads } = roomFor(2);
  const found = await saidOf(2, needed - 1);
  expect(found).toMatchObject({ reads: reads - 1, lines: [{ nodes: 1, level: 'warn' }] });
});

test.each(['named', 'nameless'] as const)(
  'behind a pooler (%s) the connections of the server are not theirs to count',
  async (pooling) => {
    for (const workers of [1, 2]) {
      const { reads, needed } = roomFor(workers);
      const text = expect.stringContaining('max_client_conn');
      expect(await saidOf(workers, 3, pooling)).toEqual({
        reads,
        lines: [{ workers, needed, text }],
      });
    }
  },
);
