// What a person may grant to an application: what both they and the operator's approval may do. It
// is read again each time, so that a right removed since the first page is gone.

import type { LocationGrant } from '../../access/operator/credential-store.ts';
import { grantOf } from '../../access/operator/credentials.ts';
import { limits } from '../../core/limits.ts';
import { Problem } from '../../core/problem.ts';
import type { Reader } from '../../core/statement.ts';
import type { HtmlPage } from '../../http/html.ts';
import { type ConsentRequest, choosePage } from './pages.ts';
import {
  type ApprovalPermissions,
  findApprovalAt,
  findGiver,
  findNamedLocations,
  type Giver,
} from './store.ts';

/** What shows who somebody is. */
export interface Proof {
  /** Of the token that was entered, or of the session. */
  readonly tokenHash: Buffer;
  /** Of a session: what ties the form to it and to this request. */
  readonly binding?: string;
}

/** What a consent depends on. */
export interface ConsentBasis {
  readonly giver: Giver;
  readonly approval: ApprovalPermissions;
  readonly proof: Proof;
}

/** Why a person cannot grant what is asked: a code for the audit trail, a text for the person. */
export interface ConsentDenial {
  readonly denied:
    | 'invalid_token'
    | 'unauthorized_client'
    | 'insufficient_scope'
    | 'location_not_granted';
  readonly fault: string;
}

export const notValid: ConsentDenial = {
  denied: 'invalid_token',
  fault: 'This token is not valid.',
};

const notSignedIn: ConsentDenial = {
  denied: 'invalid_token',
  fault: 'You are no longer signed in.',
};

/** The token shown and the approval at its merchant, or why they are not enough. */
export async function findBasis(
  reader: Reader,
  asked: ConsentRequest,
  application: string,
  proof: Proof,
): Promise<ConsentBasis | ConsentDenial> {
  const [giver] = await reader.query(findGiver(proof.tokenHash));
  if (giver === undefined) return proof.binding === undefined ? notValid : notSignedIn;
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
    const fault = `You cannot grant what you do not hold: ${giver.name} lacks ${lacking}.`;
    return { denied: 'insufficient_scope', fault };
  }
  return { giver, approval, proof };
}

/** The connections to what is of a merchant. */
interface InCells {
  inCell(cell: string): { readonly reader: Reader };
}

/** The page on which the person chooses among the locations that they may grant. */
export async function choicesOf(
  database: InCells,
  asked: ConsentRequest,
  { giver, approval, proof }: ConsentBasis,
): Promise<HtmlPage> {
  const isAll = giver.all_locations && approval.all_locations;
  const ids = isAll ? null : commonIds(giver, approval);
  const named = await database
    .inCell(giver.cell)
    .reader.query(findNamedLocations(giver.merchant_id, ids, limits.consentLocationsMax));
  const wanted = new Set(asked.locations?.split(' '));
  const choices = named.map((one) => ({ ...one, isChosen: wanted.has(one.id) }));
  const all = isAll ? { isChosen: wanted.has('all') } : undefined;
  const { merchant_name: merchant, name, role } = giver;
  const { binding } = proof;
  const person = role === null || binding === undefined ? undefined : { name, binding };
  return choosePage(asked, { merchant, choices, all, person });
}

/** The chosen locations as they are kept; undefined when the person may not grant one of them. */
export async function grantFor(
  database: InCells,
  { giver, approval }: ConsentBasis,
  locations: readonly string[],
): Promise<LocationGrant | undefined> {
  const isAll = giver.all_locations && approval.all_locations;
  if (locations.includes('all')) return isAll ? { all: true, ids: [] } : undefined;
  const granted = isAll ? locations : commonIds(giver, approval);
  if (!locations.every((id) => granted.includes(id))) return undefined;
  try {
    const { reader } = database.inCell(giver.cell);
    return await grantOf(reader, giver.merchant_id, locations);
  } catch (error) {
    if (error instanceof Problem) return undefined;
    throw error;
  }
}

/** The locations of both, when at least one of them is limited to some. */
function commonIds(one: Giver, other: ApprovalPermissions): readonly string[] {
  if (one.all_locations) return other.location_ids;
  if (other.all_locations) return one.location_ids;
  return one.location_ids.filter((id) => other.location_ids.includes(id));
}
