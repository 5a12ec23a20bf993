// What a person may grant to an application: what both he and the approval of the operator may do.
// Read anew each time, so that what has been taken away since the proof counts.

import { limits } from '../../core/limits.ts';
import type { MerchantId } from '../../core/principal.ts';
import { Problem } from '../../core/problem.ts';
import type { Reader } from '../../core/statement.ts';
import type { Grant } from '../operator/credential-store.ts';
import { grantOf } from '../operator/credentials.ts';
import { type Asked, choosePage, type Page } from './page.ts';
import {
  findApprovalAt,
  findGiver,
  findNamedLocations,
  type Giver,
  type LiveApprovalReach,
} from './store.ts';

/** All that is kept of the token that a person has shown: its hash, in hexadecimal. */
export type Proof = { readonly token_hash: string };

export interface Standing {
  readonly giver: Giver;
  readonly approval: LiveApprovalReach;
  readonly tokenHash: Buffer;
}

/** Why a person cannot grant what is asked: for the trail, and for himself. */
export interface Refusal {
  readonly denied:
    | 'invalid_token'
    | 'unauthorized_client'
    | 'insufficient_scope'
    | 'location_not_granted';
  readonly fault: string;
}

export const notValid: Refusal = { denied: 'invalid_token', fault: 'This token is not valid.' };

/** Who stands behind a proof and what the application may do there, or why that is not enough. */
export async function findStanding(
  reader: Reader,
  asked: Asked,
  application: string,
  proof: Proof,
): Promise<Standing | Refusal> {
  const tokenHash = Buffer.from(proof.token_hash, 'hex');
  const [giver] = await reader.query(findGiver(tokenHash));
  if (giver === undefined) return notValid;
  const [approval] = await reader.query(findApprovalAt(application, giver.merchant_id));
  if (approval === undefined) {
    const fault = `${asked.application} is not approved at ${giver.merchant_name}.`;
    return { denied: 'unauthorized_client', fault };
  }
  const missing = (held: readonly string[]) => asked.scopes.filter((one) => !held.includes(one));
  const unapproved = missing(approval.scopes);
  if (unapproved.length > 0) {
    const fault = `${asked.application} is not approved there for ${unapproved.join(', ')}.`;
    return { denied: 'insufficient_scope', fault };
  }
  const lacking = missing(giver.scopes).join(', ');
  if (lacking !== '') {
    const fault = `You cannot grant what you do not hold: your token lacks ${lacking}.`;
    return { denied: 'insufficient_scope', fault };
  }
  return { giver, approval, tokenHash };
}

/** The page on which the person chooses among the locations he may grant. */
export async function choicesOf(
  reader: Reader,
  asked: Asked,
  { giver, approval }: Standing,
): Promise<Page> {
  const isAll = giver.all_locations && approval.all_locations;
  const ids = isAll ? null : commonIds(giver, approval);
  const named = await reader.query(
    findNamedLocations(giver.merchant_id, ids, limits.consentLocationsMax),
  );
  const wanted = new Set(asked.locations?.split(' '));
  const choices = named.map(({ id, name }) => ({ id, name, isChosen: wanted.has(id) }));
  const all = isAll ? { isChosen: wanted.has('all') } : undefined;
  return choosePage(asked, giver.merchant_name, choices, all);
}

/** What he chose, as it is kept; undefined when one of it is not his to grant. */
export async function grantFor(
  reader: Reader,
  { giver, approval }: Standing,
  locations: readonly string[],
): Promise<Grant | undefined> {
  const isAll = giver.all_locations && approval.all_locations;
  if (locations.includes('all')) return isAll ? { all: true, ids: [] } : undefined;
  const granted = isAll ? locations : commonIds(giver, approval);
  if (!locations.every((id) => granted.includes(id))) return undefined;
  try {
    return await grantOf(reader, giver.merchant_id as MerchantId, locations);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** The locations that both reach, where at least one of them names its own. */
function commonIds(one: Giver, other: LiveApprovalReach): readonly string[] {
  if (one.all_locations) return other.location_ids;
  if (other.all_locations) return one.location_ids;
  return one.location_ids.filter((id) => other.location_ids.includes(id));
}
