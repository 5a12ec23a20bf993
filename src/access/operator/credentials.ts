// Credentials: the operator creates, shows, rotates and revokes them, and changes their locations
// and scopes. Every change counts from the next request on. A token is only in the answer that
// created it: the database has only its hash.

import { mintId } from '../../core/id.ts';
import type { MerchantId, Scope } from '../../core/principal.ts';
import { Problem } from '../../core/problem.ts';
import type { Reader, Statement } from '../../core/statement.ts';
import type { AuditEntry } from '../audit/store.ts';
import { kept, mintToken } from '../token.ts';
import { type Connections, transact } from '../transact.ts';
import { allRows } from './all-rows.ts';
import {
  type CredentialRecord,
  endOtherTokens,
  findCredential,
  findLocationIds,
  insertCredential,
  insertNextToken,
  insertToken,
  type LocationGrant,
  listCredentials,
  listEndingCredentials,
  lockLiveCredential,
  revokeCredential,
  setGrant,
  setScopes,
} from './credential-store.ts';
import { atMerchant } from './merchants.ts';

export type Credential = CredentialRecord;

/** A credential with its new token, which cannot be shown again. */
export interface IssuedCredential {
  readonly credential: Credential;
  readonly token: string;
}

/** All locations, those to come included, or exactly these, or (an empty list) none. */
export type Locations = 'all' | readonly string[];

/** @throws Problem not_found when a location is not one of the merchant's. */
export async function createCredential(
  access: Connections,
  wanted: {
    readonly merchant: MerchantId;
    readonly name: string;
    readonly scopes: readonly Scope[];
    readonly locations: Locations;
    readonly lifeSeconds: number;
  },
): Promise<IssuedCredential> {
  const { merchant, name, scopes, locations, lifeSeconds } = wanted;
  const grant = await grantAt(access, merchant, locations);
  const id = mintId('cred_');
  const token = mintToken('pat');
  const stored = kept(token);
  const entry = { action: 'token.create', merchant_id: merchant, credential_id: id, name, scopes };
  await transact(access.writer, { ...entry, locations: locationsOf(grant) }, [
    insertCredential({ merchant, id, name, scopes, grant }),
    insertToken(merchant, id, stored, lifeSeconds),
  ]);
  return { credential: await credentialById(access.reader, id), token };
}

/** All credentials of a merchant, the oldest first. */
export function allCredentials(reader: Reader, merchant: MerchantId): AsyncGenerator<Credential> {
  return allRows(reader, (after, limit) => listCredentials(merchant, after, limit));
}

/** Personal access tokens that end within so many seconds, or ended within so many ago. */
export function endingCredentials(
  reader: Reader,
  merchant: MerchantId,
  withinSeconds: number,
): Promise<readonly Credential[]> {
  return reader.query(listEndingCredentials(merchant, withinSeconds));
}

/** @throws Problem not_found */
export async function credentialById(reader: Reader, id: string): Promise<Credential> {
  const [credential] = await reader.query(findCredential(id));
  if (credential === undefined) throw notFound(`there is no credential ${id}`);
  return credential;
}

/**
 * A new token for the same credential, valid at once and as long as the token before it was. The
 * tokens before it end after the overlap, or earlier when their own time is over.
 * @throws Problem not_found when there is no such credential, or it is revoked.
 */
export async function rotateToken(
  access: Connections,
  id: string,
  overlapSeconds: number,
): Promise<IssuedCredential> {
  const { merchant } = await changeable(access.reader, id);
  const token = mintToken('pat');
  const stored = kept(token);
  const entry = { action: 'token.rotate', merchant_id: merchant, credential_id: id };
  const [, inserted] = await transact(
    access.writer,
    { ...entry, overlap_seconds: overlapSeconds },
    [
      lockLiveCredential(merchant, id),
      insertNextToken(merchant, id, stored),
      endOtherTokens(merchant, id, stored, overlapSeconds),
    ],
  );
  if (inserted?.length !== 1) throw await noEffect(access.reader, id);
  return { credential: await credentialById(access.reader, id), token };
}

/**
 * Ends a credential for good. When it has ended already, nothing changes and no line is written.
 * @throws Problem not_found
 */
export async function revoke(access: Connections, id: string): Promise<Credential> {
  const { merchant, credential } = await withToken(access.reader, id);
  if (credential.revoked_at !== null) return credential;
  const entry = { action: 'token.revoke', merchant_id: merchant, credential_id: id };
  const [revoked] = await transact(access.writer, entry, [revokeCredential(merchant, id)]);
  if (revoked?.length !== 1) throw await noEffect(access.reader, id);
  return credentialById(access.reader, id);
}

/**
 * Gives a credential these locations instead of those it has.
 * @throws Problem not_found when there is no such credential or location, or it is revoked.
 */
export async function changeLocations(
  access: Connections,
  id: string,
  locations: Locations,
): Promise<Credential> {
  const { merchant } = await changeable(access.reader, id);
  const grant = await grantAt(access, merchant, locations);
  const entry = { action: 'token.grant', merchant_id: merchant, credential_id: id };
  const line = { ...entry, locations: locationsOf(grant) };
  return change(access, id, line, setGrant(merchant, id, grant));
}

/**
 * Gives a credential these scopes instead of those it has.
 * @throws Problem not_found when there is no such credential, or it is revoked.
 */
export async function changeScopes(
  access: Connections,
  id: string,
  scopes: readonly Scope[],
): Promise<Credential> {
  const { merchant } = await changeable(access.reader, id);
  const entry = { action: 'token.scope', merchant_id: merchant, credential_id: id, scopes };
  return change(access, id, entry, setScopes(merchant, id, scopes));
}

async function change(
  access: Connections,
  id: string,
  entry: AuditEntry,
  statement: Statement,
): Promise<Credential> {
  const [changed] = await transact(access.writer, entry, [statement]);
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
  const { revoked_at: at, kind } = credential;
  if (kind !== 'personal_access_token') {
    const state = at === null ? 'is of an application' : `of an application was revoked at ${at}`;
    throw notFound(`${id} ${state}: "tallybook app approve" says what it may do`);
  }
  if (at !== null) throw notFound(`${id} was revoked at ${at}: create another token`);
  return { merchant, credential };
}

/** A credential that is not the built-in one of the operator, and no person's. */
async function withToken(
  reader: Reader,
  id: string,
): Promise<{ merchant: MerchantId; credential: Credential }> {
  const credential = await credentialById(reader, id);
  if (credential.is_operator) {
    throw notFound(`${id} is what commands act as: it has no token and cannot be changed`);
  }
  if (credential.role !== null) {
    throw notFound(`${id} is a person, who has no token: see "tallybook person"`);
  }
  return { merchant: credential.merchant_id, credential };
}

/** The same, for whoever does not know yet in which cell the merchant is. */
export async function grantAt(
  access: Connections,
  merchant: MerchantId,
  locations: Locations,
): Promise<LocationGrant> {
  const { reader } = locations === 'all' ? access : await atMerchant(access, merchant);
  return grantOf(reader, merchant, locations);
}

/**
 * The locations as they are stored. Locations are never deleted, so this stays true.
 * @param reader in the cell of the merchant.
 */
export async function grantOf(
  reader: Reader,
  merchant: MerchantId,
  locations: Locations,
): Promise<LocationGrant> {
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
export function locationsOf({ all, ids }: LocationGrant): Locations {
  return all ? 'all' : ids;
}

function notFound(message: string): Problem {
  return new Problem('not_found', { message });
}
