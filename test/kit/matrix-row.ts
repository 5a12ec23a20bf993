// What a row of the matrix of access says, and words that several rows share.

import type { Scope } from '../../src/core/principal.ts';

/** A status with its error code; `none`: a list without entries. */
export type Outcome =
  | '200'
  | '200 none'
  | '201'
  | '400 invalid_cursor'
  | '403 insufficient_scope'
  | '403 location_not_granted'
  | '404 not_found'
  | '422 product_not_found';

export interface Row {
  /** Below /api/v1. */
  readonly route: string;
  readonly scope: Scope | null;
  /** The valid request, by a credential with all scopes and all locations. */
  readonly ok: '200' | '201';
  /** With the scope of the route any of these sets shows what others did, or lets one give it. */
  readonly shown?: { readonly withAny: readonly (readonly Scope[])[]; readonly otherwise: Outcome };
  /** The same request by a credential with the location it is about, another one, or none. */
  readonly granted: { readonly asked: Outcome; readonly another: Outcome; readonly none: Outcome };
  /** It shows what is at the granted locations, and at no other. */
  readonly showsGranted?: true;
  /**
   * What belongs to another merchant, in each place of the request that can name it. An ID that
   * nobody has is answered in the same words. 20x: the names of merchants do not meet.
   */
  readonly foreign: Readonly<Record<string, Outcome>>;
}

export const key = 'header.idempotency-key';
export const everywhere = (ok: '200' | '201') => ({ asked: ok, another: ok, none: ok }) as const;
export const asked = (ok: '200' | '201', otherwise: Outcome) =>
  ({ asked: ok, another: otherwise, none: otherwise }) as const;
export const cursor = { 'query.cursor': '400 invalid_cursor' } as const;

/** Where people sign in. Below `/console` there is every route of the version as well. */
export const sessionPaths: readonly string[] = [
  '/console/session',
  '/console/session/invitation',
  '/console/session/accept',
  '/console/session/end',
  '/console/session/passkey',
  '/console/session/passkey/challenge',
];

/** The page of the console has any address below its own, and leads there from the root. */
export const consolePaths: readonly string[] = ['/', '/console/*'];
