// The members of a record, each declared once. The bodies of POST and PATCH, the answer, their
// types and the columns all follow from a declaration.

import Type, {
  type Static,
  type TInteger,
  type TNull,
  type TObject,
  type TOptional,
  type TSchema,
  type TString,
  type TUnion,
} from 'typebox';
import {
  type Defaulted,
  ExternalId,
  id,
  Metadata,
  MetadataPatch,
  nullable,
  oneOf,
  Timestamp,
  Version,
  defaulted as withDefault,
} from '../contract/schema.ts';
import type { IdPrefix } from '../core/id.ts';
import type { ProblemCode } from '../core/problem.ts';

/**
 * - `required`: sent on a create, never null.
 * - `optional`: null unless sent.
 * - `defaulted`: its default unless sent; null in a PATCH restores the default.
 * - `state`: set by PATCH only; a create gives it its first value.
 */
type Presence = 'required' | 'optional' | 'defaulted' | 'state';

interface Options {
  /** How answers describe it: a text, or a schema when a text is not enough. */
  readonly shown?: string | TSchema;
  readonly example?: unknown;
  /** No two records of a merchant may have the same: the code that says so. */
  readonly unique?: ProblemCode;
  /** Its text may be so long that a page of it has to be cut. */
  readonly isLarge?: true;
  /** Its text is in a numeric column. */
  readonly isQuantity?: true;
  /** The columns of its parts, when it has several. A text may be in a numeric column. */
  readonly columns?: Readonly<Record<string, string>>;
}

export interface Member<
  Sent extends TSchema = TSchema,
  P extends Presence = Presence,
  Patch extends TSchema = TSchema,
> extends Options {
  readonly presence: P;
  readonly sent: Sent;
  /** The same in a PATCH. */
  readonly patch: Patch;
  readonly initial: unknown;
}

export type Members = Readonly<Record<string, Member>>;

export const required = <S extends TSchema>(sent: S, options: Options = {}) =>
  member('required', sent, sent, undefined, options);

export const optional = <S extends TSchema>(sent: S, options: Options = {}) =>
  member('optional', sent, sent, null, options);

export const defaulted = <S extends TSchema>(sent: S, value: Static<S>, options: Options = {}) =>
  member('defaulted', sent, sent, value, options);

/** One of some words. A create gives it the first one. */
export const state = <const W extends string>(words: readonly [W, ...W[]], description: string) => {
  const schema = oneOf<W>(words, description);
  return member('state', schema, schema, words[0], {});
};

function member<S extends TSchema, P extends Presence, Q extends TSchema>(
  presence: P,
  sent: S,
  patch: Q,
  initial: unknown,
  options: Options,
): Member<S, P, Q> {
  return { ...options, presence, sent, patch, initial };
}

export const externalId = optional(ExternalId, {
  shown: "The ID in the caller's own system.",
  example: 'shop-1042',
  unique: 'external_id_taken',
});

/** In a PATCH it merges per key. */
export const metadata = member(
  'defaulted',
  Metadata,
  MetadataPatch,
  {},
  {
    example: { channel: 'web' },
  },
);

export type CreateBody<M extends Members> = TObject<{
  [Name in keyof M as M[Name]['presence'] extends 'state' ? never : Name]: M[Name] extends Member<
    infer S,
    infer P
  >
    ? {
        required: S;
        optional: TOptional<TUnion<[S, TNull]>>;
        defaulted: TOptional<Defaulted<S>>;
      }[Exclude<P, 'state'>]
    : never;
}>;

export type PatchBody<M extends Members> = TObject<{
  [Name in keyof M]: M[Name] extends Member<TSchema, infer P, infer Q>
    ? TOptional<P extends 'required' | 'state' ? Q : TUnion<[Q, TNull]>>
    : never;
}>;

export type Shown<M extends Members> = TObject<
  { id: TString } & {
    [Name in keyof M]: M[Name] extends Member<infer S, infer P>
      ? P extends 'optional'
        ? TUnion<[S, TNull]>
        : S
      : never;
  } & { version: TInteger; created_at: TString; updated_at: TString }
>;

export function createBody<M extends Members>(members: M): CreateBody<M> {
  const body = entriesOf(members).flatMap(([name, { presence, sent, initial }]) => {
    if (presence === 'state') return [];
    if (presence === 'required') return [[name, sent]];
    const isNull = initial === null;
    return [[name, Type.Optional(isNull ? nullable(sent) : withDefault(sent, initial))]];
  });
  return Type.Object(Object.fromEntries(body)) as unknown as CreateBody<M>;
}

export function patchBody<M extends Members>(members: M): PatchBody<M> {
  const body = entriesOf(members).map(([name, { presence, patch }]) => {
    const isKept = presence === 'required' || presence === 'state';
    return [name, Type.Optional(isKept ? patch : nullable(patch))];
  });
  return Type.Object(Object.fromEntries(body)) as unknown as PatchBody<M>;
}

export function answer<M extends Members>(
  prefix: IdPrefix,
  members: M,
  options: { readonly $id: string; readonly description: string },
): Shown<M> {
  const shown = entriesOf(members).map(([name, one]) => {
    const schema = shownSchema(one);
    return [name, one.presence === 'optional' ? nullable(schema) : schema];
  });
  const properties = {
    id: id(prefix, 'Its ID.'),
    ...Object.fromEntries(shown),
    version: Version,
    created_at: Timestamp('When it was created.'),
    updated_at: Timestamp('When it last changed.'),
  };
  return Type.Object(properties, options) as unknown as Shown<M>;
}

function shownSchema({ shown, sent }: Member): TSchema {
  if (shown === undefined) return sent;
  return typeof shown === 'string' ? Type.String({ description: shown }) : shown;
}

export const entriesOf = (members: Members): [string, Member][] => Object.entries(members);
