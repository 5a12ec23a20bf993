// A client: a process of its own, which the supervisor orders about.

import { openSync, writeSync } from 'node:fs';
import { Caller } from './caller.ts';
import { Load } from './load.ts';
import type { ClientSetup, Order, Report } from './setup.ts';

function report(what: Report): void {
  process.send?.(what);
}

function begin(setup: ClientSetup) {
  // Written before it goes on: a judge reads the file when this process says that it is done.
  const file = openSync(setup.history, 'a');
  const caller = new Caller(setup.client, setup.ports, setup.tokens, (attempt) => {
    writeSync(file, `${JSON.stringify(attempt)}\n`);
  });
  const load = new Load(setup, caller);
  void load.run().then(() => report('drained'));
  return { caller, load };
}

let begun: ReturnType<typeof begin> | undefined;

process.on('message', (order: Order) => {
  if (order.kind === 'begin') begun = begin(order.setup);
  else if (order.kind === 'token') begun?.caller.adopt(order.token);
  else if (order.kind === 'drain') begun?.load.drain();
  else if (order.kind === 'replay')
    void begun?.load.replay(order.count).then(() => report('replayed'));
  else process.exit(0);
});
// The supervisor is gone: nobody will read this.
process.on('disconnect', () => process.exit(1));
