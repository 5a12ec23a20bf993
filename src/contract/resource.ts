// What a domain declares once about what it keeps. Everything central reads it: the prefixes of
// IDs, the scopes, the operation types, the rights of the service's role, the tables of a backup,
// the tags and examples of the document, and the generic tests.

import type { TSchema } from 'typebox';
import type { IdPrefix } from '../core/id.ts';
import type { Scope } from '../core/principal.ts';
import type { Detail, ProblemCode } from '../core/problem.ts';

export interface Resource {
  /** The first segment of its paths, and its tag in the document. */
  readonly name: string;
  /** What the document says of it. */
  readonly description: string;
  /** What an operation record calls one of it. */
  readonly noun: string;
  readonly prefix: IdPrefix;
  /** The path of one of it, for the Location header. */
  readonly path: string;
  readonly scopes: readonly Scope[];
  /** What reads it, when that is not the scope that has its name. */
  readonly readBy?: Scope;
  /** The types of the operations that write it. */
  readonly operationTypes: readonly OperationType[];
  /** What the feed shows of them. Absent: nothing. */
  readonly events?: ResourceEvents;
  readonly tables: readonly ResourceTable[];
  /** Members as they look in the document's examples, where their schemas have none. */
  readonly example: Readonly<Record<string, unknown>>;
  /** Examples of the `details` of refusals that only its writes give. */
  readonly refusalDetails?: { readonly [C in ProblemCode]?: readonly Detail[] };
}

/** A write, by the name that its operation record carries. */
export type OperationType = `${string}.${string}`;

export type EventType = `${string}.${string}`;

export interface ResourceEvents {
  /** What an operation is called in the feed, by its own type. Without a name it is not there. */
  readonly types: Readonly<Record<OperationType, EventType | EitherEvent>>;
  /** What the feed shows beside: the record as it is, or the movements of the operation. */
  readonly data: TSchema;
  /** They are about the movements of the operation, and happened where these are. */
  readonly areMovements?: true;
}

/** Of a type that creates its resource or changes it. */
export interface EitherEvent {
  readonly created: EventType;
  readonly changed: EventType;
}

/** What an operation may be in the feed. */
export interface EventKind {
  readonly operation: OperationType;
  /** It is this when it did, or did not, create its resource; undefined: in either case. */
  readonly created: boolean | undefined;
  readonly event: EventType;
}

export function eventKindsOf({ events }: Resource): EventKind[] {
  return Object.entries(events?.types ?? {}).flatMap(([type, name]): EventKind[] => {
    const operation = type as OperationType;
    if (typeof name === 'string') return [{ operation, created: undefined, event: name }];
    return [
      { operation, created: true, event: name.created },
      { operation, created: false, event: name.changed },
    ];
  });
}

export const readScopeOf = ({ name, readBy }: Resource): Scope => readBy ?? `${name}.read`;

/** Whether operations of a type that change something have a position: if the feed shows them. */
export const isJournaled = ({ events }: Resource, type: OperationType): boolean =>
  events?.types[type] !== undefined;

/** A table that the service reads and adds rows to, and that each backup holds. */
export interface ResourceTable {
  readonly name: string;
  /** The columns that the service may change. */
  readonly updates: readonly string[];
}
