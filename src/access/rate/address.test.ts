import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { problemKinds } from '../../core/problem.ts';
import { AddressCounter, AddressLimit, countAddresses, networkOf } from './address.ts';

const second = 1_000_000;

/** Failures counted at a time that the test sets. */
function failuresAt(addressesMax?: number) {
  const clock = { now: 0 };
  return { clock, failures: new AddressCounter(30, () => clock.now, addressesMax) };
}

describe('thirty failures of an address are answered 401', () => {
  test('and those beyond get the exact time to wait', () => {
    const { clock, failures } = failuresAt();
    for (let n = 0; n < 30; n += 1) expect(failures.count('192.0.2.1')).toBeUndefined();
    expect(failures.count('192.0.2.1')).toBe(2);
    clock.now += 2 * second - 1;
    expect(failures.count('192.0.2.1')).toBe(1);
    clock.now += 1;
    expect(failures.count('192.0.2.1')).toBeUndefined();
    expect(failures.count('192.0.2.1')).toBeDefined();
  });

  test('as 429', async () => {
    const failures = new AddressLimit('failures', countAddresses());
    for (let n = 0; n < 30; n += 1) expect(await failures.refusal('192.0.2.1')).toBeUndefined();
    const refusal = await failures.refusal('192.0.2.1');
    expect(refusal?.code).toBe('rate_limited');
    expect(problemKinds.rate_limited.status).toBe(429);
    expect(refusal?.headers).toEqual({ 'Retry-After': '2' });
  });

  test('of clients who have left together', async () => {
    const failures = new AddressLimit('failures', countAddresses());
    for (let n = 0; n < 30; n += 1) expect(await failures.refusal(undefined)).toBeUndefined();
    expect((await failures.refusal(undefined))?.code).toBe('rate_limited');
    expect(await failures.refusal('192.0.2.1')).toBeUndefined();
  });

  test('of 10,000 in ten minutes, thirty and the rate', () => {
    const { clock, failures } = failuresAt();
    let answered = 0;
    for (let n = 0; n < 10_000; n += 1) {
      if (failures.count('192.0.2.1') === undefined) answered += 1;
      clock.now += 60_000;
    }
    expect(answered).toBe(30 + Math.floor((9_999 * 60_000) / (2 * second)));
  });

  test('an address that never stops trying stays refused, in every minute', () => {
    const { clock, failures } = failuresAt();
    for (let minute = 0; minute < 5; minute += 1) {
      let answered = 0;
      for (let n = 0; n < 600; n += 1) {
        if (failures.count('2001:db8::1') === undefined) answered += 1;
        clock.now += second / 10;
      }
      expect(answered).toBeLessThanOrEqual(minute === 0 ? 60 : 31);
    }
  });

  test('others are not affected', () => {
    const { failures } = failuresAt();
    for (let n = 0; n < 100; n += 1) failures.count('192.0.2.1');
    expect(failures.count('192.0.2.2')).toBeUndefined();
  });
});

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::FFFF:c000:0207', '192.0.2.7'],
  ['0:0:0:0:0:ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:0DB8:0001:0002::', '2001:db8:1:2'],
  ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['1:0:0:4::', '1:0:0:4'],
  ['1::4:5:6:7:8', '1:0:0:4'],
  ['1::3:4:5:6:7:8', '1:0:3:4'],
  ['::1', '0:0:0:0'],
  ['::192.0.2.7', '0:0:0:0'],
  ['::', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['64:ff9b::192.0.2.7', '64:ff9b:0:0'],
  ['', ''],
  ['unknown', 'unknown'],
])('%s counts as %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

test('what is not an address is not kept whole', () => {
  expect(networkOf('x'.repeat(5_000))).toHaveLength(64);
});

describe('what is remembered is bounded', () => {
  test('however many addresses fail', () => {
    const { failures } = failuresAt(1_000);
    let most = 0;
    for (let n = 0; n < 50_000; n += 1) {
      failures.count(`2001:db8:${(n >> 16).toString(16)}:${(n & 0xffff).toString(16)}::1`);
      most = Math.max(most, failures.size);
    }
    expect(most).toBe(1_000);
  });

  test('in bytes: less than 50 MB', () => {
    const { failures } = failuresAt();
    const before = heapUsed();
    for (let n = 0; n < 250_000; n += 1) {
      failures.count(`2001:db8:${(n >> 16).toString(16)}:${(n & 0xffff).toString(16)}::1`);
    }
    expect(failures.size).toBeLessThanOrEqual(100_000);
    expect(failures.size).toBeGreaterThan(50_000);
    expect(heapUsed() - before).toBeLessThan(50_000_000);
    expect(failures.count('192.0.2.1')).toBeUndefined();
  });

  test('and an address that keeps failing is not forgotten for others', () => {
    const { failures } = failuresAt(1_000);
    for (let n = 0; n < 30; n += 1) failures.count('192.0.2.1');
    for (let n = 0; n < 10_000; n += 1) {
      failures.count(`10.1.${n >> 8}.${n & 255}`);
      if (n % 400 === 0) expect(failures.count('192.0.2.1')).toBeDefined();
    }
  });
});

/** With the garbage of a flood still in it, the heap says nothing: it is collected first. */
function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}
