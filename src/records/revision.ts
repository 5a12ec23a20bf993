// The rules that all records share: versions, PATCH, If-Match, and values that must be unique
// within a merchant. Pure: rows arrive locked, every refusal here binds the key, and each write
// of a batch sees what those before it decided.

import type { Decision, Refusal, Write } from '../contract/endpoint.ts';
import { lookupId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { Detail, ProblemCode } from '../core/problem.ts';
import type { SetStatement } from '../core/statement.ts';

type Metadata = Readonly<Record<string, string>>;

/** What every record has beside its own members. */
export interface Editable {
  readonly id: string;
  readonly metadata: Metadata;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** The body of a PATCH: what is absent stays, null clears. */
type Patch = Readonly<Record<string, unknown>> & {
  readonly metadata?: Readonly<Record<string, string | null>> | null;
};

/** The members whose values are unique, each with the code that says it is taken. */
export type UniqueMembers = Readonly<Record<string, ProblemCode>>;

/** The record that has a value which must be unique. */
export interface Holder {
  readonly field: string;
  readonly value: string;
  readonly id: string;
}

/** What changes are decided on: the batch's own working copy. */
export interface Drafts<Row> {
  readonly rows: Map<string, Row>;
  /** IDs by field and value. A value given up within the batch keeps its first holder. */
  readonly holders: Map<string, string>;
}

export function draftsOf<Row extends Editable>(
  rows: readonly Row[],
  holders: readonly Holder[],
): Drafts<Row> {
  return {
    rows: new Map(rows.map((row) => [row.id, row])),
    holders: new Map(holders.map(({ field, value, id }) => [holderKey(field, value), id])),
  };
}

/** The row that a PATCH names. Rows are never deleted, and the path was looked up before. */
export function draftOf<Row>(drafts: Drafts<Row>, write: Write): Row {
  const row = drafts.rows.get(write.id);
  if (row === undefined) throw new Error(`${write.id} is gone`);
  return row;
}

/** Of rows that were locked by the caller's own IDs: who has which. */
export function holdersOf(rows: readonly { readonly id: string; external_id: string }[]): Holder[] {
  return rows.map(({ id, external_id: value }) => ({ field: 'external_id', value, id }));
}

/** The row that an upsert names, if there is one. */
export function namedDraftOf<Row>(drafts: Drafts<Row>, externalId: string): Row | undefined {
  return drafts.rows.get(drafts.holders.get(holderKey('external_id', externalId)) ?? '');
}

export function firstVersion<Fields>(id: string, fields: Fields, time: string) {
  return { id, version: 1, created_at: time, updated_at: time, ...fields };
}

/**
 * The row after a PATCH. Members that were sent are set; null clears a member, or restores its
 * default; metadata merges per key. When nothing changes, the result is the same object.
 */
export function revise<Row extends Editable>(
  row: Row,
  patch: Patch,
  defaults: Readonly<Record<string, unknown>>,
  time: string,
): Row {
  const { metadata, ...others } = patch;
  const members = Object.entries(others).map(([name, value]) => [
    name,
    value ?? defaults[name] ?? null,
  ]);
  const revised = {
    ...row,
    ...Object.fromEntries(members),
    metadata: metadata === undefined ? row.metadata : merge(row.metadata, metadata),
  };
  if (isSame(revised, row)) return row;
  return { ...revised, version: row.version + 1, updated_at: time };
}

/**
 * Whether two JSON values are equal. Prototypes do not count, but node:util compares them: objects
 * of the decoder have none, and objects of the driver have the usual one.
 */
export function isSame(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return a === b;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]))
  );
}

/** 412 when If-Match names another version than the row has. Judged before anything else. */
export function refusalByVersion(row: Pick<Editable, 'version'>, ifMatch: number | undefined) {
  if (ifMatch === undefined || ifMatch === row.version) return undefined;
  return refuse('precondition_failed', [
    {
      field: 'header.if-match',
      code: 'precondition_failed',
      message: `names another version than the current one, ${row.version}`,
      current_version: row.version,
    },
  ]);
}

