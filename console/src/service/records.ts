// Records that a form shows: their fields as texts, and a change that somebody has begun.

import type { ChangeOptions, WriteOptions } from '@tallybook/client';

/** By the names of the fields; empty: the record has none. */
export type Values = Readonly<Record<string, string>>;

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly description?: string;
  readonly isRequired?: boolean;
  readonly kind?: 'text' | 'email' | 'tel' | 'note';
  /** Only one of these. */
  readonly options?: readonly { readonly value: string; readonly label: string }[];
  /** A new record does not have it yet. */
  readonly isLater?: boolean;
}

export interface Versioned {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly updated_at: string;
}

type Done<Row> = PromiseLike<{ readonly data: Row }>;

export interface RecordKind<Row extends Versioned> {
  /** The first element of the keys of its queries. */
  readonly key: string;
  readonly newTitle: string;
  readonly fields: readonly Field[];
  readonly empty: Values;
  valuesOf(row: Row): Values;
  read(id: string): Done<Row>;
  create(values: Values, options: WriteOptions): Done<Row>;
  /** Only what is named is changed. */
  update(id: string, changes: Values, options: ChangeOptions): Done<Row>;
}

/** What somebody has begun: where it began, and what it is to become. */
export interface Begun {
  readonly version: number;
  readonly base: Values;
  readonly typed: Values;
}

export function changesOf({ base, typed }: Begun): Values {
  return Object.fromEntries(
    Object.entries(typed)
      .map(([name, value]) => [name, value.trim()] as const)
      .filter(([name, value]) => value !== base[name]),
  );
}

/** The same change of what the record is now. */
export function rebased(begun: Begun, version: number, now: Values): Begun {
  return { version, base: now, typed: { ...now, ...changesOf(begun) } };
}

/** The fields that somebody else has changed meanwhile, or that are changed here. */
export function differing(begun: Begun, now: Values, fields: readonly Field[]): readonly Field[] {
  const changes = changesOf(begun);
  return fields.filter(({ name }) => now[name] !== begun.base[name] || name in changes);
}

export const orNull = (value: string | undefined): string | null =>
  value === undefined || value.trim() === '' ? null : value.trim();
