// Where the OAuth library stores things. The library names them by the secret itself (a token, a
// code). Only the SHA-256 of the secret is stored, and the answer to the library has the secret
// again. Access tokens are rows like those of personal access tokens, and consents are credentials.
// There are no sessions: a person is signed in at the console, or shows a token.

import { createHash } from 'node:crypto';
import type { Adapter, AdapterPayload, errors as Errors } from 'oidc-provider';
import { appendAudit } from '../access/audit/store.ts';
import { principalOf } from '../access/principal.ts';
import { findCredentials } from '../access/store.ts';
import { hashToken, kept } from '../access/token.ts';
import { commitAll } from '../access/transact.ts';
import type { Reader, Writer } from '../core/statement.ts';
import { findConsent, revokeConsent } from './consent/store.ts';
import {
  consumeRecord,
  deleteRecord,
  deleteRecordsOf,
  findRecord,
  forgetEndedRecords,
  insertRecord,
  upsertRecord,
} from './record-store.ts';
import {
  endAccessToken,
  endTokensOfConsent,
  findClient,
  findTokenLife,
  forgetEndedTokens,
  insertAccessToken,
} from './token-store.ts';

/** Seconds that an access token is valid (contract section 4). */
export const accessTokenLife = 3_600;

export interface OAuthStorage {
  readonly reader: Reader;
  readonly writer: Writer;
  /** The library's errors. It is loaded when OAuth is first used. */
  readonly errors: typeof Errors;
}

/** The adapter for each kind of thing that the library stores. */
export function adapterFactory(storage: OAuthStorage): (kind: string) => Adapter {
  return (kind) => {
    switch (kind) {
      case 'Client':
        return clients(storage);
      case 'AccessToken':
      case 'ClientCredentials':
        return accessTokens(storage, kind);
      case 'Grant':
        return consents(storage);
      case 'Session':
        return nothing;
      default:
        return records(storage, kind);
    }
  };
}

const nothing: Adapter = {
  upsert: async () => undefined,
  find: async () => undefined,
  findByUserCode: async () => undefined,
  findByUid: async () => undefined,
  consume: async () => undefined,
  destroy: async () => undefined,
  revokeByGrantId: async () => undefined,
};

function clients({ reader }: OAuthStorage): Adapter {
  return {
    ...nothing,
    async find(id) {
      const [row] = await reader.query(findClient(id));
      if (row === undefined) return undefined;
      const actsForStaff = row.redirect_uris.length > 0;
      return {
        client_id: row.id,
        client_name: row.name,
        scope: row.scopes.join(' '),
        redirect_uris: [...row.redirect_uris],
        response_types: actsForStaff ? ['code'] : [],
        grant_types: actsForStaff
          ? ['client_credentials', 'authorization_code', 'refresh_token']
          : ['client_credentials'],
        // The library wants a text here; secrets are compared by their hashes instead.
        ...(row.jwks === null
          ? { token_endpoint_auth_method: 'client_secret_basic', client_secret: 'kept as a hash' }
          : {
              token_endpoint_auth_method: 'private_key_jwt',
              jwks: { keys: [...row.jwks.keys] },
            }),
      } as AdapterPayload;
    },
  };
}

function accessTokens({ reader, writer, errors }: OAuthStorage, kind: string): Adapter {
  return {
    ...nothing,
    async upsert(id, { clientId = '', grantId, extra, scope = '' }, expiresIn) {
      const credential = grantId ?? String(extra?.credential_id);
      const [, inserted] = await commitAll(writer, [
        forgetEndedTokens(clientId, credential),
        insertAccessToken(
          clientId,
          credential,
          {
            ...kept(id),
            scopes: scope === '' ? [] : scope.split(' '),
          },
          expiresIn ?? accessTokenLife,
        ),
      ]);
      if (inserted?.length !== 1) throw new errors.InvalidGrant('it was revoked');
    },
    async find(id) {
      const [row] = await reader.query(
        findCredentials([
          { tokenHash: hashToken(id), isOAuth: true, locationId: undefined, keys: [] },
        ]),
      );
      const application = row?.oauth?.application;
      if (row === undefined || application === undefined) return undefined;
      const isConsent = row.oauth?.behind.length !== 0;
      if (isConsent !== (kind === 'AccessToken')) return undefined;
      const [time] = await reader.query(findTokenLife(hashToken(id)));
      if (time === undefined) return undefined;
      const exp = endOf(time.left);
      return {
        kind,
        jti: id,
        iat: exp - Math.round(time.life),
        exp,
        clientId: application.id,
        scope: [...principalOf(row).scopes].join(' '),
        extra: { merchant_id: row.merchant_id, credential_id: row.id },
        ...(isConsent ? { grantId: row.id, accountId: row.id } : {}),
      };
    },
    async destroy(id) {
      await commitAll(writer, [endAccessToken(hashToken(id))]);
    },
    async revokeByGrantId(grantId) {
      await commitAll(writer, [endTokensOfConsent(grantId)]);
    },
  };
}

