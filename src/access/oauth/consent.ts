// How a person consents: he proves who he is with a personal access token of the merchant, chooses
// locations, and allows or refuses. Nobody grants more than he holds or than the operator approved.
// Between the two pages only the hash of the token is kept, and it is judged anew at the end.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { errors as Errors, Interaction, Provider } from 'oidc-provider';
import { mintId } from '../../core/id.ts';
import { limits } from '../../core/limits.ts';
import type { MerchantId } from '../../core/principal.ts';
import { Problem } from '../../core/problem.ts';
import { DatabaseFailure, type Reader, type Writer } from '../../core/statement.ts';
import { appendAudit } from '../audit/store.ts';
import type { Grant } from '../operator/credential-store.ts';
import { grantOf } from '../operator/credentials.ts';
import { hashToken, isToken } from '../token.ts';
import { commitAll } from '../transact.ts';
import { type Asked, choosePage, errorPage, type Page, provePage } from './consent-page.ts';
import {
  findApprovalAt,
  findGiver,
  findNamedLocations,
  type Giver,
  insertConsent,
  type LiveApprovalReach,
} from './consent-store.ts';
import { oauthPaths } from './provider.ts';

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
  | (Page & { readonly status: number; readonly isTokenRefused?: boolean })
  | undefined;

interface Standing {
  readonly giver: Giver;
  readonly approval: LiveApprovalReach;
  readonly tokenHash: Buffer;
}

type Proof = { readonly token_hash: string };

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
    const interaction = await this.#interaction(call);
    if (interaction === undefined) {
      const page = errorPage(
        'invalid_request',
        'The request has expired: start again where you came from.',
      );
      return { status: 400, ...page };
    }
    const asked = await this.#asked(interaction);
    switch (call.form?.get('decision')) {
      case 'refuse':
        return this.#finish(call, { error: 'access_denied', error_description: 'refused' });
      case 'prove':
        return this.#prove(interaction, asked, call.form.get('token')?.trim() ?? '');
      case 'allow':
        return this.#allow(call, interaction, asked, call.form.getAll('location'));
      default:
        return this.#show(interaction, asked);
    }
  }

  async #interaction({ request, response }: ConsentCall): Promise<Interaction | undefined> {
    try {
      return await this.#provider.interactionDetails(request, response);
    } catch (error) {
      if (error instanceof this.#errors.SessionNotFound) return undefined;
      throw error;
    }
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
    if (typeof standing === 'string') return refused(asked, standing);
    return { status: 200, ...(await this.#choices(asked, standing)) };
  }

  async #prove(interaction: Interaction, asked: Asked, token: string): Promise<ConsentAnswer> {
    if (!isToken(token)) return { ...refused(asked, notValid), isTokenRefused: true };
    const proof = { token_hash: hashToken(token).toString('hex') };
    const standing = await this.#standing(interaction, asked, proof);
    if (standing === notValid) return { ...refused(asked, notValid), isTokenRefused: true };
    if (typeof standing === 'string') return refused(asked, standing);
    interaction.result = { proof };
    await interaction.save(interaction.exp - Math.floor(Date.now() / 1000));
    return { status: 200, ...(await this.#choices(asked, standing)) };
  }

  async #allow(
    call: ConsentCall,
    interaction: Interaction,
    asked: Asked,
    locations: readonly string[],
  ): Promise<ConsentAnswer> {
    const proof = proofOf(interaction);
    if (proof === undefined) return refused(asked, 'Prove who you are first.');
    const standing = await this.#standing(interaction, asked, proof);
    if (typeof standing === 'string') return refused(asked, standing);
    const grant = await this.#grantOf(standing, locations);
    if (grant === undefined) {
      const fault = 'One of these locations is not yours to grant.';
      return { status: 403, ...(await this.#choices({ ...asked, fault }, standing)) };
    }
    const id = await this.#give(call, interaction, asked, standing, grant);
    if (id === undefined) return refused(asked, notValid);
    const login = { accountId: id, remember: false };
    return this.#finish(call, { login, consent: { grantId: id } });
  }

  /** Who stands behind a proof and what the application may do there, or why that is not enough. */
  async #standing(
    interaction: Interaction,
    asked: Asked,
    proof: Proof,
  ): Promise<Standing | string> {
    const tokenHash = Buffer.from(proof.token_hash, 'hex');
    const [giver] = await this.#reader.query(findGiver(tokenHash));
    if (giver === undefined) return notValid;
    const application = String(interaction.params.client_id);
    const [approval] = await this.#reader.query(findApprovalAt(application, giver.merchant_id));
    if (approval === undefined) {
      return `${asked.application} is not approved at ${giver.merchant_name}: ask the operator.`;
    }
    const missing = (held: readonly string[]) => asked.scopes.filter((one) => !held.includes(one));
    const unapproved = missing(approval.scopes);
    if (unapproved.length > 0) {
      return `${asked.application} is not approved there for ${unapproved.join(', ')}.`;
    }
    const lacking = missing(giver.scopes);
    if (lacking.length > 0) {
      return `You cannot grant what you do not hold: your token lacks ${lacking.join(', ')}.`;
    }
    return { giver, approval, tokenHash };
  }

  async #choices(asked: Asked, { giver, approval }: Standing): Promise<Page> {
    const isAll = giver.all_locations && approval.all_locations;
    const ids = isAll ? null : commonIds(giver, approval);
    const named = await this.#reader.query(
      findNamedLocations(giver.merchant_id, ids, limits.consentLocationsMax),
    );
    const wanted = new Set(asked.locations?.split(' '));
    const choices = named.map(({ id, name }) => ({ id, name, isChosen: wanted.has(id) }));
    const all = isAll ? { isChosen: wanted.has('all') } : undefined;
    return choosePage(asked, giver.merchant_name, choices, all);
  }

  async #grantOf(
    { giver, approval }: Standing,
    locations: readonly string[],
  ): Promise<Grant | undefined> {
    const isAll = giver.all_locations && approval.all_locations;
    if (locations.includes('all')) return isAll ? { all: true, ids: [] } : undefined;
    const granted = isAll ? locations : commonIds(giver, approval);
    if (!locations.every((id) => granted.includes(id))) return undefined;
    try {
      return await grantOf(this.#reader, giver.merchant_id as MerchantId, locations);
    } catch (error) {
      if (error instanceof Problem) return undefined;
      throw error;
    }
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
      locations: grant.all ? 'all' : grant.ids,
      address: call.address,
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
  ): Promise<undefined> {
    const once = { mergeWithLastSubmission: false };
    await this.#provider.interactionFinished(request, response, result, once);
  }
}

const notValid = 'This token is not valid.';

function refused(asked: Asked, fault: string) {
  return { status: 403, ...provePage({ ...asked, fault }) };
}

function proofOf({ result }: Interaction): Proof | undefined {
  const proof = (result as { readonly proof?: Proof } | undefined)?.proof;
  return typeof proof?.token_hash === 'string' ? proof : undefined;
}

/** The locations that both reach, where at least one of them names its own. */
function commonIds(one: Giver, other: LiveApprovalReach): readonly string[] {
  if (one.all_locations) return other.location_ids;
  if (other.all_locations) return one.location_ids;
  return one.location_ids.filter((id) => other.location_ids.includes(id));
}
