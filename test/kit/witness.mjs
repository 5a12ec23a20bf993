// Preloaded into a service process: writes down every connection, datagram, look-up of a name and
// program that it asks for, and at its end what has been added to the prototypes that all share.

import { ChildProcess } from 'node:child_process';
import { Socket as DatagramSocket } from 'node:dgram';
import dns from 'node:dns';
import { appendFileSync } from 'node:fs';
import { isIP, Socket } from 'node:net';

const note = (what, subject) =>
  appendFileSync(process.env.TALLYBOOK_TEST_WITNESS, `${JSON.stringify([what, subject])}\n`);

/** Calls `tell` with the arguments of each call of a method. */
function watch(object, method, tell) {
  const original = object[method];
  object[method] = function watched(...given) {
    tell(given);
    return original.apply(this, given);
  };
}

watch(Socket.prototype, 'connect', (given) => {
  // The function net.connect hands its arguments over as one list.
  const [first, second] = Array.isArray(given[0]) ? given[0] : given;
  if (typeof first === 'object') note('connect', first.path ?? `${first.host}:${first.port}`);
  else if (Number.isNaN(Number(first))) note('connect', first);
  else note('connect', `${typeof second === 'string' ? second : 'localhost'}:${first}`);
});
watch(DatagramSocket.prototype, 'send', ([, ...where]) => note('datagram', String(where)));
watch(ChildProcess.prototype, 'spawn', ([{ file }]) => note('spawn', file));
for (const method of ['lookup', 'resolve', 'resolve4', 'resolve6']) {
  watch(dns, method, ([name]) => {
    // A server that listens looks its own address up.
    if (isIP(name) === 0) note('lookup', name);
  });
}

for (const method of ['resolve4', 'resolve6']) {
  watch(dns.promises.Resolver.prototype, method, ([name]) => note('lookup', name));
}

const shared = [Object, Array, Function, String, Number, Promise, Map, Set, Date, RegExp];
const members = () => shared.map(({ prototype }) => Reflect.ownKeys(prototype).map(String));
const atFirst = members();
process.on('exit', () => {
  const added = members().flatMap((keys, index) =>
    keys.filter((key) => !atFirst[index].includes(key)),
  );
  note('prototypes', added);
});
