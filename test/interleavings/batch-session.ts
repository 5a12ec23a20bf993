// Batches of several commands as sessions. Over HTTP their commands would arrive one by one; what
// must be one transaction is handed to the recovery of batches here, as the dispatcher does.

import { endpoints } from '../../src/app.ts';
import { canonicalQuantity } from '../../src/core/decimal.ts';
import type { AnyWriteEndpoint } from '../../src/core/endpoint.ts';
import { mintId } from '../../src/core/id.ts';
import { limits } from '../../src/core/limits.ts';
import type { Actor, MerchantId } from '../../src/core/principal.ts';
import { Problem } from '../../src/core/problem.ts';
import { connectDatabase, type Database } from '../../src/database/connect.ts';
import { fingerprint, hashKey } from '../../src/operations/fingerprint.ts';
import { settleBatch, type TimedTicket } from '../../src/operations/recover.ts';
import type { GivenCredential } from '../support/given.ts';
import { type Halts, Session, stepped } from './session.ts';
import { patient } from './stage.ts';

/** One command of a batch. */
export interface Order {
  readonly type: 'inventory.adjust' | 'locations.update' | 'products.update';
  readonly key: string;
  /** The path ID of an update. */
  readonly id?: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export function adjustment(key: string, product: string, location: string, target: string): Order {
  const body = {
    product_id: product,
    location_id: location,
    target_quantity: canonicalQuantity(target),
    reason: 'correction',
    expected_quantity: null,
    note: null,
    reference: null,
  };
  return { type: 'inventory.adjust', key, body };
}

/** A node that runs one batch at a time. */
export class BatchNode {
  readonly #owner: GivenCredential;
  readonly #database: Database;
  #session: Session | undefined;

  constructor(serviceUrl: string, owner: GivenCredential) {
    this.#owner = owner;
    const database = connectDatabase({ url: patient(serviceUrl), writers: 1 });
    this.#database = stepped(database, () => this.#session);
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  /** Begins a batch. What became of each command is told in order. */
  begin(name: string, orders: readonly Order[], halts: Halts) {
    const session = new Session(name, halts);
    this.#session = session;
    const told = new Map<TimedTicket, string>();
    const tickets = orders.map((order) => ticketOf(order, this.#owner));
    const done = session.run(() =>
      settleBatch(this.#database.writer, tickets, (ticket, result) => {
        if (result === 'apart' || result instanceof Problem) {
          told.set(ticket, result instanceof Problem ? result.code : result);
        } else if (result.kind === 'known') told.set(ticket, 'known');
        else told.set(ticket, result.outcome.status);
      }),
    );
    return { session, outcome: () => done.then(() => tickets.map((one) => told.get(one)).join()) };
  }
}

function ticketOf({ type, key, id = '', body }: Order, owner: GivenCredential): TimedTicket {
  const endpoint = endpoints.find(({ contract }) => contract.name === type) as AnyWriteEndpoint;
  const merchant = owner.merchant as MerchantId;
  const actor: Actor = {
    credential_id: owner.id,
    kind: 'personal_access_token',
    application_id: null,
  };
  const operationId = mintId('operation');
  const ifMatch = undefined;
  return {
    endpoint,
    merchant,
    credentialId: owner.id,
    type,
    keyHash: hashKey(key),
    operationId,
    fingerprint: fingerprint(key, { type, id, ifMatch, body }),
    locationId: undefined,
    requestId: mintId('request'),
    deadline: performance.now() + limits.requestDeadline,
    command: { operationId, merchant, actor, id, body, ifMatch },
  };
}
