// The form of a backup, which depends on no version of PostgreSQL. Compressed by gzip: one line
// of JSON, the manifest; then the rows of each of its tables in the text form of COPY, each table
// ended by a line `\.`, which no row can be; then one line of JSON, the trailer. Without the
// trailer a backup is not complete, and each of its sums has to agree.

import Type, { type Static } from 'typebox';
import { Check } from 'typebox/value';
import { cellName } from '../../core/cells.ts';
import type { Migration } from '../migrations.ts';

const formatName = 'tallybook-backup';
const formatVersion = 1;

export const endOfTable = Buffer.from('\\.\n');

/** A table, and the cell that it is in; a global one is in none. */
const placeShape = {
  name: Type.String(),
  cell: Type.Optional(Type.String({ pattern: cellName.source })),
};

const manifestShape = Type.Object({
  format: Type.Literal(formatName),
  format_version: Type.Literal(formatVersion),
  program_version: Type.String(),
  /** The moment of the snapshot, by the clock of the database. */
  created_at: Type.String(),
  schema_version: Type.Integer({ minimum: 1 }),
  migrations: Type.Array(
    Type.Object({ number: Type.Integer(), name: Type.String(), checksum: Type.String() }),
  ),
  tables: Type.Array(Type.Object({ ...placeShape, columns: Type.Array(Type.String()) })),
});

const trailerShape = Type.Object({
  tables: Type.Array(Type.Object({ ...placeShape, rows: Type.Integer(), sha256: Type.String() })),
  /** Of everything before the line of the trailer, uncompressed. */
  sha256: Type.String(),
});

export type Manifest = Static<typeof manifestShape>;
export type Trailer = Static<typeof trailerShape>;
export type TableSum = Trailer['tables'][number];

interface Place {
  readonly name: string;
  readonly cell?: string | undefined;
}

export const placed = ({ name, cell }: Place) => ({ name, ...(cell !== undefined && { cell }) });

export function newManifest(
  content: Omit<Manifest, 'format' | 'format_version' | 'schema_version'>,
): Manifest {
  const schema_version = content.migrations.length;
  return { format: formatName, format_version: formatVersion, schema_version, ...content };
}

export function lineOf(value: Manifest | Trailer): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

/** @throws Error when it is not the first line of a backup that this program can read. */
export function readManifest(line: string): Manifest {
  const found = parsed(line);
  const { format, format_version } = Object(found) as Record<string, unknown>;
  if (format !== formatName) throw new Error('this is not a backup of Tallybook');
  if (typeof format_version === 'number' && format_version > formatVersion) {
    throw new Error(
      `the backup has form ${format_version}, this program knows ${formatVersion}: run a newer one`,
    );
  }
  if (!Check(manifestShape, found)) throw damaged('its manifest cannot be read');
  return found;
}

export function readTrailer(line: string): Trailer {
  const found = parsed(line);
  if (!Check(trailerShape, found)) throw damaged('its trailer cannot be read');
  return found;
}

export function damaged(reason: string, cause?: unknown): Error {
  return new Error(`the backup is damaged: ${reason}. Nothing was restored`, { cause });
}

/** @throws Error when the schema of the backup is not one that this program can make. */
export function requireKnownSchema(
  { schema_version, migrations }: Manifest,
  known: readonly Migration[],
): void {
  if (schema_version > known.length) {
    throw new Error(
      `the backup is of schema version ${schema_version}, this program knows ${known.length}: ` +
        'restore it with a newer one',
    );
  }
  const other = migrations.find(({ number, checksum }) => known[number - 1]?.checksum !== checksum);
  if (other !== undefined || migrations.length !== schema_version) {
    const name = other?.name ?? 'migration';
    throw new Error(
      `the backup was taken of another schema, because its ${name} is not the one of this ` +
        'program: restore it with the program that made it',
    );
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
