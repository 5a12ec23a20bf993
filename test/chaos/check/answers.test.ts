// Tests the checks of answers: a sound history passes, and each fault put into it is found by the
// check it is for.

import { expect, test } from 'vitest';
import type { Attempt, Ban } from '../history.ts';
import { plain } from '../settings.ts';
import { checkAnswers } from './answers.ts';
import { required, whatWasMet } from './coverage.ts';
import { checkLocationStatus } from './location-status.ts';
import { recoveryOf } from './recovery.ts';
import { checkRegisters } from './registers.ts';

const target = { product: 'flour', location: 'shop', quantity: '5' };
const places = {
  products: ['flour'],
  crates: ['crate'],
  goods: ['good'],
  locations: ['shop'],
  booth: 'booth',
  foreign: { product: 'theirs', location: 'there' },
};

let clock = 0;

/** An attempt after all those before it. */
function attempt(members: Partial<Attempt>): Attempt {
  clock += 2;
  const who = { client: 0, kind: 'adjust', credential: 'steady', generation: 0, node: 0 } as const;
  return { ...who, start: clock - 1, end: clock, status: 201, ...members };
}

const bound = { operation: 'op_1', resource: 'imv_1', key: 'k', variant: 0, target } as const;
const movement = { sequence: 1, before: '0', after: '5' };
const levels = [{ product: 'flour', location: 'shop', quantity: '5', version: 1 }];
const first = () => attempt({ ...bound, movement, levels });
const replay = () => attempt({ ...bound, movement, levels, isReplay: true });
const conflict = (members: Partial<Attempt> = {}) =>
  attempt({
    ...{ key: 'k', variant: 1, target: { ...target, quantity: '6' }, status: 409 },
    ...{ code: 'idempotency_key_reused', operation: 'op_1', ...members },
  });
const { resource: _, ...unmade } = bound;
const refusal = (code: string) => attempt({ ...unmade, status: 422, code });
const nameless = () => {
  const { operation: _, ...rest } = conflict();
  return rest;
};
const read = (status: number) => attempt({ kind: 'movement', status });

const upsert = (key: string, record: string) =>
  attempt({
    ...{ kind: 'upsert', key, variant: 0, named: 'own-1' },
    ...{ operation: `op_${key}`, resource: record },
  });

const ban: Ban = { credential: 'shaken', kind: 'grant', from: 0, until: 1e9, generation: 0 };

function found(attempts: readonly Attempt[], bans: readonly Ban[] = []): string[] {
  return checkAnswers(attempts, bans, places)
    .filter(({ faults }) => faults.length > 0)
    .map(({ what }) => what);
}

test('a sound history has no faults', () => {
  const sound = [attempt({ key: 'k', variant: 0, status: 503 }), first(), replay(), conflict()];
  const foreign = attempt({ kind: 'foreign', key: 'f', variant: 0, status: 404 });
  expect(found([...sound, read(200), foreign])).toEqual([]);
});

const made = (members: Partial<Attempt> = {}) =>
  attempt({
    kind: 'token',
    key: 't',
    variant: 0,
    operation: 'op_2',
    resource: 'cred_1',
    ...members,
  });

test.each<[string, string, () => Attempt[]]>([
  [
    'a token that admits after its revocation',
    'tokens that admit after they were revoked',
    () => [attempt({ kind: 'ended', status: 200 })],
  ],
  [
    'a token shown by a replay',
    'what is shown once shown again',
    () => [made(), made({ isReplay: true, isShown: true })],
  ],
  ['two operations', 'keys with two answers', () => [first(), { ...replay(), operation: 'op_2' }]],
  ['two resources', 'keys with two answers', () => [first(), { ...replay(), resource: 'imv_2' }]],
  ['two first answers', 'keys with two answers', () => [first(), first()]],
  [
    'another movement on replay',
    'keys with two answers',
    () => [first(), { ...replay(), movement: { ...movement, after: '6' } }],
  ],
  [
    'done after it was refused',
    'keys with two answers',
    () => [refusal('inventory_no_change'), first()],
  ],
  [
    'two records of one external ID',
    'external IDs of several records',
    () => [upsert('k1', 'prod_1'), upsert('k2', 'prod_2')],
  ],
  [
    'another body done under the key',
    'keys with two answers',
    () => [first(), { ...replay(), variant: 1 }],
  ],
  [
    'a conflict that names another operation',
    'keys with two answers',
    () => [first(), conflict({ operation: 'op_2' })],
  ],
  ['a conflict that names none', 'keys with two answers', () => [first(), nameless()]],
  [
    'a conflict of the very request that was done',
    'conflicts without another request',
    () => [first(), conflict({ variant: 0, target })],
  ],
  [
    'a conflict before the same request is done',
    'conflicts without another request',
    () => [conflict({ variant: 0, target }), first()],
  ],
  ['a conflict with nothing', 'conflicts without another request', () => [conflict()]],
  [
    'a conflict of another code',
    'conflicts without another request',
    () => [first(), conflict({ code: 'lock_timeout' })],
  ],
  ['a conflict of a read', 'unexpected answers', () => [read(409)]],
  ['a read created', 'unexpected answers', () => [read(201)]],
  ['a create that is 200', 'unexpected answers', () => [{ ...first(), status: 200 }]],
  ['a refusal of another kind', 'unexpected answers', () => [refusal('product_not_found')]],
  ['a service at a loss', 'unexpected answers', () => [first(), { ...replay(), status: 500 }]],
  [
    'an answer that is no JSON',
    'unexpected answers',
    () => [{ ...first(), code: 'not understood' }],
  ],
  ['rights lost by nobody', 'unexpected answers', () => [first(), { ...replay(), status: 403 }]],
  [
    'a foreign product changed',
    'rows of another merchant seen',
    () => [attempt({ kind: 'foreign', key: 'f', variant: 0, status: 200 })],
  ],
  [
    'a foreign level shown',
    'rows of another merchant seen',
    () => [{ ...first(), levels: levels.map((row) => ({ ...row, location: 'there' })) }],
  ],
  ['nothing but failures', 'keys without an answer', () => [{ ...first(), status: 503 }]],
])('%s is found', (_, what, make) => {
  expect(found(make())).toContain(what);
});

