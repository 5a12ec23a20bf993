// What the rows of a file say: bodies in the form of a PATCH, and everything that is wrong with
// them.

import type { JsonObject } from '../contract/json.ts';
import type { Detail } from '../core/problem.ts';
import { type Column, isFormula, readCell, setAt, valueAt } from './columns.ts';
import { placeOf } from './csv-text.ts';
import type { RowFault } from './fault.ts';
import { type ColumnMap, columnNamed } from './header.ts';
import { isRecordNoun, type Noun } from './nouns.ts';
import type { Sheet, SheetRow } from './sheet.ts';

export class RowReader {
  readonly #noun: Noun;
  readonly #map: ColumnMap;
  readonly #header: Sheet['header'];
  /** By their place in the file. */
  readonly #columns: readonly (Column | null | undefined)[];
  /** Members that a PATCH takes no null for, but which a create gives a value by itself. */
  readonly #kept: ReadonlySet<string>;

  constructor(noun: Noun, map: ColumnMap, header: Sheet['header']) {
    this.#noun = noun;
    this.#map = map;
    this.#header = header;
    this.#columns = (header ?? []).map((name) => columnNamed(noun, map, name));
    this.#kept = new Set(
      Object.entries(isRecordNoun(noun) ? noun.resource.members : {})
        .filter(([, { presence }]) => presence === 'state')
        .map(([name]) => name),
    );
  }

  /** Whether any row can have it. */
  has(name: string): boolean {
    return this.#header === undefined || this.#columns.some((column) => column?.name === name);
  }

  read(row: SheetRow): JsonObject {
    return row.object === undefined ? this.#bodyOfCells(row.cells) : this.#bodyOf(row.object);
  }

  faults(row: SheetRow, body: JsonObject): RowFault[] {
    const { line } = row;
    const faults = [...row.faults, ...this.#formulas(row), ...this.#unknown(row)];
    const details = row.faults.length > 0 ? [] : this.#noun.faults(body);
    for (const detail of details) {
      faults.push({ line, column: this.place(detail.field ?? ''), message: this.#text(detail) });
    }
    return faults;
  }

  #bodyOfCells(cells: readonly string[]): JsonObject {
    const body: JsonObject = {};
    for (const [index, column] of this.#columns.entries()) {
      if (column === null || column === undefined) continue;
      const value = readCell(column, cells[index] ?? '');
      if (value === null && this.#kept.has(column.name)) continue;
      setAt(body, column.path, value);
    }
    return body;
  }

  #bodyOf(object: JsonObject): JsonObject {
    const body: JsonObject = {};
    for (const [name, value] of Object.entries(object)) {
      const first = this.#memberOf(name);
      if (first !== undefined && first !== null) body[first] = value;
    }
    return body;
  }

  /** The member that one of the file's stands for; null is passed over. */
  #memberOf(name: string): string | null | undefined {
    const mapped = Object.hasOwn(this.#map, name) ? (this.#map[name] ?? '') : name;
    if (mapped === '') return null;
    const own = this.#noun.aliases[mapped] ?? mapped;
    if (this.#noun.columns.some(({ path: [first] }) => first === own)) return own;
    return this.#noun.passedOver.has(own) || this.#isShown(own) ? null : undefined;
  }

  /** Objects of an export of which no part can be set. */
  #isShown(name: string): boolean {
    return [...this.#noun.passedOver].some((known) => known.startsWith(`${name}.`));
  }

  #unknown({ object, line }: SheetRow): RowFault[] {
    return Object.keys(object ?? {})
      .filter((name) => this.#memberOf(name) === undefined)
      .map((name) => ({ line, column: `member ${name}`, message: 'is not known' }));
  }

  #formulas({ cells, line }: SheetRow): RowFault[] {
    const faults: RowFault[] = [];
    for (const [index, column] of this.#columns.entries()) {
      if (!column || !isFormula(column, cells[index] ?? '')) continue;
      const message = "is a formula: save its value, or write '= before a text that begins so";
      faults.push({ line, column: placeOf(index, this.#header ?? []), message });
    }
    return faults;
  }

  /** Where in the file a member is. */
  place(field: string): string {
    if (this.#header === undefined) return `member ${field}`;
    const names = this.#columns.map((column) => column?.name);
    const parts = [field, ...prefixesOf(field)];
    const exact = parts.map((part) => names.indexOf(part)).find((index) => index >= 0);
    const index = exact ?? names.findIndex((name) => name?.startsWith(`${field}.`));
    if (index < 0) return `column ${field}`;
    const place = placeOf(index, this.#header);
    return this.#header[index] === names[index] ? place : `${place}, ${field}`;
  }

  #text({ code, field = '', message }: Detail): string {
    return code === 'required' && this.has(field) ? 'must not be empty' : message;
  }
}

/** Of `a.b.c` these: `a.b`, `a`. */
function prefixesOf(field: string): string[] {
  const parts = field.split('.');
  return parts.slice(1).map((_, index) => parts.slice(0, parts.length - 1 - index).join('.'));
}

export function textAt(body: JsonObject, name: string): string | undefined {
  const value: unknown = valueAt(body, [name]);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
