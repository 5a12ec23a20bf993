// The rules of creating and changing a customer. An erased one never changes again.

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
  refuse,
  revise,
} from '../core/revision.ts';
import { defaults } from './contract.ts';

/** The body of a create, normalised. */
export interface CustomerFields {
  readonly name: string;
  readonly email: string;
  readonly phone: string | null;
  readonly external_id: string | null;
  readonly note: string | null;
  readonly metadata: Metadata;
}

export interface CustomerRow extends CustomerFields, Editable {
  readonly status: string;
  readonly erased_at: string | null;
}

export type CustomerPatch = Patch<CustomerFields & Pick<CustomerRow, 'status'>>;

export function decideCreate(
  drafts: Drafts<CustomerRow>,
  { body }: Command<CustomerFields>,
  now: string,
): Decision<Edit<CustomerRow>> {
  const fields = { ...body, status: 'active', erased_at: null };
  return accept(drafts, undefined, firstVersion(mintId('customer'), fields, now));
}

export function decideUpdate(
  drafts: Drafts<CustomerRow>,
  command: Command<CustomerPatch>,
  now: string,
): Decision<Edit<CustomerRow>> {
  const row = draftOf(drafts, command);
  if (row.erased_at !== null) return refuse('resource_erased');
  return (
    refusalByVersion(row, command.ifMatch) ??
    accept(drafts, row, revise(row, command.body, defaults, now))
  );
}