/**
 * Takes a row into the drafts, or says why not. `before` is the row that was
 * revised, and `faults` are what the resource's own rule found in its fields.
 */
export function accept<Row extends Editable>(
  unique: UniqueMembers,
  drafts: Drafts<Row>,
  before: Row | undefined,
  row: Row,
  faults: readonly Detail[] = [],
): Decision<Row> {
  const invalid = [...faults, ...metadataFaults(row)];
  if (invalid.length > 0) return refuse('validation_failed', invalid);
  const values = uniqueValues(unique, row);
  const taken = values.filter(({ field, value }) => {
    const holder = drafts.holders.get(holderKey(field, value));
    return holder !== undefined && holder !== row.id;
  });
  const [first] = taken;
  if (first !== undefined) return refuse(first.code, taken.map(takenDetail));
  drafts.rows.set(row.id, row);
  for (const { field, value } of values) drafts.holders.set(holderKey(field, value), row.id);
  return { kind: 'succeeded', row, changes: row === before ? [] : [row], movements: 0 };
}

/** The rows that PATCHes name, as records. */
export function pathIds(writes: readonly Write[]): { id: string }[] {
  return writes.map(({ id }) => ({ id: lookupId(id) }));
}

/** The IDs of the caller's own that upserts name, as records. */
export function namedIds(writes: readonly Write[]): { external_id: string | undefined }[] {
  return writes.map(({ externalId }) => ({ external_id: externalId }));
}

/** The unique values that writes set, as records. */
export function wantedValues(writes: readonly Write[], unique: UniqueMembers): object[] {
  const fields = Object.keys(unique);
  return writes
    .map(({ body }) => body as Readonly<Record<string, unknown>>)
    .filter((body) => fields.some((field) => typeof body[field] === 'string'))
    .map((body) => Object.fromEntries(fields.map((field) => [field, body[field]])));
}

/** Saves one row per ID, the last. */
export function saveLast<Row extends { readonly id: string }>(
  changes: readonly Row[],
  save: (rows: readonly Row[]) => SetStatement,
): readonly SetStatement[] {
  const rows = new Map(changes.map((row) => [row.id, row]));
  return rows.size === 0 ? [] : [save([...rows.values()])];
}

export function refuse(code: ProblemCode, details: readonly Detail[] = []): Refusal {
  return { kind: 'rejected', code, details };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** Built from entries: a pair named `__proto__` is a pair like any other. */
function merge(
  metadata: Metadata,
  patch: Readonly<Record<string, string | null>> | null,
): Metadata {
  if (patch === null) return {};
  const pairs = new Map<string, string | null>(Object.entries(metadata));
  for (const [key, value] of Object.entries(patch)) pairs.set(key, value);
  const kept = [...pairs].filter((pair): pair is [string, string] => pair[1] !== null);
  return Object.fromEntries(kept);
}

function metadataFaults(row: Editable): Detail[] {
  if (Object.keys(row.metadata).length <= limits.metadataPairsMax) return [];
  const message = `must not hold more than ${limits.metadataPairsMax} pairs`;
  return [{ field: 'metadata', code: 'too_many', message }];
}

interface UniqueValue {
  readonly field: string;
  readonly value: string;
  readonly code: ProblemCode;
}

function uniqueValues(unique: UniqueMembers, row: Editable): UniqueValue[] {
  const values: Readonly<Record<string, unknown>> = { ...row };
  return Object.entries(unique).flatMap(([field, code]) => {
    const value = values[field];
    return typeof value === 'string' ? [{ field, value, code }] : [];
  });
}

/** Without the value: erasing a customer does not erase details, which stay with the operation. */
function takenDetail({ field, code }: UniqueValue): Detail {
  return { field, code, message: 'is already used by another one' };
}

/** No field name has a space, so no two pairs give the same key. */
function holderKey(field: string, value: string): string {
  return `${field} ${value}`;
}
