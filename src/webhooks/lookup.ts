// Finds the addresses of receivers. The system's own look-up takes one of four threads for as long
// as a name server does not answer, and compression and files need these as well: a few dead names
// would stop everybody. So name servers are asked directly. The system is asked for names that only
// it may know, such as those of a hosts file: they are the operator's, who allows them.

import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { limits } from '../core/limits.ts';
import type { Destinations } from './address.ts';

/** Half of the threads. */
const systemLookupsMax = 2;

type Callback = Parameters<LookupFunction>[2];

export function receiverLookup(
  destinations: Destinations,
  servers?: readonly string[],
): LookupFunction {
  const resolver = new Resolver({ timeout: limits.webhookNameTimeout, tries: 2 });
  if (servers !== undefined) resolver.setServers(servers);
  const system = bounded(systemLookup as LookupFunction);
  return (name, options, callback) => {
    const allowed = destinations.allowance(name);
    if (allowed === 'named') return system(name, options, callback);
    void addressesOf(resolver, name).then((found) => {
      if (found instanceof Error) {
        const isUnknown = found.code === 'ENOTFOUND' || found.code === 'ENODATA';
        if (allowed === 'perhaps' && isUnknown) return system(name, options, callback);
        return callback(found, []);
      }
      callback(null, found);
    });
  };
}

async function addressesOf(
  resolver: Resolver,
  name: string,
): Promise<LookupAddress[] | NodeJS.ErrnoException> {
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = answers.flatMap((answer, index) =>
    answer.status === 'fulfilled'
      ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 }))
      : [],
  );
  if (found.length > 0) return found;
  const [first] = answers;
  return first.status === 'rejected'
    ? first.reason
    : Object.assign(new Error('no address'), { code: 'ENODATA' });
}

/** So many at once, and the others in their order. */
function bounded(lookup: LookupFunction): LookupFunction {
  const waiting: (() => void)[] = [];
  let running = 0;
  return (name, options, callback) => {
    const begin = () => {
      running += 1;
      const ended: Callback = (...answer) => {
        running -= 1;
        waiting.shift()?.();
        callback(...answer);
      };
      lookup(name, options, ended);
    };
    if (running < systemLookupsMax) begin();
    else waiting.push(begin);
  };
}
