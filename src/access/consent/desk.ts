// How a person consents: he proves who he is with a personal access token of the merchant, chooses
// locations, and allows or refuses. Nobody grants more than he holds or than the operator approved.
// Between the two pages only the hash of the token is kept, and it is judged anew at the end.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import type { errors as Errors, Interaction, Provider } from 'oidc-provider';
import { mintId } from '../../core/id.ts';
import { DatabaseFailure, type Reader, type Writer } from '../../core/statement.ts';
import { appendAudit } from '../audit/store.ts';
import { oauthPaths } from '../oauth/provider.ts';
import type { Grant } from '../operator/credential-store.ts';
import { locationsOf } from '../operator/credentials.ts';
import { hashToken, isToken } from '../token.ts';
import { commitAll } from '../transact.ts';
import { type Asked, errorPage, type Page, provePage } from './page.ts';
import { renew } from './renewal.ts';
import {
  choicesOf,
  findStanding,
  grantFor,
  notValid,
  type Proof,
  type Refusal,
  type Standing,
} from './standing.ts';
import { insertConsent } from './store.ts';

export interface ConsentCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Undefined: the page is only looked at. */
  readonly form: URLSearchParams | undefined;
  readonly address: string;
  readonly requestId: string;
}

/** A page to show; undefined when the browser was sent on. */
export type ConsentAnswer =
  | (Page & {
      readonly status: number;
      /** Where to go on instead. */
      readonly location?: string;
      /** Why somebody was turned away, for the audit trail. */
      readonly denied?: Refusal['denied'];
    })
  | undefined;

export class ConsentDesk {
  readonly #provider: Provider;
  readonly #errors: typeof Errors;
  readonly #reader: Reader;
  readonly #writer: Writer;

  constructor(provider: Provider, errors: typeof Errors, reader: Reader, writer: Writer) {
    this.#provider = provider;
    this.#errors = errors;
    this.#reader = reader;
    this.#writer = writer;
  }

  async answer(call: ConsentCall): Promise<ConsentAnswer> {
    try {
      return await this.#answer(call);
    } catch (error) {
      // It has ended, perhaps at this very moment, by another click.
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
        return this.#show(interaction, asked);
    }
  }

  /** The request that the browser is about: its cookie and the path name the same. */
  async #interaction({ request, response }: ConsentCall): Promise<Interaction> {
    const found = await this.#provider.interactionDetails(request, response);
    const [path] = (request.url ?? '').split('?');
    if (path === `${oauthPaths.consent}/${found.uid}`) return found;
    throw new this.#errors.SessionNotFound('the browser asks for another');
  }

  async #asked({ uid, params }: Interaction): Promise<Asked> {
    const client = await this.#provider.Client.find(String(params.client_id));
    return {
      action: `${oauthPaths.consent}/${uid}`,
      application: client?.clientName ?? String(params.client_id),
      scopes: String(params.scope ?? '').split(' '),
      locations: typeof params.locations === 'string' ? params.locations : undefined,
      redirectUri: String(params.redirect_uri),
    };
  }

  /** The first page, or the second once the person has proved who he is. */
  async #show(interaction: Interaction, asked: Asked): Promise<ConsentAnswer> {
    const proof = proofOf(interaction);
    if (proof === undefined) return { status: 200, ...provePage(asked) };
    const standing = await this.#standing(interaction, asked, proof);
    if ('denied' in standing) return refused(asked, standing);
    return { status: 200, ...(await this.#choices(asked, standing)) };
  }

  async #prove(call: ConsentCall, interaction: Interaction, asked: Asked): Promise<ConsentAnswer> {
    const token = call.form?.get('token')?.trim() ?? '';
    if (!isToken(token)) return refused(asked, notValid);
    const proof = { token_hash: hashToken(token).toString('hex') };
    const standing = await this.#standing(interaction, asked, proof);
    if ('denied' in standing) return refused(asked, standing);
    const location = await renew(this.#provider, call, interaction, proof);
    return { status: 303, location, ...(await this.#choices(asked, standing)) };
  }

  async #allow(
    call: ConsentCall,
    interaction: Interaction,
    asked: Asked,
    locations: readonly string[],
  ): Promise<ConsentAnswer> {
    const proof = proofOf(interaction);
    if (proof === undefined) return { status: 403, ...provePage(asked) };
    const standing = await this.#standing(interaction, asked, proof);
    if ('denied' in standing) return refused(asked, standing);
    const grant = await grantFor(this.#reader, standing, locations);
    if (grant === undefined) {
      const fault = 'One of these locations is not yours to grant.';
      const page = await this.#choices({ ...asked, fault }, standing);
      return { status: 403, denied: 'location_not_granted', ...page };
    }
    await this.#claim(interaction);
    const id = await this.#give(call, interaction, asked, standing, grant);
    if (id === undefined) return refused(asked, notValid);
    const login = { accountId: id, remember: false };
    return this.#finish(call, { login, consent: { grantId: id } });
  }

  /** A second click, or a second tab, finds it answered. @throws SessionNotFound */
  async #claim({ uid }: Interaction): Promise<void> {
    try {
      await this.#provider.Interaction.adapter.consume(uid);
    } catch (error) {
      if (!(error instanceof this.#errors.InvalidGrant)) throw error;
      throw new this.#errors.SessionNotFound('it was answered');
    }
  }

  #standing(interaction: Interaction, asked: Asked, proof: Proof): Promise<Standing | Refusal> {
    return findStanding(this.#reader, asked, String(interaction.params.client_id), proof);
  }

  #choices(asked: Asked, standing: Standing): Promise<Page> {
    return choicesOf(this.#reader, asked, standing);
  }

  /** Undefined when what it rests on has ended at this very moment. */
  async #give(
    call: ConsentCall,
    interaction: Interaction,
    asked: Asked,
    { giver, tokenHash }: Standing,
    grant: Grant,
  ): Promise<string | undefined> {
    const id = mintId('credential');
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
    try {
      await commitAll(this.#writer, [
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

function refused(asked: Asked, { denied, fault }: Refusal) {
  return { status: 403, denied, ...provePage({ ...asked, fault }) };
}

function expired() {
  const text = 'The request has expired or was answered: start again where you came from.';
  return { status: 400, ...errorPage('invalid_request', text) };
}

function proofOf({ result }: Interaction): Proof | undefined {
  const proof = (result as { readonly proof?: Proof } | undefined)?.proof;
  return typeof proof?.token_hash === 'string' ? proof : undefined;
}
