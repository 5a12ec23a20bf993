// Preloaded into a node with workers: a worker that gets this signal runs out of memory.

import cluster from 'node:cluster';

if (cluster.isWorker) {
  process.on('SIGWINCH', () => {
    for (const kept = []; ; ) kept.push(new Array(100_000).fill(kept.length));
  });
}
