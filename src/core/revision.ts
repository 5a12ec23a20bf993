// What the editable resources share: versions, PATCH, If-Match, and values that no two rows of a
// merchant may hold. Pure: rows arrive locked, every refusal here binds the key, and each command
// of a batch sees what those before it decided.

import type { Command, Decision } from './endpoint.ts';
import { lookupId } from './id.ts';
import { limits } from './limits.ts';
import type { Detail, ProblemCode } from './problem.ts';
import type { SetStatement } from './statement.ts';

export type Metadata = Readonly<Record<string, string>>;

/** What every editable row has beside its own members. */
export interface Editable {
  readonly id: string;
  readonly external_id: string | null;
  readonly sku?: string | null;
  readonly code?: string | null;
  readonly metadata: Metadata;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

/** The body of a PATCH: what is absent stays, null clears. */
export type Patch<Fields> = {
  readonly [Name in keyof Fields]?:
    | (Name extends 'metadata' ? Readonly<Record<string, string | null>> : Fields[Name])
    | null;
};

/** An edit to save: the row as it becomes. A PATCH of nothing changes nothing. */
export interface Edit<Row> {
  readonly row: Row;
  readonly isChange: boolean;
}

/** Who holds a value that must be unique. */
export interface Holder {
  readonly field: UniqueField;
  readonly value: string;
  readonly id: string;
}

/** What edits are decided on: the batch's own working copy. */
export interface Drafts<Row> {
  readonly rows: Map<string, Row>;
  /** IDs by field and value. A value given up within the batch keeps its first holder. */
  readonly holders: Map<string, string>;
}

const takenCodes = {
  sku: 'sku_taken',
  code: 'code_taken',
  external_id: 'external_id_taken',
} as const satisfies Record<string, ProblemCode>;

export type UniqueField = keyof typeof takenCodes;

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
export function draftOf<Row>(drafts: Drafts<Row>, command: Command): Row {
  const row = drafts.rows.get(command.id);
  if (row === undefined) throw new Error(`${command.id} is gone`);
  return row;
}

export function firstVersion<Fields>(id: string, fields: Fields, now: string) {
  return { ...fields, id, version: 1, created_at: now, updated_at: now };
}

/**
 * The row as a PATCH leaves it. Members sent are set; null clears one, or takes it back to its
 * default; metadata merges per key. A change of nothing gives the very same row.
 */
export function revise<Row extends Editable>(
  row: Row,
  patch: Patch<NoInfer<Row>>,
  defaults: Partial<NoInfer<Row>>,
  now: string,
): Row {
  const fallbacks: Readonly<Record<string, unknown>> = defaults;
  const { metadata, ...others } = patch;
  const members = Object.entries(others).map(([name, value]) => [
    name,
    value ?? fallbacks[name] ?? null,
  ]);
  const revised = {
    ...row,
    ...Object.fromEntries(members),
    metadata: metadata === undefined ? row.metadata : merge(row.metadata, metadata),
  };
  if (isSame(revised, row)) return row;
  const updatedAt = row.updated_at > now ? row.updated_at : now;
  return { ...revised, version: row.version + 1, updated_at: updatedAt };
}

/**
 * Whether two JSON values say the same. Prototypes do not count, as they do for node:util: the
 * decoder's objects have none, the driver's have the usual one.
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
export function refusalByVersion(row: Editable, ifMatch: number | undefined) {
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
 * Takes a row into the drafts, or says what speaks against it. `before` is the row that was
 * revised, and `faults` are what the resource's own rule found in its fields.
 */
export function accept<Row extends Editable>(
  drafts: Drafts<Row>,
  before: Row | undefined,
  row: Row,
  faults: readonly Detail[] = [],
): Decision<Edit<Row>> {
  const invalid = [...faults, ...metadataFaults(row)];
  if (invalid.length > 0) return refuse('validation_failed', invalid);
  const taken = uniqueValues(row).filter(({ field, value }) => {
    const holder = drafts.holders.get(holderKey(field, value));
    return holder !== undefined && holder !== row.id;
  });
  const [first] = taken;
  if (first !== undefined) return refuse(takenCodes[first.field], taken.map(takenDetail));
  drafts.rows.set(row.id, row);
  for (const { field, value } of uniqueValues(row)) {
    drafts.holders.set(holderKey(field, value), row.id);
  }
  return { kind: 'succeeded', resourceId: row.id, change: { row, isChange: row !== before } };
}

/** The rows that PATCHes name, as records. */
export function pathIds(commands: readonly Command[]): { id: string }[] {
  return commands.map(({ id }) => ({ id: lookupId(id) }));
}

/** The values that commands want to be the only one to hold, as records. */
export function wantedValues(
  commands: readonly Command<{ readonly [Field in UniqueField]?: string | null }>[],
  fields: readonly UniqueField[],
): object[] {
  return commands
    .filter(({ body }) => fields.some((field) => typeof body[field] === 'string'))
    .map(({ body }) => Object.fromEntries(fields.map((field) => [field, body[field]])));
}

/** Saves one row per ID, the last, and none that nothing changed. */
export function saveLast<Row extends Editable>(
  edits: readonly Edit<Row>[],
  save: (rows: readonly Row[]) => SetStatement,
): readonly SetStatement[] {
  const changes = edits.filter(({ isChange }) => isChange);
  const rows = new Map(changes.map(({ row }) => [row.id, row]));
  return rows.size === 0 ? [] : [save([...rows.values()])];
}

export function refuse(code: ProblemCode, details: readonly Detail[] = []): Decision<never> {
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

function uniqueValues(row: Editable): { field: UniqueField; value: string }[] {
  const { sku = null, code = null, external_id } = row;
  return Object.entries({ sku, code, external_id }).flatMap(([field, value]) =>
    value === null ? [] : { field: field as UniqueField, value },
  );
}

/** Without the value: details are kept with the operation, and erasing a customer spares those. */
function takenDetail({ field }: { field: UniqueField }): Detail {
  return { field, code: takenCodes[field], message: 'is already used by another one' };
}

/** No field name has a space, so no two pairs give the same key. */
function holderKey(field: UniqueField, value: string): string {
  return `${field} ${value}`;
}
