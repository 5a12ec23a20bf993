// The columns of a schema: each member that is one value, by its path. A text in a cell that a
// spreadsheet would take for a formula is written with an apostrophe, which reading takes away:
// `'=1` is the text `=1`, and `''=1` is `'=1`. An empty text is one apostrophe, because an empty
// cell is null.

import type { TSchema } from 'typebox';
import type { JsonObject, JsonValue } from '../contract/json.ts';

export interface Column {
  /** Such as `price.amount`. */
  readonly name: string;
  readonly path: readonly string[];
  readonly kind: 'text' | 'integer' | 'boolean' | 'json';
  /** Anybody may have written anything there, so that a spreadsheet might calculate it. */
  readonly isFree: boolean;
}

/** A schema as JSON Schema says it: the members that this file reads. */
interface Plain {
  readonly type?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: unknown;
  readonly anyOf?: readonly Plain[];
  readonly properties?: Readonly<Record<string, Plain>>;
}

/** IDs, numbers and codes that schemas call texts: other programs look them up as they are. */
const exactMembers = new Set([
  ...['sku', 'barcode', 'external_id', 'code', 'phone', 'timezone', 'amount', 'currency'],
]);

export function columnsOf(schema: TSchema, path: readonly string[] = []): Column[] {
  const plain = branchOf(schema as unknown as Plain);
  if (plain.properties !== undefined) {
    return Object.entries(plain.properties).flatMap(([name, member]) =>
      columnsOf(member as TSchema, [...path, name]),
    );
  }
  const kind = kindOf(plain);
  const isExact = exactMembers.has(path.at(-1) ?? '') || plain.pattern !== undefined;
  const isPlainText = kind === 'text' && plain.enum === undefined && plain.format !== 'date-time';
  return [{ name: path.join('.'), path, kind, isFree: isPlainText && !isExact }];
}

/** The branch of a union with null that is not null. */
function branchOf(plain: Plain): Plain {
  const branches = plain.anyOf?.filter(({ type }) => type !== 'null') ?? [];
  if (plain.anyOf === undefined) return plain;
  return branches.length === 1 ? branchOf(branches[0] ?? {}) : { type: 'object' };
}

function kindOf({ type }: Plain): Column['kind'] {
  if (type === 'integer' || type === 'boolean') return type;
  return type === 'object' || type === 'array' ? 'json' : 'text';
}

/** A cell that is not what its column needs stays a text, which the schema then refuses. */
export function readCell({ kind, isFree }: Column, cell: string): JsonValue {
  if (cell === '') return null;
  switch (kind) {
    case 'integer':
      return /^-?[0-9]{1,15}$/.test(cell) ? Number(cell) : cell;
    case 'boolean':
      // As spreadsheets write it, too.
      return /^(true|false)$/i.test(cell) ? cell.toLowerCase() === 'true' : cell;
    case 'json':
      return parsed(cell);
    case 'text':
      return (isFree ? guardedFree : guardedExact).test(cell) ? cell.slice(1) : cell;
  }
}

/** The same the other way. */
export function writeCell({ kind, isFree }: Column, value: unknown): string {
  if (value === null || value === undefined) return '';
  if (kind === 'json') return isEmpty(value) ? '' : JSON.stringify(value);
  const text = String(value);
  return kind === 'text' && (isFree ? unsafeFree : unsafeExact).test(text) ? `'${text}` : text;
}

/** Whether a spreadsheet would have calculated it, and left nobody the text. */
export const isFormula = ({ isFree }: Column, cell: string): boolean =>
  isFree && cell.startsWith('=');

const unsafeFree = /^'*(?:[=+\-@\t\r]|$)/;
const guardedFree = /^'+(?:[=+\-@\t\r]|$)/;
/** Only an empty text needs it. */
const unsafeExact = /^'*$/;
const guardedExact = /^'+$/;

function parsed(cell: string): JsonValue {
  try {
    return JSON.parse(cell) as JsonValue;
  } catch {
    return cell;
  }
}

const isEmpty = (value: unknown) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;

/** The value at a path; undefined when an object on the way is missing or null. */
export function valueAt(object: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, name) => (inner === null || inner === undefined ? undefined : Object(inner)[name]),
    object,
  );
}

/** Sets it. An object of which every part is null is null. */
export function setAt(object: JsonObject, path: readonly string[], value: JsonValue): void {
  const [first = '', ...rest] = path;
  if (rest.length === 0) {
    object[first] = value;
    return;
  }
  const inner = object[first];
  if (value === null && (inner === null || inner === undefined)) {
    object[first] = null;
    return;
  }
  const made: JsonObject =
    typeof inner === 'object' && inner !== null && !Array.isArray(inner) ? inner : {};
  object[first] = made;
  setAt(made, rest, value);
}
