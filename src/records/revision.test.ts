import { describe, expect, test } from 'vitest';
import type { Write } from '../contract/endpoint.ts';
import type { MerchantId } from '../core/principal.ts';
import {
  accept,
  draftOf,
  draftsOf,
  type Editable,
  firstVersion,
  isSame,
  refusalByVersion,
  revise,
  saveLast,
} from './revision.ts';

interface Row extends Editable {
  readonly name: string;
  readonly note: string | null;
  readonly kind: string;
  readonly sku: string | null;
  readonly external_id: string | null;
}

const unique = { sku: 'sku_taken', external_id: 'external_id_taken' } as const;

const created = '2026-01-01T00:00:00.000Z';
const later = '2026-01-02T00:00:00.000Z';
const defaults = { kind: 'other', metadata: {} };

const row = (members: Partial<Row> = {}): Row => ({
  ...firstVersion('prod_1', { name: 'Flour', note: 'n', kind: 'store' }, created),
  sku: null,
  external_id: null,
  metadata: { a: '1', b: '2' },
  ...members,
});

const change = (before: Row, patch: Parameters<typeof revise>[1], now = later) =>
  revise(before, patch, defaults, now);

describe('revising a row', () => {
  test('sets what is sent, keeps what is absent, and counts the version', () => {
    const before = row();
    expect(change(before, { name: 'Rye' })).toEqual({
      ...before,
      name: 'Rye',
      version: 2,
      updated_at: later,
    });
  });

  test('clears an optional member with null and takes a defaulted one back to its default', () => {
    expect(change(row(), { note: null, kind: null })).toMatchObject({ note: null, kind: 'other' });
  });

  test('merges metadata per key, deletes with null, and empties with null as a whole', () => {
    expect(change(row(), { metadata: { a: null, c: '3' } }).metadata).toEqual({ b: '2', c: '3' });
    expect(change(row(), { metadata: null }).metadata).toEqual({});
  });

  test('keeps a metadata pair named __proto__ as a pair', () => {
    const patch = { metadata: JSON.parse('{"__proto__": "x"}') };
    const { metadata } = change(row({ metadata: {} }), patch);
    expect(JSON.stringify(metadata)).toBe('{"__proto__":"x"}');
  });

  test('of nothing gives the very same row', () => {
    const before = row();
    expect(change(before, {})).toBe(before);
    expect(change(before, { name: 'Flour', kind: 'store', metadata: {} })).toBe(before);
    expect(change(before, { metadata: { b: '2', z: null } })).toBe(before);
    const bare = Object.assign(Object.create(null), { b: '2', a: '1' });
    expect(change(before, { metadata: bare })).toBe(before);
  });

  test('tells nested values apart by what they hold, not by who made them', () => {
    const bare = Object.assign(Object.create(null), { code: 'kg', precision: 1 });
    expect(isSame({ precision: 1, code: 'kg' }, bare)).toBe(true);
    for (const other of [{ code: 'kg' }, { code: 'kg', precision: 2 }, null, undefined, 'kg']) {
      expect(isSame(other, bare)).toBe(false);
      expect(isSame(bare, other)).toBe(false);
    }
  });
});

describe('If-Match', () => {
  test('lets the current version and its absence pass and refuses any other', () => {
    expect(refusalByVersion(row(), undefined)).toBeUndefined();
    expect(refusalByVersion(row(), 1)).toBeUndefined();
    expect(refusalByVersion(row(), 2)).toMatchObject({
      kind: 'rejected',
      code: 'precondition_failed',
      details: [{ field: 'header.if-match', current_version: 1 }],
    });
  });
});

describe('accepting a row', () => {
  const pairs = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']));

  test('refuses more than 50 metadata pairs after merging', () => {
    const drafts = draftsOf<Row>([], []);
    expect(accept(unique, drafts, undefined, row({ metadata: pairs(50) })).kind).toBe('succeeded');
    expect(accept(unique, drafts, undefined, row({ metadata: pairs(51) }))).toMatchObject({
      code: 'validation_failed',
      details: [{ field: 'metadata', code: 'too_many' }],
    });
  });

  test("reports the resource's own faults together with the shared ones", () => {
    const fault = { field: 'unit', code: 'value_not_allowed', message: 'no' } as const;
    const faulty = row({ metadata: pairs(51) });
    expect(accept(unique, draftsOf<Row>([], []), undefined, faulty, [fault])).toMatchObject({
      details: [{ field: 'unit' }, { field: 'metadata' }],
    });
  });

  test('refuses values that others hold, naming every field and no value', () => {
    const drafts = draftsOf<Row>(
      [],
      [
        { field: 'sku', value: 'S 1', id: 'prod_2' },
        { field: 'external_id', value: 'E', id: 'prod_3' },
      ],
    );
    const refusal = accept(unique, drafts, undefined, row({ sku: 'S 1', external_id: 'E' }));
    expect(refusal).toMatchObject({
      code: 'sku_taken',
      details: [
        { field: 'sku', code: 'sku_taken' },
        { field: 'external_id', code: 'external_id_taken' },
      ],
    });
    expect(JSON.stringify(refusal)).not.toContain('S 1');
    expect(accept(unique, drafts, undefined, row({ external_id: 'E' })).kind).toBe('rejected');
    expect(accept(unique, drafts, undefined, row({ sku: 'E', external_id: 'S 1' })).kind).toBe(
      'succeeded',
    );
  });

  test("lets a row keep its own value, and sees the batch's own", () => {
    const drafts = draftsOf<Row>([], [{ field: 'sku', value: 'S', id: 'prod_1' }]);
    expect(accept(unique, drafts, undefined, row({ sku: 'S' })).kind).toBe('succeeded');
    expect(accept(unique, drafts, undefined, row({ sku: 'T' })).kind).toBe('succeeded');
    for (const sku of ['S', 'T']) {
      expect(accept(unique, drafts, undefined, row({ id: 'prod_9', sku }))).toMatchObject({
        code: 'sku_taken',
      });
    }
  });

  test('of a refused row leaves no trace', () => {
    const drafts = draftsOf<Row>([], [{ field: 'external_id', value: 'E', id: 'prod_3' }]);
    accept(unique, drafts, undefined, row({ sku: 'S', external_id: 'E' }));
    expect(accept(unique, drafts, undefined, row({ id: 'prod_9', sku: 'S' })).kind).toBe(
      'succeeded',
    );
  });
});

describe('a batch', () => {
  test('saves one row per ID, the last, and nothing of what changed nothing', () => {
    const before = row();
    const drafts = draftsOf([before], []);
    const write = { id: before.id, merchant: '' as MerchantId } as Write;
    const patches = [{ name: 'Rye' }, {}, { note: 'x' }, {}];
    const edits = patches.flatMap((patch) => {
      const current = draftOf(drafts, write);
      const decision = accept(unique, drafts, current, change(current, patch));
      return decision.kind === 'succeeded' ? [decision] : [];
    });
    expect(edits.map(({ row: { version } }) => version)).toEqual([2, 2, 3, 3]);
    const saved: Row[] = [];
    const save = (rows: readonly Row[]) => {
      saved.push(...rows);
      return { name: '', text: '', records: rows };
    };
    expect(
      saveLast(
        edits.flatMap(({ changes }) => changes),
        save,
      ),
    ).toHaveLength(1);
    expect(saved).toEqual([{ ...before, name: 'Rye', note: 'x', version: 3, updated_at: later }]);
    expect(edits.map(({ changes }) => changes.length)).toEqual([1, 0, 1, 0]);
    expect(saveLast([], save)).toEqual([]);
  });
});