/** The library's grants are consents. They are made where the person decides, not here. */
function consents({ reader, writer }: OAuthStorage): Adapter {
  return {
    ...nothing,
    async upsert() {
      throw new Error('a consent is made where the person gives it');
    },
    async find(id) {
      const [row] = await reader.query(findConsent(id));
      if (row === undefined) return undefined;
      const scopes = row.scopes.filter(
        (scope) => row.approval_scopes.includes(scope) && row.giver_scopes.includes(scope),
      );
      return {
        kind: 'Grant',
        jti: id,
        exp: endOf(row.left),
        accountId: id,
        clientId: row.application_id,
        openid: { scope: scopes.join(' ') },
      };
    },
    async destroy(id) {
      await endConsent(writer, id);
    },
  };
}

async function endConsent(writer: Writer, id: string): Promise<void> {
  const entry = { action: 'consent.end', credential_id: id };
  await commitAll(writer, [revokeConsent(id), appendAudit([{ entry, age: 0 }])]);
}

function records({ reader, writer, errors }: OAuthStorage, kind: string): Adapter {
  const keyOf = (id: string) => createHash('sha256').update(`${kind} ${id}`).digest();
  return {
    ...nothing,
    async upsert(id, payload, expiresIn = 0) {
      const { jti: _, returnTo, grantId, ...rest } = payload;
      const record = {
        idHash: keyOf(id),
        kind,
        credentialId: grantId,
        // The address that the browser returns to ends in the ID.
        payload: returnTo === undefined ? rest : { ...rest, returnTo: withoutId(returnTo, id) },
        lifeSeconds: expiresIn,
      };
      // An assertion is used once, also when it comes twice at the same moment.
      const isOnce = kind === 'ReplayDetection';
      const statement = isOnce ? insertRecord(record) : upsertRecord(record);
      const [, written] = await commitAll(writer, [forgetEndedRecords(), statement]);
      if (written?.length !== 1)
        throw new errors.InvalidClientAuth('the assertion was used before');
    },
    async find(id) {
      const [row] = await reader.query(findRecord(keyOf(id)));
      if (row === undefined) return undefined;
      const { returnTo, ...payload } = row.payload as AdapterPayload;
      return {
        ...payload,
        jti: id,
        exp: endOf(row.left),
        ...(row.credential_id === null ? {} : { grantId: row.credential_id }),
        ...(returnTo === undefined ? {} : { returnTo: `${returnTo}${id}` }),
        ...(row.is_consumed ? { consumed: true } : {}),
      };
    },
    async consume(id) {
      const [consumed] = await commitAll(writer, [consumeRecord(keyOf(id))]);
      if (consumed?.length === 1) return;
      // Two clients had the code, and which of them was meant is unknown (RFC 6749, section 4.1.2).
      const [row] = await reader.query(findRecord(keyOf(id)));
      const consent = row?.credential_id ?? undefined;
      if (consent !== undefined) await endConsent(writer, consent);
      throw new errors.InvalidGrant('it was used before');
    },
    async destroy(id) {
      const [deleted] = await commitAll(writer, [deleteRecord(keyOf(id))]);
      // A person's request ends once, even when the browser comes back several times.
      const isOnce = kind === 'Interaction';
      if (isOnce && deleted?.length !== 1) throw new errors.SessionNotFound('it was answered');
    },
    async revokeByGrantId(grantId) {
      await commitAll(writer, [deleteRecordsOf(grantId, kind)]);
    },
  };
}

/** The library compares times with this machine's clock, so the seconds left are converted. */
function endOf(secondsLeft: number): number {
  return Math.floor(Date.now() / 1000 + secondsLeft);
}

function withoutId(url: string, id: string): string {
  return url.endsWith(id) ? url.slice(0, -id.length) : url;
}
