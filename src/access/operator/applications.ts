// OAuth applications: the operator creates, shows and disables them, rotates their secrets, and
// approves them at merchants. Only the operator can: there is no registration over HTTP. Every
// change counts from the next request on. A secret is only in the answer that created it.

import { mintId } from '../../core/id.ts';
import type { MerchantId, Scope } from '../../core/principal.ts';
import { Problem } from '../../core/problem.ts';
import type { Reader } from '../../core/statement.ts';
import { kept, mintToken } from '../token.ts';
import { type Connections, transact } from '../transact.ts';
import { allRows } from './all-rows.ts';
import {
  type ApplicationRecord,
  type ApprovalRecord,
  disableApplication,
  endOtherSecrets,
  endWhatRevokedLeft,
  findApplication,
  insertApplication,
  insertSecret,
  type KeySet,
  listApplications,
  listApprovals,
  lockApproval,
  revokeApproval,
  upsertApproval,
} from './application-store.ts';
import { grantAt, type Locations, locationsOf } from './credentials.ts';

export type Application = ApplicationRecord;
export type Approval = ApprovalRecord;

/** An application with its new secret, which cannot be shown again. Without one it uses keys. */
export interface IssuedApplication {
  readonly application: Application;
  readonly secret: string | undefined;
}

/** Makes an application. With a key set it signs its requests, without one it gets a secret. */
export async function createApplication(
  access: Connections,
  wanted: {
    readonly name: string;
    readonly scopes: readonly Scope[];
    readonly redirectUris: readonly string[];
    readonly jwks: KeySet | undefined;
  },
): Promise<IssuedApplication> {
  const id = mintId('app_');
  const { name, scopes, redirectUris, jwks } = wanted;
  const entry = { action: 'app.create', application_id: id, name, scopes };
  const secret = mintToken('ocs');
  const stored = kept(secret);
  await transact(access.writer, { ...entry, redirect_uris: redirectUris }, [
    insertApplication({ id, ...wanted }),
    ...(jwks === undefined ? [insertSecret(id, stored)] : []),
  ]);
  const application = await applicationById(access.reader, id);
  return { application, secret: jwks === undefined ? secret : undefined };
}

/** All applications, the oldest first. */
export function allApplications(reader: Reader): AsyncGenerator<Application> {
  return allRows(reader, listApplications);
}

/** @throws Problem not_found */
export async function applicationById(reader: Reader, id: string): Promise<Application> {
  const [application] = await reader.query(findApplication(id));
  if (application === undefined) throw notFound(`there is no application ${id}`);
  return application;
}

/** The merchants where it is approved, or was. */
export function approvalsOf(reader: Reader, id: string): Promise<Approval[]> {
  return reader.query(listApprovals(id));
}

/**
 * A new secret. The ones before it end after the overlap.
 * @throws Problem not_found when there is no such application, it is disabled, or it uses keys.
 */
export async function rotateSecret(
  access: Connections,
  id: string,
  overlapSeconds: number,
): Promise<IssuedApplication> {
  const application = await changeable(access.reader, id);
  if (application.uses_keys) throw notFound(`${id} has no secret: it signs with its own key`);
  const secret = mintToken('ocs');
  const stored = kept(secret);
  const entry = { action: 'app.rotate', application_id: id, overlap_seconds: overlapSeconds };
  const [inserted] = await transact(access.writer, entry, [
    insertSecret(id, stored),
    endOtherSecrets(id, stored, overlapSeconds),
  ]);
  if (inserted?.length !== 1) throw await noEffect(access.reader, id);
  return { application: await applicationById(access.reader, id), secret };
}

/**
 * Ends an application for good, with all of its tokens everywhere. A second call changes nothing.
 * @throws Problem not_found
 */
export async function disable(access: Connections, id: string): Promise<Application> {
  const application = await applicationById(access.reader, id);
  if (application.disabled_at !== null) return application;
  const entry = { action: 'app.disable', application_id: id };
  await transact(access.writer, entry, [disableApplication(id)]);
  return applicationById(access.reader, id);
}

/**
 * Lets an application act at a merchant, or changes what it may do there.
 * @throws Problem not_found (application, location); validation_failed when the application itself
 *   was not made for one of the scopes.
 */
export async function approve(
  access: Connections,
  id: string,
  wanted: {
    readonly merchant: MerchantId;
    readonly scopes: readonly Scope[];
    readonly locations: Locations;
  },
): Promise<Approval> {
  const { merchant, scopes } = wanted;
  const application = await changeable(access.reader, id);
  const beyond = scopes.filter((scope) => !application.scopes.includes(scope));
  if (beyond.length > 0) {
    const made = application.scopes.join(', ');
    const message = `${id} was made for ${made}: not for ${beyond.join(', ')}`;
    throw new Problem('validation_failed', { message });
  }
  const grant = await grantAt(access, merchant, wanted.locations);
  const entry = { action: 'app.approve', merchant_id: merchant, application_id: id, scopes };
  const line = { ...entry, locations: locationsOf(grant) };
  const results = await transact(access.writer, line, [
    lockApproval(merchant, id),
    ...endWhatRevokedLeft(merchant, id),
    upsertApproval(merchant, mintId('cred_'), id, { scopes, grant }),
  ]);
  if (results.at(-1)?.length !== 1) throw await noEffect(access.reader, id);
  return approvalAt(access.reader, id, merchant);
}

/**
 * Ends what an application may do at a merchant: the approval, the consents under it, and all of
 * their tokens. A second call changes nothing.
 * @throws Problem not_found when it never was approved there.
 */
export async function revokeAt(
  access: Connections,
  id: string,
  merchant: MerchantId,
): Promise<Approval> {
  await approvalAt(access.reader, id, merchant);
  const entry = { action: 'app.revoke', merchant_id: merchant, application_id: id };
  await transact(access.writer, entry, [revokeApproval(merchant, id)]);
  return approvalAt(access.reader, id, merchant);
}

async function approvalAt(reader: Reader, id: string, merchant: MerchantId): Promise<Approval> {
  await applicationById(reader, id);
  const approvals = await approvalsOf(reader, id);
  const approval = approvals.find((one) => one.merchant_id === merchant);
  if (approval === undefined) throw notFound(`${id} is not approved at ${merchant}`);
  return approval;
}

/** Why a change found nothing to change: most likely it was disabled a moment ago. */
async function noEffect(reader: Reader, id: string): Promise<Error> {
  await changeable(reader, id);
  return new Error(`${id} could not be changed`);
}

/** An application that is not disabled. */
async function changeable(reader: Reader, id: string): Promise<Application> {
  const application = await applicationById(reader, id);
  if (application.disabled_at !== null) {
    throw notFound(`${id} was disabled at ${application.disabled_at}: create another application`);
  }
  return application;
}

function notFound(message: string): Problem {
  return new Problem('not_found', { message });
}