test('a write of a credential without the right is found', () => {
  expect(found([{ ...first(), credential: 'shaken' }], [ban])).toEqual([
    'successes after a right was revoked',
  ]);
});

const change = (name: string, version: number, members: Partial<Attempt> = {}) =>
  attempt({
    ...{ kind: 'change', status: 200, key: name, variant: 0, operation: name, resource: 'booth' },
    ...{ wanted: { record: 'booth', name }, record: { record: 'booth', name, version } },
    ...members,
  });
const nothing = { given: [], crates: [], goods: [] };
const given = [{ record: 'booth', name: 'Booth', version: 1 }];
const atBooth = (members: Partial<Attempt> = {}) =>
  attempt({ ...bound, key: `${clock}`, target: { ...target, location: 'booth' }, ...members });
const inactive = { status: 422, code: 'location_inactive' };

test('an adjustment against the status of its location is found, and no other', () => {
  const shut = () => change('inactive a', 2);
  const open = () => change('active b', 3);
  const faults = (attempts: readonly Attempt[]) =>
    checkLocationStatus(attempts, 'booth').faults.length;
  expect(faults([atBooth(), shut(), atBooth(inactive), open(), atBooth()])).toBe(0);
  expect(faults([shut(), atBooth(), open()])).toBe(1);
  expect(faults([change('active a', 2), atBooth(inactive), change('inactive b', 3)])).toBe(1);
  expect(faults([shut(), atBooth({ isReplay: true }), open()])).toBe(0);
  const beside = atBooth();
  expect(faults([{ ...shut(), end: clock + 9 }, beside, { ...open(), start: clock + 9 }])).toBe(0);
});

test('a record that goes back, is changed twice or not at all has no order', () => {
  const faults = (attempts: readonly Attempt[]) =>
    checkRegisters(attempts, { given, crates: [], goods: [] }).faults.length;
  const shows = (name: string, version: number, key: string) =>
    change(key, 0, { isReplay: true, record: { record: 'booth', name, version } });
  const [a, b] = [change('a', 2), change('b', 3)];
  expect(faults([a, b, shows('b', 3, 'a')])).toBe(0);
  expect(faults([a, b, shows('a', 2, 'a')])).toBe(1);
  expect(faults([a, shows('a', 3, 'a')])).toBe(1);
  expect(faults([a, shows('Booth', 1, 'a')])).toBe(1);
  expect(faults([a, change('b', 2)])).toBe(1);
});

test('a customer that is not what was asked for has no order', () => {
  const make = (name: string, version: number) =>
    attempt({
      ...{ kind: 'customer', key: 'c', variant: 0, operation: 'op_c', resource: 'cus' },
      ...{ wanted: { name: 'Ada' }, record: { record: 'cus', name, version } },
    });
  expect(checkRegisters([make('Ada', 1)], nothing).faults).toEqual([]);
  expect(checkRegisters([make('Ada', 2)], nothing).faults).toHaveLength(1);
  expect(checkRegisters([make('Eve', 1)], nothing).faults).toHaveLength(1);
});

test('what has not happened is not counted as met', () => {
  const met = whatWasMet([first(), replay(), conflict()], {
    events: [{ at: 0, what: 'database up' }],
    refusedReads: 0,
    recoveries: 0,
  });
  expect(new Set(Object.values(met))).toEqual(new Set([0]));
  const busy = attempt({ key: 'k', variant: 0, status: 503, code: 'operation_in_progress' });
  const noted = { events: [], refusedReads: 0, recoveries: 3 };
  const lock = whatWasMet([busy, atBooth(inactive)], noted);
  expect(lock).toMatchObject({ lockTimedOut: 1, databaseRecovered: 3, statusObeyed: 1 });
  const least = [45, 600].map((seconds) =>
    required('killedInsideBatch', { seconds, settings: plain }),
  );
  expect(least).toEqual([1, 50]);
});

test('a write counts as done while a server was down when it began and ended within', () => {
  const events = ['other worker down', 'other worker up', 'coordinator down'].map(
    (what, index) => ({
      ...{ at: 100 * (index + 1), what },
    }),
  );
  const met = (members: Partial<Attempt>) => {
    const write = { ...first(), start: 120, end: 180, ...members };
    return whatWasMet([write], { events, refusedReads: 0, recoveries: 0 });
  };
  expect(met({}).servedBesideWorker).toBe(1);
  expect(met({ start: 99 }).servedBesideWorker).toBe(0);
  expect(met({ end: 201 }).servedBesideWorker).toBe(0);
  expect(met({ credential: 'neighbour' }).servedBesideWorker).toBe(0);
  // It was never up again.
  expect(met({ start: 320, end: 380 }).servedWithoutCoordinator).toBe(0);
});

test('the time to the first write is taken from a database that answers, while it stays up', () => {
  const events = [0, 100, 200].flatMap((at) => [
    { at: at + 40, what: 'database down' },
    { at: at + 50, what: 'database up' },
  ]);
  const writes = [first(), replay(), first()].map((one, index) => ({
    ...one,
    start: 0,
    end: [57, 151, 253][index] ?? 0,
  }));
  expect(recoveryOf(writes, events)).toEqual({ times: [3, 7], cutShort: 1 });
});
