// The life of a credential, as the operator leads it: made, shown, rotated, revoked, and given
// other locations or scopes. Every change counts from the next request on. A token exists in the
// answer that made it and nowhere else: only its hash is stored.

import { mintId } from '../../core/id.ts';
import type { MerchantId, Scope } from '../../core/principal.ts';
import { Problem } from '../../core/problem.ts';
import type { Reader, Statement, Writer } from '../../core/statement.ts';
import type { Deed } from '../audit/deed.ts';
import { kept, mintToken } from '../token.ts';
import { transact } from '../transact.ts';
import {
  type CredentialRecord,
  endOtherTokens,
  findCredential,
  findLocationIds,
  type Grant,
  insertCredential,
  insertNextToken,
  insertToken,
  listCredentials,
  lockLiveCredential,
  revokeCredential,
  setGrant,
  setScopes,
} from './credential-store.ts';
import { allRows } from './walk.ts';

/** The ways to the database that these functions take. */
export interface Access {
  readonly reader: Reader;
  readonly writer: Writer;
}

export type Credential = CredentialRecord;

/** A credential together with its new token, which nobody can show again. */
export interface IssuedCredential {
  readonly credential: Credential;
  readonly token: string;
}

/** All locations, those to come included, or exactly these, or (an empty list) none. */
export type Locations = 'all' | readonly string[];

/** @throws Problem not_found when a location is not one of the merchant's. */
export async function createCredential(
  access: Access,
  wanted: {
    readonly merchant: MerchantId;
    readonly name: string;
    readonly scopes: readonly Scope[];
    readonly locations: Locations;
    readonly lifeSeconds: number;
  },
): Promise<IssuedCredential> {
  const { merchant, name, scopes, locations, lifeSeconds } = wanted;
  const grant = await grantOf(access.reader, merchant, locations);
  const id = mintId('credential');
  const token = mintToken('pat');
  const stored = kept(token);
  const deed = { action: 'token.create', merchant_id: merchant, credential_id: id, name, scopes };
  await transact(access.writer, { ...deed, locations: locationsOf(grant) }, [
    insertCredential({ merchant, id, name, scopes, grant }),
    insertToken(merchant, id, stored, lifeSeconds),
  ]);
  return { credential: await credentialById(access.reader, id), token };
}

/** All credentials of a merchant, the oldest first. */
export function allCredentials(reader: Reader, merchant: MerchantId): AsyncGenerator<Credential> {
  return allRows(reader, (after, limit) => listCredentials(merchant, after, limit));
}

/** @throws Problem not_found */
export async function credentialById(reader: Reader, id: string): Promise<Credential> {
  const [credential] = await reader.query(findCredential(id));
  if (credential === undefined) throw notFound(`there is no credential ${id}`);
  return credential;
}

/**
 * A new token for the same credential, valid at once and for as long as the one before it was. The
 * ones before it end after the overlap, or earlier if they would have.
 * @throws Problem not_found when there is no such credential, or it is revoked.
 */
export async function rotateToken(
  access: Access,
  id: string,
  overlapSeconds: number,
): Promise<IssuedCredential> {
  const { merchant } = await changeable(access.reader, id);
  const token = mintToken('pat');
  const stored = kept(token);
  const deed = { action: 'token.rotate', merchant_id: merchant, credential_id: id };
  const [, inserted] = await transact(access.writer, { ...deed, overlap_seconds: overlapSeconds }, [
    lockLiveCredential(merchant, id),
    insertNextToken(merchant, id, stored),
    endOtherTokens(merchant, id, stored, overlapSeconds),
  ]);
  if (inserted?.length !== 1) throw await noEffect(access.reader, id);
  return { credential: await credentialById(access.reader, id), token };
}

/**
 * Ends a credential for good. Again, it changes nothing.
 * @throws Problem not_found
 */
export async function revoke(access: Access, id: string): Promise<Credential> {
  const { merchant } = await withToken(access.reader, id);
  const deed = { action: 'token.revoke', merchant_id: merchant, credential_id: id };
  const [revoked] = await transact(access.writer, deed, [revokeCredential(merchant, id)]);
  if (revoked?.length !== 1) throw await noEffect(access.reader, id);
  return credentialById(access.reader, id);
}

/**
 * Gives a credential these locations instead of those it has.
 * @throws Problem not_found when there is no such credential or location, or it is revoked.
 */
export async function changeLocations(
  access: Access,
  id: string,
  locations: Locations,
): Promise<Credential> {
  const { merchant } = await changeable(access.reader, id);
  const grant = await grantOf(access.reader, merchant, locations);
  const deed = { action: 'token.grant', merchant_id: merchant, credential_id: id };
  const told = { ...deed, locations: locationsOf(grant) };
  return change(access, id, told, setGrant(merchant, id, grant));
}

/**
 * Gives a credential these scopes instead of those it has.
 * @throws Problem not_found when there is no such credential, or it is revoked.
 */
export async function changeScopes(
  access: Access,
  id: string,
  scopes: readonly Scope[],
): Promise<Credential> {
  const { merchant } = await changeable(access.reader, id);
  const deed = { action: 'token.scope', merchant_id: merchant, credential_id: id, scopes };
  return change(access, id, deed, setScopes(merchant, id, scopes));
}

async function change(
  access: Access,
  id: string,
  deed: Deed,
  statement: Statement,
): Promise<Credential> {
  const [changed] = await transact(access.writer, deed, [statement]);
  if (changed?.length !== 1) throw await noEffect(access.reader, id);
  return credentialById(access.reader, id);
}

/** Why a change found nothing to change: most likely it was revoked a moment ago. */
async function noEffect(reader: Reader, id: string): Promise<Error> {
  await changeable(reader, id);
  return new Error(`${id} could not be changed: it has no token`);
}

/** A personal access token's credential that is not revoked. */
async function changeable(
  reader: Reader,
  id: string,
): Promise<{ merchant: MerchantId; credential: Credential }> {
  const { merchant, credential } = await withToken(reader, id);
  if (credential.revoked_at !== null) {
    throw notFound(`${id} was revoked at ${credential.revoked_at}: create another token`);
  }
  if (credential.kind !== 'personal_access_token') {
    throw notFound(`${id} is of an application: "tallybook app approve" says what it may do`);
  }
  return { merchant, credential };
}

/** A credential of somebody's, not the built-in one of the operator. */
async function withToken(
  reader: Reader,
  id: string,
): Promise<{ merchant: MerchantId; credential: Credential }> {
  const credential = await credentialById(reader, id);
  if (credential.is_operator) {
    throw notFound(`${id} is what commands act as: it has no token and cannot be changed`);
  }
  return { merchant: credential.merchant_id as MerchantId, credential };
}

/** The locations as they are kept. They are never deleted, so what is found here stays true. */
export async function grantOf(
  reader: Reader,
  merchant: MerchantId,
  locations: Locations,
): Promise<Grant> {
  if (locations === 'all') return { all: true, ids: [] };
  const found = await reader.query(findLocationIds(merchant, locations));
  const known = new Set(found.map(({ id }) => id));
  const unknown = locations.filter((id) => !known.has(id));
  if (unknown.length > 0) {
    throw notFound(`${merchant} has no location ${unknown.join(', ')}`);
  }
  return { all: false, ids: [...known].sort() };
}

/** A grant as people and the audit trail see it. */
export function locationsOf({ all, ids }: Grant): Locations {
  return all ? 'all' : ids;
}

function notFound(message: string): Problem {
  return new Problem('not_found', { message });
}
