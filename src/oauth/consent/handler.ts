// How a person consents: they are signed in, or show a personal access token of the merchant,
// choose locations, and allow or refuse. Nobody grants more than he may do or the operator
// approved. Of a token its hash is kept between the two pages, and checked again at the end. Of a
// session nothing is kept: each request brings it along, and the form says which one it was made
// for.

import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { errors as Errors, Interaction, Provider } from 'oidc-provider';
import { appendAudit } from '../../access/audit/store.ts';
import type { LocationGrant } from '../../access/operator/credential-store.ts';
import { locationsOf } from '../../access/operator/credentials.ts';
import { hashToken, isToken } from '../../access/token.ts';
import { commitAll } from '../../access/transact.ts';
import { mintId } from '../../core/id.ts';
import { DatabaseFailure, type Writer } from '../../core/statement.ts';
import type { HtmlPage } from '../../http/html.ts';
import { consentCookies, oauthPaths, type ProviderOptions } from '../provider.ts';
import {
  type ConsentBasis,
  type ConsentDenial,
  choicesOf,
  findBasis,
  grantFor,
  notValid,
  type Proof,
} from './basis.ts';
import { type ConsentRequest, errorPage, onwardPage, provePage } from './pages.ts';
import { insertConsent, insertProof } from './store.ts';

export interface ConsentCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Undefined: the browser asks for the page. */
  readonly form: URLSearchParams | undefined;
  /** The token of the session that the browser has, valid or not. */
  readonly session: string | undefined;
  readonly address: string;
  readonly requestId: string;
}

/** A page to show; undefined when the library has answered with a redirect. */
export type ConsentAnswer =
  | (HtmlPage & {
      readonly status: number;
      /** Where the browser is redirected to. */
      readonly location?: string;
      /** Why it was denied, for the audit trail. */
      readonly denied?: ConsentDenial['denied'];
    })
  | undefined;

export class ConsentHandler {
  readonly #provider: Provider;
  readonly #errors: typeof Errors;
  readonly #database: ProviderOptions['database'];
  readonly #writer: Writer;

  constructor(provider: Provider, errors: typeof Errors, options: ProviderOptions) {
    this.#provider = provider;
    this.#errors = errors;
    this.#database = options.database;
    this.#writer = options.writer;
  }

  async answer(call: ConsentCall): Promise<ConsentAnswer> {
    try {
      return await this.#answer(call);
    } catch (error) {
      // The request has ended, perhaps by another click at this moment.
      if (error instanceof this.#errors.SessionNotFound) return expired();
      throw error;
    }
  }

  async #answer(call: ConsentCall): Promise<ConsentAnswer> {
    const interaction = await this.#interaction(call);
    const asked = await this.#asked(interaction);
    switch (call.form?.get('decision')) {
      case 'refuse':
        return this.#finish(call, { error: 'access_denied', error_description: 'refused' });
      case 'prove':
        return this.#prove(call, interaction, asked);
      case 'allow':
        return this.#allow(call, interaction, asked, call.form.getAll('location'));
      default:
        return this.#show(call, interaction, asked);
    }
  }

