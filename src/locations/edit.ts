// The rules of creating and changing a location.

import type { Command, Decision } from '../core/endpoint.ts';
import { mintId } from '../core/id.ts';
import {
  accept,
  type Drafts,
  draftOf,
  type Edit,
  type Editable,
  firstVersion,
  type Metadata,
  type Patch,
  refusalByVersion,
  revise,
} from '../core/revision.ts';
import { defaults } from './contract.ts';

/** The body of a create, normalised. */
export interface LocationFields {
  readonly name: string;
  readonly code: string | null;
  readonly type: string;
  readonly timezone: string;
  readonly external_id: string | null;
  readonly metadata: Metadata;
}

export interface LocationRow extends LocationFields, Editable {
  readonly code: string | null;
  readonly status: string;
}

export type LocationPatch = Patch<LocationFields & Pick<LocationRow, 'status'>>;

export function decideCreate(
  drafts: Drafts<LocationRow>,
  { body }: Command<LocationFields>,
  now: string,
): Decision<Edit<LocationRow>> {
  const fields = { ...body, status: 'active' };
  return accept(drafts, undefined, firstVersion(mintId('location'), fields, now));
}

export function decideUpdate(
  drafts: Drafts<LocationRow>,
  command: Command<LocationPatch>,
  now: string,
): Decision<Edit<LocationRow>> {
  const row = draftOf(drafts, command);
  return (
    refusalByVersion(row, command.ifMatch) ??
    accept(drafts, row, revise(row, command.body, defaults, now))
  );
}
