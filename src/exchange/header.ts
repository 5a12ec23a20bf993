// Which column of a file is which member: by its name, or as the caller says.

import type { Column } from './columns.ts';
import type { RowFault } from './fault.ts';
import type { Noun } from './nouns.ts';

/** From a name in the file to a column; an empty one is passed over. */
export type ColumnMap = Readonly<Record<string, string>>;

/** A pair of metadata. */
const pairOf = /^metadata\.(.{1,40})$/u;

/** The column that a name of the file stands for; `null` is passed over; undefined is unknown. */
export function columnNamed(noun: Noun, map: ColumnMap, name: string): Column | null | undefined {
  const mapped = Object.hasOwn(map, name) ? (map[name] ?? '') : name.trim();
  if (mapped === '') return Object.hasOwn(map, name) ? null : undefined;
  const own = noun.aliases[mapped] ?? mapped;
  const found = noun.columns.find((column) => column.name === own);
  if (found !== undefined) return found;
  if (noun.passedOver.has(own)) return null;
  const [, key] = pairOf.exec(own) ?? [];
  const hasMetadata = noun.columns.some((column) => column.name === 'metadata');
  if (key === undefined || !hasMetadata) return undefined;
  return { name: own, path: ['metadata', key], kind: 'text', isFree: true };
}

/** Everything that is wrong with the first line of a file. */
export function headerFaults(noun: Noun, map: ColumnMap, names: readonly string[]): RowFault[] {
  const first = new Map<string, number>();
  const faults = names.flatMap((name, index): RowFault[] => {
    const place = {
      line: 1,
      column: `column ${index + 1}${name === '' ? '' : ` (${shortened(name)})`}`,
    };
    const column = columnNamed(noun, map, name);
    if (column === undefined) return [{ ...place, message: unknownText(noun, name) }];
    if (column === null) return [];
    const before = first.get(column.name);
    if (before !== undefined) {
      return [{ ...place, message: `is ${column.name}, as column ${before} is` }];
    }
    first.set(column.name, index + 1);
    return [];
  });
  const unmapped = Object.keys(map).filter((name) => !names.includes(name));
  for (const name of unmapped) {
    faults.push({ line: 1, column: '', message: `--map names "${name}", which is no column` });
  }
  return [...faults, ...missingFaults(noun, first)];
}

function missingFaults(noun: Noun, found: ReadonlyMap<string, number>): RowFault[] {
  const missing = noun.name === 'counts' && !found.has('counted_quantity');
  const finders = noun.finders.filter((name) => found.has(name));
  const faults: RowFault[] = [];
  if (missing) {
    faults.push({ line: 1, column: '', message: 'the column counted_quantity is missing' });
  }
  if (finders.length === 0 && noun.name === 'counts') {
    const message = `a column is missing that names the product: ${noun.finders.join(' or ')}`;
    faults.push({ line: 1, column: '', message });
  }
  return faults;
}

function unknownText(noun: Noun, name: string): string {
  if (name.trim() === '') return 'has no name';
  const known = noun.columns.map((column) => column.name).join(', ');
  const hint = `--map "${name}=sku" says what it is, --map "${name}=" leaves it out`;
  return `is not known; known are ${known}. ${hint}`;
}

const shortened = (name: string) => (name.length <= 60 ? name : `${name.slice(0, 60)}…`);
