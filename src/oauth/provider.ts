// The OAuth 2.0 authorization server: a certified library, configured to offer only what Tallybook
// needs. No registration, no ID tokens, no device flow, no sessions; PKCE always, opaque
// tokens, refresh tokens that stay the same, so that a lost answer costs nothing.

import { generateKeyPairSync, hkdfSync } from 'node:crypto';
import type { Configuration, KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { AddressLimit } from '../access/rate/address.ts';
import { hashToken, isSecret, mintToken } from '../access/token.ts';
import { lookupId } from '../core/id.ts';
import { limits } from '../core/limits.ts';
import type { Reader, Writer } from '../core/statement.ts';
import { scopes as allScopes } from '../resources.ts';
import { accessTokenLife, adapterFactory } from './adapter.ts';
import { clientCredentialsHandler, clientCredentialsParameters } from './client-credentials.ts';
import { errorPage } from './consent/pages.ts';
import { findSecret } from './token-store.ts';

export interface ProviderOptions {
  /** The origin under which clients reach the service. */
  readonly issuer: string;
  readonly secret: string;
  readonly database: {
    readonly reader: Reader;
    inCell(cell: string): { readonly reader: Reader };
  };
  readonly writer: Writer;
  /** How many tokens an application may get. */
  readonly pace: AddressLimit;
}

export type Library = typeof import('oidc-provider');

export const oauthPaths = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  revoke: '/oauth/revoke',
  introspect: '/oauth/introspect',
  /** Where the session of a person counts. */
  consent: '/console/consent',
} as const;

/** Signature algorithms that an application may sign its assertions with. */
export const assertionAlgorithms = ['RS256', 'PS256', 'ES256', 'EdDSA'] as const;

export const clientAuthMethods = [
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
] as const;

/** Of the library's own sessions, which we do not offer: no answer sets it. */
export const sessionCookie = 'tallybook_oauth';

/** The cookies that tie a person's request to their browser. */
export const consentCookies = {
  interaction: 'tallybook_consent',
  resume: 'tallybook_resume',
  attributes: { httpOnly: true, sameSite: 'lax', signed: true },
} as const;

export function createProvider(library: Library, options: ProviderOptions): Provider {
  const provider = new library.Provider(options.issuer, configurationOf(library, options));
  // TLS ends at a proxy. Our copy of the request states host and protocol of the issuer.
  provider.proxy = true;
  nameTokens(provider.AccessToken.prototype, 'oat');
  nameTokens(provider.ClientCredentials.prototype, 'oat');
  nameTokens(provider.RefreshToken.prototype, 'ort');
  provider.Client.prototype.compareClientSecret = async function matches(this, actual: string) {
    if (!isSecret(actual)) return false;
    const found = await options.database.reader.query(findSecret(this.clientId, hashToken(actual)));
    return found.length === 1;
  };
  provider.registerGrantType(
    'client_credentials',
    clientCredentialsHandler(provider, library.errors, options.database.reader),
    clientCredentialsParameters,
  );
  return provider;
}

/** Tokens in the form of ours. The library's types do not name this method; tests hold the form. */
function nameTokens(model: object, kind: 'oat' | 'ort'): void {
  const named = model as { generateTokenId(): string };
  const own = named.generateTokenId;
  named.generateTokenId = function generateTokenId() {
    // It settles the token's format besides.
    own.call(this);
    return mintToken(kind);
  };
}

