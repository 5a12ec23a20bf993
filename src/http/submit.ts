// The way of an authorised write to the dispatcher, the same for HTTP and for the operator. What a
// key is bound to comes first: the request that bound it is a replay, and any other one 409, though
// its fields be refused today. A path ID is settled before the claim, because a 404 binds no key.

import type { AnyWriteEndpoint, Command } from '../core/endpoint.ts';
import { mintId } from '../core/id.ts';
import { actorOf, canReach, type MerchantId, type Principal } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';
import type { Reads } from '../core/statement.ts';
import type { KnownOperation } from '../operations/claim.ts';
import type { Dispatcher, WriteAnswer } from '../operations/dispatch.ts';
import { fingerprint } from '../operations/fingerprint.ts';
import { BodyParser } from './parse.ts';
import type { JsonObject } from './wire/json.ts';

/** A write whose caller has been let in. */
export interface Submission {
  readonly endpoint: AnyWriteEndpoint;
  readonly principal: Principal;
  /** The path ID of a PATCH, otherwise empty. */
  readonly id: string;
  readonly body: JsonObject;
  readonly key: string;
  readonly keyHash: Buffer;
  /** What the key is bound to, when that is known already. */
  readonly known: KnownOperation | undefined;
  readonly ifMatch: number | undefined;
  readonly requestId: string;
  /** By `performance.now()`. */
  readonly deadline: number;
}

export class Submitter {
  readonly #dispatcher: Dispatcher;
  readonly #readerOf: (merchant: MerchantId) => Reads;
  readonly #parsers = new Map<AnyWriteEndpoint, BodyParser>();

  constructor(dispatcher: Dispatcher, readerOf: (merchant: MerchantId) => Reads) {
    this.#dispatcher = dispatcher;
    this.#readerOf = readerOf;
  }

  /** @throws Problem */
  async submit(submission: Submission): Promise<WriteAnswer> {
    const { endpoint, principal, id, ifMatch, key, keyHash } = submission;
    const { contract } = endpoint;
    const { merchant, credentialId } = principal;
    const identity = { merchant, credentialId, type: contract.name, keyHash };
    if (contract.resourceType === 'location' && id !== '' && !canReach(principal, id)) {
      throw new Problem('not_found');
    }
    if (contract.needsAllLocations === true && principal.locations !== 'all') {
      throw new Problem('location_not_granted');
    }
    const { body, refusal } = this.#judged(endpoint, submission.body);
    // All that was sent counts: an earlier version may have bound it by rules that were wider.
    const meaning = { type: contract.name, id, ifMatch, body: { ...submission.body, ...body } };
    const print = fingerprint(key, meaning);
    let { known } = submission;
    if (known === undefined) {
      const reason = refusal ?? (await this.#pathRefusal(endpoint, principal, id));
      if (reason !== undefined) known = await this.#dispatcher.lookUp(identity);
      if (reason !== undefined && known === undefined) throw reason;
    }
    const command: Command = {
      operationId: mintId('operation'),
      merchant,
      actor: actorOf(principal),
      id,
      body,
      ifMatch,
    };
    const named = typeof body.location_id === 'string' ? body.location_id : undefined;
    const locationId = contract.resourceType === 'location' && id !== '' ? id : named;
    return this.#dispatcher.perform({
      ...identity,
      endpoint,
      command,
      fingerprint: print,
      locationId,
      requestId: submission.requestId,
      deadline: submission.deadline,
      known,
    });
  }

  /** What a body means, whether it can be written or not, and why not. */
  #judged(endpoint: AnyWriteEndpoint, sent: JsonObject) {
    const parser = this.#parserOf(endpoint);
    const faults = parser.faults(sent);
    const body = parser.normalise(sent);
    // What several members say together is judged as far as each of them is usable by itself.
    const faulty = new Set(faults.map(({ field }) => field?.split('.')[0]));
    const usable = Object.entries(body).filter(([name]) => !faulty.has(name));
    faults.push(...(endpoint.check?.(Object.fromEntries(usable)) ?? []));
    const refusal =
      faults.length === 0 ? undefined : new Problem('validation_failed', { details: faults });
    return { body, refusal };
  }

  /** Why the resource in the path cannot be written, if it cannot. Rows are never deleted. */
  async #pathRefusal(
    endpoint: AnyWriteEndpoint,
    principal: Principal,
    id: string,
  ): Promise<Problem | undefined> {
    if (endpoint.contract.method === 'POST') return undefined;
    const { merchant } = principal;
    const reads = this.#readerOf(merchant);
    const row = await reads.find((ids) => endpoint.find(merchant, ids), id);
    if (row === undefined) return new Problem('not_found');
    try {
      endpoint.present(row);
      return undefined;
    } catch (error) {
      if (error instanceof Problem) return error;
      throw error;
    }
  }

  #parserOf(endpoint: AnyWriteEndpoint): BodyParser {
    let parser = this.#parsers.get(endpoint);
    if (parser === undefined) {
      parser = new BodyParser(endpoint.contract);
      this.#parsers.set(endpoint, parser);
    }
    return parser;
  }
}
