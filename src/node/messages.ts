// What the main process and its workers say to each other.

import type { AddressLimitName } from '../access/rate/address.ts';
import type { Pooling } from '../database/pooler.ts';
import type { BackupSight } from '../status/endpoints.ts';
import type { Measures } from './measures.ts';

/** What a worker serves by. */
export interface Charge {
  readonly workers: number;
  readonly databaseUrl: string;
  readonly secret: string;
  readonly port: number;
  readonly reads: number;
  /** As the main process found it at its start. A worker judges each connection all the same. */
  readonly pooling: Pooling;
}

/** What the main process knows, and each worker tells of. */
export interface Known {
  readonly linesLost: number;
  readonly backups: BackupSight | undefined;
}

export type ToWorker =
  | { readonly say: 'begin'; readonly charge: Charge; readonly known: Known }
  /** Be ready. */
  | { readonly say: 'serve' }
  /** Do what one process does for all. */
  | { readonly say: 'lead' }
  | { readonly say: 'know'; readonly known: Known }
  | { readonly say: 'counted'; readonly id: number; readonly wait: number | undefined }
  | { readonly say: 'measure' }
  | { readonly say: 'leave'; readonly isReplaced: boolean };

export type FromWorker =
  /** It hears what is said from now on. */
  | { readonly say: 'here' }
  | { readonly say: 'listening'; readonly url: string }
  | { readonly say: 'failed'; readonly reason: string; readonly isUsage: boolean }
  | {
      readonly say: 'count';
      readonly id: number;
      readonly limit: AddressLimitName;
      readonly address: string;
    }
  | { readonly say: 'measured'; readonly measured: Measures };
