// What a body may cost: the worst ones that could be thought of, against every write.

import { describe, expect, test } from 'vitest';
import { sampleOf } from '../../test/kit/extent.ts';
import { endpoints } from '../app.ts';
import { fingerprint } from '../operations/fingerprint.ts';
import { type BodyLimits, bodyLimitsOf, ordinaryBody } from './contract.ts';
import type { AnyWriteEndpoint } from './endpoint.ts';
import { decodeJsonObject, JsonFault } from './json.ts';
import { BodyParser } from './parse.ts';

const writes = endpoints
  .filter((one): one is AnyWriteEndpoint => one.contract.kind === 'write')
  .map((endpoint) => ({ endpoint, parser: new BodyParser(endpoint.contract) }));

type Unit = string | ((n: number) => string);

/** A body as large as may be. */
const full = (open: string, unit: Unit, close: string) => (most: BodyLimits) =>
  filled(most, open, unit, close);

function filled({ bytes }: BodyLimits, open: string, unit: Unit, close: string): string {
  const units: string[] = [];
  let size = Buffer.byteLength(open + close);
  for (;;) {
    const next = typeof unit === 'string' ? unit : unit(units.length);
    size += Buffer.byteLength(next);
    if (size > bytes) return open + units.join('') + close;
    units.push(next);
  }
}

const member = (value: string) => (n: number) => `${n === 0 ? '' : ','}"k${n}":${value}`;
/** As many as one body may have, of names whose letters take as many bytes as letters can. */
const manyLongNames = (open: string, close: string) => (most: BodyLimits) => {
  const nameOf = (n: number) => `"${'\\u0001'.repeat(60)}${n}":1`;
  const room = Math.floor(most.bytes / (nameOf(most.values).length + 1)) - 1;
  const names = Array.from({ length: Math.min(most.values - 3, room) }, (_, n) => nameOf(n));
  return open + names.join(',') + close;
};

const manyEmpty = (name: string) => (most: BodyLimits) =>
  JSON.stringify({ [name]: Array.from({ length: most.values - 1 }, () => ({})) });

const worst: Readonly<Record<string, (most: BodyLimits) => string>> = {
  blanks: full('{', ' ', '}'),
  'members that nobody knows': full('{', member('1'), '}'),
  'metadata that are no texts': full('{"metadata":{', member('1'), '}}'),
  'metadata that are objects': full('{"metadata":{', member('{}'), '}}'),
  'as many long names as there may be': manyLongNames('{"metadata":{', '}}'),
  'as many unknown ones': manyLongNames('{"unit":{', '}}'),
  'as many long names in a line': manyLongNames('{"lines":[{', '}]}'),
  'as many empty lines': manyEmpty('lines'),
  'as many empty writes of a batch': manyEmpty('operations'),
  'a unit of many members': full('{"unit":{', member('1'), '}}'),
  'a list of numbers': full('{"name":[1', ',1e-300', ']}'),
  'a list of lists': full('{"name":[1', ',[]', ']}'),
  'a list of objects': full('{"metadata":[1', ',{}', ']}'),
  levels: full('{"name":', '[', ''),
  escapes: full('{"name":"', '\\n', '"}'),
  'escaped characters': full('{"name":"', '\\u0061', '"}'),
  'surrogates, and one alone': full('{"name":"', '\\ud83d\\ude00', '\\ud800"}'),
  'a string without an end': full('{"name":"', '\\\\', ''),
  digits: full('{"name":', '1', '}'),
  decimals: full('{"target_quantity":1.', '1', '}'),
  'an exponent': full('{"name":1e-', '1', '}'),
  'a member twice': full('{"a":1', ',"a":1', '}'),
  'a long name': full('{"name":"', '名', '"}'),
  'a blank name': full('{"name":"', '\u00a0', '"}'),
  'a local part': full('{"email":"', 'a', '@b.de"}'),
  'dots in a local part': full('{"email":"', '.a', '@b.de"}'),
  'a domain of many labels': full('{"email":"a@', 'b.', 'de"}'),
  'a long label': full('{"email":"a@b', '-', '.de"}'),
  'marks in a label': full('{"email":"a@b', '\u0301', '.de"}'),
  'at signs': full('{"email":"', '@', '"}'),
  'a telephone number': full('{"phone":"+', '1', '"}'),
  'a quantity': full('{"target_quantity":"0.', '0', '"}'),
  'an amount': full('{"price":{"currency":"EUR","amount":"0.', '0', '"}}'),
  'a unit': full('{"unit":{"precision":0,"code":"', 'a', '"}}'),
  'a time zone': full('{"timezone":"', 'A/', '"}'),
};

/** What is found wrong with a body on its way to the key, or that it is none. */
function judge({ endpoint, parser }: (typeof writes)[number], bytes: Buffer) {
  try {
    const sent = decodeJsonObject(bytes, bodyLimitsOf(endpoint.contract));
    const body = parser.normalise(sent);
    const meaning = { type: endpoint.contract.name, id: '', ifMatch: undefined };
    fingerprint('0123456789abcdef', { ...meaning, body: { ...sent, ...body } });
    return parser.faults(sent);
  } catch (error) {
    if (error instanceof JsonFault) return [{ message: error.message }];
    throw error;
  }
}

/** In milliseconds of processor time, the least of seven: other work only makes it longer. */
function costOf(run: () => unknown): number {
  const costs = Array.from({ length: 7 }, () => {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...costs);
}

describe.each(sampleOf(Object.entries(worst), 3))('a whole body of %s', (_, textOf) => {
  const texts = new Map<BodyLimits, Buffer>();
  const bytesOf = (most: BodyLimits) => {
    const bytes = texts.get(most) ?? Buffer.from(textOf(most));
    texts.set(most, bytes);
    return bytes;
  };

  test('is judged in 10 ms of processor time for 64 KiB, and answered in no more bytes', () => {
    for (const write of writes) {
      const { name } = write.endpoint.contract;
      const most = bodyLimitsOf(write.endpoint.contract);
      const bytes = bytesOf(most);
      expect(bytes.length, name).toBeLessThanOrEqual(most.bytes);
      const answer = { error: { details: judge(write, bytes) }, meta: {} };
      // Some is left for what else an answer says.
      expect(Buffer.byteLength(JSON.stringify(answer)), name).toBeLessThan(most.bytes - 512);
      expect(
        costOf(() => judge(write, bytes)),
        name,
      ).toBeLessThan((10 * most.bytes) / ordinaryBody.bytes);
    }
  });
});

test('a fault names its member as it was sent, whatever signs its name has', () => {
  const parser = writes.find(
    ({ endpoint }) => endpoint.contract.name === 'customers.update',
  )?.parser;
  const metadata = { 'a/b': 1, 'a~b': 2, '~1': 3 };
  const fields = parser?.faults({ name: 'A', email: 'a@b.de', metadata }).map((one) => one.field);
  expect(fields).toEqual(['metadata.a/b', 'metadata.a~b', 'metadata.~1']);
  const long = { metadata: { [`${'😀'.repeat(60)}`]: 1 } };
  expect(parser?.faults(long).map((one) => one.field)).toEqual([`metadata.${'😀'.repeat(50)}…`]);
});
