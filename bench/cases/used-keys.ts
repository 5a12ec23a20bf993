// Sends what the replays repeat, once for each key.

import { filler, type LoadPlan } from '../load/template.ts';
import { Client } from '../setup/client.ts';
import { single } from '../setup/merchants.ts';
import { numbersOf, type Pair } from './case.ts';
import { used } from './writes.ts';

const clients = 32;

export async function useKeys(origin: string, { served }: Pair): Promise<void> {
  const numbers = numbersOf(served);
  const plan: LoadPlan = {
    requests: [{ weight: 1, template: used }],
    callers: [single(served)],
    numbers,
  };
  // Counts from 0 on, so that each key is taken once.
  const next = filler(plan, -1);
  let left = numbers.usedKeys;
  const one = async () => {
    const client = new Client(origin);
    while (left > 0) {
      left -= 1;
      await client.askWell(next());
    }
    client.close();
  };
  await Promise.all(Array.from({ length: clients }, one));
}
