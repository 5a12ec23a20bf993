// What a client process is told, and what it answers.

import type { CredentialName } from '../history.ts';

export interface ClientToken {
  readonly name: CredentialName;
  readonly token: string;
  readonly generation: number;
}

export interface ClientSetup {
  readonly client: number;
  readonly seed: number;
  /** Where the nodes are, on 127.0.0.1. */
  readonly ports: readonly number[];
  readonly products: readonly string[];
  /** Products that only transfers move, between the locations. */
  readonly crates: readonly string[];
  /** Products that counts and transfers move, and of which something is put aside. */
  readonly goods: readonly string[];
  readonly locations: readonly string[];
  /** A location that is shut and opened again and again. */
  readonly booth: string;
  readonly foreign: { readonly product: string; readonly location: string };
  readonly tokens: readonly ClientToken[];
  /** A file to append the history to. */
  readonly history: string;
}

export type Order =
  | { readonly kind: 'begin'; readonly setup: ClientSetup }
  | { readonly kind: 'token'; readonly token: ClientToken }
  /** Begin nothing new, and see what is begun to its end. */
  | { readonly kind: 'drain' }
  /** Send so many of the keys of the past again. */
  | { readonly kind: 'replay'; readonly count: number }
  | { readonly kind: 'quit' };

export type Report = 'drained' | 'replayed';
