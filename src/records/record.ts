// A resource whose records are created, changed by PATCH, listed and read: one declaration, from
// which its contracts, statements and endpoints take what they need.

import type { Static } from 'typebox';
import type {
  EitherEvent,
  EventType,
  OperationType,
  Resource,
  ResourceEvents,
} from '../contract/resource.ts';
import type { IdPrefix } from '../core/id.ts';
import type { ProblemCode } from '../core/problem.ts';
import {
  answer,
  type CreateBody,
  createBody,
  entriesOf,
  type Member,
  type Members,
  type PatchBody,
  patchBody,
  type Shown,
} from './members.ts';

/** A filter as the database compares it. */
export interface Comparison {
  readonly column: string;
  readonly keyOf: (filter: string) => string;
}

/** By its method, because methods are bivariant: a function of one kind of record fits any. */
type Compute<One> = { of(row: One): unknown }['of'];

interface Declaration<Name extends string, M extends Members, Hidden extends string> {
  /** Its paths, its table, its scopes and its operation types begin with this. */
  readonly name: Name;
  readonly noun: string;
  readonly prefix: IdPrefix;
  /** What the document says about the resource. */
  readonly description: string;
  /** The name and description of its schema. */
  readonly schema: { readonly $id: string; readonly description: string };
  readonly members: M;
  /** Columns that are computed when a record is saved, and shown nowhere. */
  readonly computed?: Readonly<Record<string, Compute<Static<Shown<M>>>>>;
  /** Filters that compare another column than the one of their name. */
  readonly comparisons?: Readonly<Record<string, Comparison>>;
  /** A merchant has few of them, so one plan serves lists with any filters. */
  readonly areFew?: boolean;
  /** Columns that are read and saved with a record, null at first, and shown nowhere. */
  readonly hidden?: readonly Hidden[];
  /** Further operation types, with their events: what only the operator does, by command. */
  readonly commands?: Readonly<Record<`${Name}.${string}`, EventType>>;
}

export interface RecordResource<
  Name extends string = string,
  M extends Members = Members,
  Hidden extends string = string,
> extends Resource,
    Required<Declaration<Name, M, Hidden>> {
  readonly name: Name;
  readonly scopes: readonly [`${Name}.read`, `${Name}.write`];
  readonly operationTypes: readonly OperationType[];
  readonly events: ResourceEvents;
  readonly createBody: CreateBody<M>;
  readonly patchBody: PatchBody<M>;
  readonly answer: Shown<M>;
  /** The members whose values are unique, with the codes that say so. */
  readonly unique: Readonly<Record<string, ProblemCode>>;
  /** What a member is after a PATCH with null. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** The first values of all members but those that are required, and of hidden columns. */
  readonly blank: Readonly<Record<string, unknown>>;
}

/** A record in memory: as answers show it, with its hidden columns. */
export type Row<R> =
  R extends RecordResource<string, infer M, infer H>
    ? Static<Shown<M>> & { readonly [Column in H]: string | null }
    : never;

export function record<
  const Name extends string,
  M extends Members,
  const Hidden extends string = never,
>(declaration: Declaration<Name, M, Hidden>): RecordResource<Name, M, Hidden> {
  const {
    name,
    prefix,
    members,
    schema,
    computed = {},
    comparisons = {},
    areFew = false,
    hidden = [],
    commands = {},
  } = declaration;
  const types = typesOf(declaration);
  const shown = answer(prefix, members, schema);
  const updates = [
    ...entriesOf(members).flatMap(([member, one]) => columnsOf(member, one)),
    ...['version', 'updated_at'],
    ...Object.keys(computed),
    ...hidden,
  ];
  const pick = (of: (member: Member) => unknown) =>
    Object.fromEntries(
      entriesOf(members).flatMap(([member, one]) => {
        const value = of(one);
        return value === undefined ? [] : [[member, value]];
      }),
    );
  return {
    ...declaration,
    computed,
    comparisons,
    areFew,
    hidden,
    commands: commands as RecordResource<Name, M, Hidden>['commands'],
    path: `/${name}/{id}`,
    scopes: [`${name}.read`, `${name}.write`],
    operationTypes: Object.keys(types) as OperationType[],
    events: { types, data: shown },
    tables: [{ name, updates }],
    example: { ...pick(({ example }) => example), version: 2 },
    createBody: createBody(members),
    patchBody: patchBody(members),
    answer: shown,
    unique: pick(({ unique }) => unique) as Record<string, ProblemCode>,
    defaults: pick(({ presence, initial }) => (presence === 'defaulted' ? initial : undefined)),
    blank: {
      ...pick(({ initial }) => initial),
      ...Object.fromEntries(hidden.map((column) => [column, null])),
    },
  };
}

function typesOf({
  name,
  noun,
  commands,
}: Pick<Declaration<string, Members, string>, 'name' | 'noun' | 'commands'>) {
  const [created, changed] = [`${noun}.created`, `${noun}.updated`] as const;
  const types: Readonly<Record<OperationType, EventType | EitherEvent>> = {
    [`${name}.create`]: created,
    [`${name}.update`]: changed,
    [`${name}.upsert`]: { created, changed },
    ...commands,
  };
  return types;
}

/** The columns of a member. */
export const columnsOf = (name: string, { columns }: Member): string[] =>
  columns === undefined ? [name] : Object.values(columns);