  /** The person's request, which the browser's cookie and the path must both name. */
  async #interaction({ request, response }: ConsentCall): Promise<Interaction> {
    const found = await this.#provider.interactionDetails(request, response);
    const [path] = (request.url ?? '').split('?');
    if (path === `${oauthPaths.consent}/${found.uid}`) return found;
    throw new this.#errors.SessionNotFound('the cookie is of another request');
  }

  async #asked({ uid, params }: Interaction): Promise<ConsentRequest> {
    const client = await this.#provider.Client.find(String(params.client_id));
    return {
      ...addressesOf(uid),
      application: client?.clientName ?? String(params.client_id),
      scopes: String(params.scope ?? '').split(' '),
      locations: typeof params.locations === 'string' ? params.locations : undefined,
      redirectUri: String(params.redirect_uri),
    };
  }

  /** The first page, or the second one for who is signed in or has shown a token. */
  async #show(
    call: ConsentCall,
    interaction: Interaction,
    asked: ConsentRequest,
  ): Promise<ConsentAnswer> {
    const proof = proofOf(interaction, call.session);
    if (proof === undefined) {
      const isFromOutside = !call.request.url?.includes('?');
      const page = isFromOutside ? onwardPage(asked, `${asked.action}?here`) : provePage(asked);
      return { status: 200, ...page };
    }
    const basis = await this.#basis(interaction, asked, proof);
    if ('denied' in basis) return refused(asked, basis);
    return { status: 200, ...(await this.#choices(asked, basis)) };
  }

  async #prove(
    call: ConsentCall,
    interaction: Interaction,
    asked: ConsentRequest,
  ): Promise<ConsentAnswer> {
    const token = call.form?.get('token')?.trim() ?? '';
    if (!isToken(token)) return refused(asked, notValid, true);
    const tokenHash = hashToken(token);
    const basis = await this.#basis(interaction, asked, { tokenHash });
    if ('denied' in basis) return refused(asked, basis, true);
    const kept = { proof: { token_hash: tokenHash.toString('hex') } };
    const location = await rename(this.#provider, call, interaction, kept);
    return { status: 303, location, ...(await this.#choices(asked, basis)) };
  }

  async #allow(
    call: ConsentCall,
    interaction: Interaction,
    asked: ConsentRequest,
    locations: readonly string[],
  ): Promise<ConsentAnswer> {
    const proof = proofOf(interaction, call.session);
    if (proof === undefined) return { status: 403, ...provePage(asked) };
    const basis = await this.#basis(interaction, asked, proof);
    if ('denied' in basis) return refused(asked, basis);
    if (proof.binding !== undefined && call.form?.get('person') !== proof.binding) {
      const fault = 'Somebody else has signed in meanwhile. Look again at who you are.';
      return { status: 403, ...(await this.#choices({ ...asked, fault }, basis)) };
    }
    const grant = await grantFor(this.#database, basis, locations);
    if (grant === undefined) {
      const fault = 'One of these locations is not yours to grant.';
      const page = await this.#choices({ ...asked, fault }, basis);
      return { status: 403, denied: 'location_not_granted', ...page };
    }
    // Whoever planted the request of a person who is signed in cannot continue it.
    if (proof.binding === undefined) await this.#consume(interaction);
    else await rename(this.#provider, call, interaction, {});
    const id = await this.#give(call, interaction, asked, basis, grant);
    if (id === undefined) return refused({ ...asked, ...addressesOf(interaction.jti) }, notValid);
    const login = { accountId: id, remember: false };
    const result = { login, consent: { grantId: id } };
    if (proof.binding === undefined) return this.#finish(call, result);
    interaction.result = result;
    await interaction.save(secondsLeft(interaction));
    return { status: 303, location: interaction.returnTo, ...provePage(asked) };
  }

  /** A second click, or a second tab, fails here. @throws SessionNotFound */
  async #consume({ uid }: Interaction): Promise<void> {
    try {
      await this.#provider.Interaction.adapter.consume(uid);
    } catch (error) {
      if (!(error instanceof this.#errors.InvalidGrant)) throw error;
      throw new this.#errors.SessionNotFound('it was answered');
    }
  }

  #basis(
    interaction: Interaction,
    asked: ConsentRequest,
    proof: Proof,
  ): Promise<ConsentBasis | ConsentDenial> {
    return findBasis(this.#database.reader, asked, String(interaction.params.client_id), proof);
  }

  #choices(asked: ConsentRequest, basis: ConsentBasis): Promise<HtmlPage> {
    return choicesOf(this.#database, asked, basis);
  }

  /** Undefined when its approval or its token has ended at this moment. */
  async #give(
    call: ConsentCall,
    interaction: Interaction,
    asked: ConsentRequest,
    { giver, proof }: ConsentBasis,
    grant: LocationGrant,
  ): Promise<string | undefined> {
    const id = mintId('cred_');
    const application = String(interaction.params.client_id);
    const { scopes } = asked;
    const entry = {
      action: 'consent.give',
      merchant_id: giver.merchant_id,
      credential_id: id,
      application_id: application,
      given_by: giver.credential_id,
      scopes,
      locations: locationsOf(grant),
      ...(isIP(call.address) === 0 ? {} : { address: call.address }),
      request_id: call.requestId,
    };
    const merchant = giver.merchant_id;
    const isPerson = giver.role !== null;
    const tokenHash = isPerson ? randomBytes(32) : proof.tokenHash;
    try {
      await commitAll(this.#writer, [
        ...(isPerson ? [insertProof(proof.tokenHash, tokenHash)] : []),
        insertConsent({ merchant, id, application, tokenHash, scopes, grant }),
        appendAudit([{ entry, age: 0 }]),
      ]);
      return id;
    } catch (error) {
      if (error instanceof DatabaseFailure && error.kind === 'refused') return undefined;
      throw error;
    }
  }

  async #finish(
    { request, response }: ConsentCall,
    result: Parameters<Provider['interactionFinished']>[2],
  ): Promise<ConsentAnswer> {
    const once = { mergeWithLastSubmission: false };
    await this.#provider.interactionFinished(request, response, result, once);
    return undefined;
  }
}

function refused(asked: ConsentRequest, { denied, fault }: ConsentDenial, isOfToken = false) {
  return { status: 403, denied, ...provePage({ ...asked, fault }, isOfToken) };
}

const addressesOf = (uid: string) => ({
  action: `${oauthPaths.consent}/${uid}`,
  signIn: `/console/allow/${uid}`,
});

function expired() {
  const text = 'The request has expired or was answered: start again where you came from.';
  return { status: 400, ...errorPage('invalid_request', text) };
}

/** The token that was shown for this request, or else the session. */
function proofOf({ result, jti }: Interaction, session: string | undefined): Proof | undefined {
  const shown = result as { readonly proof?: { readonly token_hash?: string } } | undefined;
  const hash = shown?.proof?.token_hash;
  if (typeof hash === 'string') return { tokenHash: Buffer.from(hash, 'hex') };
  if (session === undefined) return undefined;
  const binding = createHash('sha256').update(`consent ${jti} ${session}`).digest('base64url');
  return { tokenHash: hashToken(session), binding };
}

const secondsLeft = ({ exp }: Interaction) => exp - Math.floor(Date.now() / 1000);

/**
 * After a person has shown who they are, their request continues under another ID, which only their
 * browser gets. So an attacker who planted the first ID and its cookies cannot continue it. Returns
 * the address where the browser continues.
 * @throws SessionNotFound when it has continued already.
 */
async function rename(
  provider: Provider,
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  interaction: Interaction,
  result: object,
): Promise<string> {
  await interaction.destroy();
  const uid = randomBytes(32).toString('base64url');
  const back = `${oauthPaths.authorize}/${uid}`;
  const returnTo = new URL(back, interaction.returnTo).href;
  const left = secondsLeft(interaction);
  Object.assign(interaction, { jti: uid, returnTo, result });
  await interaction.save(left);
  const path = `${oauthPaths.consent}/${uid}`;
  const { cookies } = provider.createContext(request, response);
  const attributes = { ...consentCookies.attributes, maxAge: left * 1000 };
  cookies.set(consentCookies.interaction, uid, { ...attributes, path });
  cookies.set(consentCookies.resume, uid, { ...attributes, path: back });
  return path;
}
