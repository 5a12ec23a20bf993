// Clients that take up connections: some idle, some slow in every way there is. One that is cut off
// comes back at once, as long as the crowd stays.

import { connect, type Socket } from 'node:net';

export interface Crowd {
  /** Connections that the service has closed so far. */
  readonly cutOff: number;
  /** Those that could not be made. */
  readonly failed: number;
  leave(): void;
}

/** What a client says first, and then every half second. */
interface Manner {
  readonly first: string;
  readonly later: string;
}

const head = 'POST /api/v1/inventory/adjustments HTTP/1.1\r\nHost: x\r\n';

const slowManners: readonly Manner[] = [
  { first: '', later: '' },
  { first: 'GET /api', later: '' },
  { first: `${head}X-Slow: `, later: 'a' },
  { first: `${head}Content-Length: 60000\r\n\r\n`, later: ' ' },
];

const idleManner: Manner = { first: 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n', later: '' };

export const slowCrowd = (origin: string, count: number) => gather(origin, count, slowManners);
export const idleCrowd = (origin: string, count: number) => gather(origin, count, [idleManner]);

async function gather(origin: string, count: number, manners: readonly Manner[]): Promise<Crowd> {
  const { hostname, port } = new URL(origin);
  const open = new Set<Socket>();
  const crowd = { cutOff: 0, failed: 0 };
  let stays = true;
  const join = (manner: Manner, joined: () => void) => {
    const socket = connect(Number(port), hostname, () => {
      open.add(socket);
      socket.write(manner.first);
      joined();
    });
    const dripping = setInterval(() => manner.later !== '' && socket.write(manner.later), 500);
    socket.resume();
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearInterval(dripping);
      if (open.delete(socket)) crowd.cutOff += stays ? 1 : 0;
      else crowd.failed += 1;
      joined();
      if (stays) setTimeout(() => stays && join(manner, () => undefined), 100);
    });
  };
  for (let left = count; left > 0; left -= 200) {
    const some = Array.from({ length: Math.min(left, 200) }, (_, index) => {
      const manner = manners[index % manners.length] ?? idleManner;
      return new Promise<void>((resolve) => join(manner, resolve));
    });
    await Promise.all(some);
  }
  return Object.assign(crowd, {
    leave: () => {
      stays = false;
      for (const socket of open) socket.destroy();
    },
  });
}