function configurationOf(library: Library, options: ProviderOptions): Configuration {
  const { errors } = library;
  const { writer } = options;
  const { reader } = options.database;
  return {
    adapter: adapterFactory({ reader, writer, errors }),
    clientAuthMethods: [...clientAuthMethods],
    clientBasedCORS: () => false,
    cookies: cookiesOf(options.secret),
    enabledJWA: { clientAuthSigningAlgValues: [...assertionAlgorithms] },
    expiresWithSession: async () => false,
    assertJwtClientAuthClaimsAndHeader: async (_, { exp }) => {
      // The ID of an assertion is remembered until the assertion ends.
      const latest = Date.now() / 1000 + limits.assertionSecondsMax;
      if (Number(exp) > latest) throw new errors.InvalidClientAuth('it is valid for too long');
    },
    extraParams: { locations: (context) => judgeRequest(library, context) },
    extraTokenClaims: (context, token) => extraOf(library, options, context, token),
    features,
    findAccount: async (_, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    interactions: {
      policy: consentPolicy(library),
      url: (_, { uid }) => `${oauthPaths.consent}/${uid}`,
    },
    issueRefreshToken: async () => true,
    // There are no ID tokens, but the library requires a key for them. It signs nothing.
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    jwks: { keys: [unusedKey()] },
    loadExistingGrant: async ({ oidc }) => {
      const given = oidc.result?.consent?.grantId;
      return given === undefined ? undefined : oidc.provider.Grant.find(given);
    },
    pkce: { required: () => true },
    renderError: (context, { error, error_description = '' }) =>
      showError(context, error, error_description),
    responseTypes: ['code'],
    rotateRefreshToken: false,
    routes: {
      authorization: oauthPaths.authorize,
      token: oauthPaths.token,
      revocation: oauthPaths.revoke,
      introspection: oauthPaths.introspect,
    },
    scopes: [...allScopes],
    ttl: lives,
  };
}

const off = { enabled: false };
const ownOnly = async (
  _: unknown,
  client: { readonly clientId: string },
  token: { readonly clientId?: string | undefined },
) => token.clientId === client.clientId;

const features: Configuration['features'] = {
  clientCredentials: { enabled: true },
  introspection: { enabled: true, allowedPolicy: ownOnly },
  revocation: { enabled: true, allowedPolicy: ownOnly },
  devInteractions: off,
  dPoP: off,
  pushedAuthorizationRequests: off,
  registration: off,
  resourceIndicators: off,
  rpInitiatedLogout: off,
  userinfo: off,
};

const longest = limits.tokenDaysMax * 86_400;

/** In seconds. */
const lives: Configuration['ttl'] = {
  // Never longer than the consent that it rests on.
  AccessToken: (context) => withinConsent(context, accessTokenLife),
  AuthorizationCode: () => limits.authorizationCodeSeconds,
  ClientCredentials: () => accessTokenLife,
  Grant: () => longest,
  Interaction: () => limits.consentRequestSeconds,
  RefreshToken: (context) => withinConsent(context, longest),
  Session: () => limits.consentRequestSeconds,
};

function withinConsent({ oidc }: KoaContextWithOIDC, life: number): number {
  return Math.max(1, Math.min(life, oidc.grant?.remainingTTL ?? life));
}

function cookiesOf(secret: string): Configuration['cookies'] {
  const { interaction, resume, attributes } = consentCookies;
  return {
    keys: [Buffer.from(hkdfSync('sha256', secret, '', 'tallybook oauth cookie v1', 32))],
    names: { session: sessionCookie, interaction, resume },
    long: attributes,
    short: attributes,
  };
}

/** An error that cannot be sent to the application. */
export function showError(
  context: { type: string; body: unknown; set(name: string, text: string): void },
  error: string,
  description: string,
): void {
  const page = errorPage(error, description);
  context.type = 'html';
  context.set('Content-Security-Policy', page.policy);
  context.body = page.html;
}

function unusedKey(): object {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
}

/** The person is asked one question, each time. */
function consentPolicy({ interactionPolicy }: Library) {
  const { Check, Prompt } = interactionPolicy;
  const policy = interactionPolicy.base();
  policy.clear();
  const asked = new Check(
    'not_given',
    'a person must consent',
    'interaction_required',
    (context) =>
      context.oidc.result?.consent === undefined ? Check.REQUEST_PROMPT : Check.NO_NEED_TO_PROMPT,
  );
  policy.add(new Prompt({ name: 'consent', requestable: true }, asked));
  return policy;
}

/**
 * Checks what the library does not: unknown scopes, which it leaves out without an error, and texts
 * that are stored until the person has answered, or shown to them.
 */
function judgeRequest({ errors }: Library, context: KoaContextWithOIDC): void {
  const { scope, locations, ...others } = context.query;
  if (typeof scope !== 'string' || scope === '') {
    throw new errors.InvalidScope('name the scopes that are needed', '');
  }
  const unknown = scope.split(' ').filter((name) => !allScopes.some((known) => known === name));
  if (unknown.length > 0)
    throw new errors.InvalidScope('there is no such scope', unknown.join(' '));
  if (locations !== undefined && !areLocations(String(locations))) {
    throw new errors.InvalidRequest('locations must be "all" or IDs of locations, by blanks');
  }
  for (const [name, value] of Object.entries(others)) {
    const text = String(value);
    if (text.length > limits.oauthParameterLengthMax || /\p{Cc}/u.test(text)) {
      throw new errors.InvalidRequest(`${name} is too long or has control characters`);
    }
  }
}

function areLocations(text: string): boolean {
  return text === 'all' || text.split(' ').every((id) => lookupId(id).startsWith('loc_'));
}

/** What a token carries besides, asked for while it is saved. */
async function extraOf(
  { errors }: Library,
  { pace }: ProviderOptions,
  context: KoaContextWithOIDC,
  token: { readonly scope?: string | undefined },
) {
  // Each token is a row: an application is to use the one it has.
  const refusal = await pace.refusal(context.oidc.client?.clientId ?? '');
  if (refusal !== undefined) throw refusal;
  const { approval } = context.state;
  if (approval !== undefined) {
    return { merchant_id: approval.merchant_id, credential_id: approval.credential_id };
  }
  // A refresh may ask for less than was granted. What has been taken away since is refused.
  const asked = context.oidc.params?.scope;
  const granted = new Set(token.scope?.split(' '));
  const beyond =
    typeof asked === 'string' ? asked.split(' ').filter((one) => !granted.has(one)) : [];
  if (beyond.length > 0) throw new errors.InvalidScope('no longer granted', beyond.join(' '));
  return undefined;
}
