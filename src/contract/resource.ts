// What a domain declares once about what it keeps. Everything central reads it: the prefixes of
// IDs, the scopes, the operation types, the rights of the service's role, the tables of a backup,
// the tags and examples of the document, and the generic tests.

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
  /** The types of the operations that write it. */
  readonly operationTypes: readonly OperationType[];
  readonly tables: readonly ResourceTable[];
  /** Members as they look in the document's examples, where their schemas have none. */
  readonly example: Readonly<Record<string, unknown>>;
  /** Examples of the `details` of refusals that only its writes give. */
  readonly refusalDetails?: { readonly [C in ProblemCode]?: readonly Detail[] };
}

/** A write, by the name that its operation record carries. */
export type OperationType = `${string}.${string}`;

/** A table that the service reads and adds rows to, and that each backup holds. */
export interface ResourceTable {
  readonly name: string;
  /** The columns that the service may change. */
  readonly updates: readonly string[];
}
