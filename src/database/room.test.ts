// How many workers a server has room for.

import { expect, test } from 'vitest';
import type { Reader } from '../core/statement.ts';
import { findRoom, roomFor } from './room.ts';
import { readConnections } from './server-connections.ts';

/** A server with so many connections for the service. */
const server = (available: number): Reader => ({
  query: async <Row>() => [{ available }] as Row[],
});

test('workers read by as many connections together as one process', async () => {
  expect(roomFor(2).reads).toBe(Math.max(4, Math.ceil(readConnections / 2)));
  const { reads, needed } = roomFor(2);
  expect(needed).toBe(3 * (reads + 9) + 4 + 2);
});

test('with little room they read by fewer, down to two each', async () => {
  const { needed } = roomFor(4);
  expect(await findRoom(server(needed), 4)).toMatchObject({ reads: roomFor(4).reads, nodes: 1 });
  expect(await findRoom(server(needed - 1), 4)).toMatchObject({ reads: roomFor(4).reads - 1 });
  expect(await findRoom(server(5 * 11 + 6), 4)).toMatchObject({ reads: 2, nodes: 1 });
});

test('a server that cannot hold them is a wrong setting, with the figures', async () => {
  await expect(findRoom(server(5 * 11 + 5), 4)).rejects.toThrow(
    '4 workers need 61 connections to the database, and it has 60 for them: use fewer with ' +
      '--workers or TALLYBOOK_WORKERS, or raise max_connections of the server',
  );
});

test('a process alone has none beside it, and hears how many such nodes fit', async () => {
  const { reads, needed } = roomFor(1);
  expect([reads, needed]).toEqual([readConnections, readConnections + 9 + 4 + 1]);
  const nodes = async (available: number) => (await findRoom(server(available), 1)).nodes;
  expect(await nodes(needed - 1)).toBe(0);
  expect(await nodes(2 * needed - 1)).toBe(1);
  expect(await nodes(2 * needed)).toBe(2);
});

test('one is spare while nodes are replaced one at a time', async () => {
  const { needed, reads } = roomFor(2);
  const node = needed - (reads + 9);
  expect((await findRoom(server(needed + node - 1), 2)).nodes).toBe(1);
  expect((await findRoom(server(needed + node), 2)).nodes).toBe(2);
});
