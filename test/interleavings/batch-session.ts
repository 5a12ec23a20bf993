// Batches of several writes as sessions. Over HTTP they would arrive one by one; what
// must be one transaction is handed to the recovery of batches here, as the dispatcher does.

import { endpoints } from '../../src/app.ts';
import type { AnyWriteEndpoint, Write } from '../../src/contract/endpoint.ts';
import { canonicalQuantity } from '../../src/core/decimal.ts';
import { mintId } from '../../src/core/id.ts';
import { limits } from '../../src/core/limits.ts';
import type { Actor, MerchantId } from '../../src/core/principal.ts';
import { Problem } from '../../src/core/problem.ts';
import { customerCommands } from '../../src/customers/endpoints.ts';
import { connectDatabase, type Database } from '../../src/database/connect.ts';
import { fingerprint, hashKey } from '../../src/operations/fingerprint.ts';
import { settleBatch } from '../../src/operations/recover.ts';
import { homeCell } from '../kit/cells.ts';
import type { GivenCredential } from '../kit/given.ts';
import { type InterleavingEnvironment, patient } from './environment.ts';
import { type Halts, Session, stepped } from './session.ts';

/** One write of a batch. */
export interface Order {
  readonly type:
    | 'customers.erase'
    | 'inventory.adjust'
    | 'inventory.count'
    | 'inventory.reserve'
    | 'inventory.transfer'
    | 'locations.update'
    | 'products.update'
    | 'products.upsert';
  readonly key: string;
  /** The path ID of an update. */
  readonly id?: string;
  /** That of the query of an upsert. */
  readonly externalId?: string;
  /** Of another merchant than the node's own. */
  readonly owner?: GivenCredential;
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
    this.#database = stepped(database.inCell(homeCell), () => this.#session);
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  /** Begins a batch. What became of each write is told in order. */
  begin(name: string, orders: readonly Order[], halts: Halts) {
    const session = new Session(name, halts);
    this.#session = session;
    const outcomes = new Map<Write, string>();
    const writes = orders.map((order) => writeOf(order, order.owner ?? this.#owner));
    const done = session.run(() =>
      settleBatch(this.#database.writer, writes, (write, result) => {
        if (result === 'alone' || result instanceof Problem) {
          outcomes.set(write, result instanceof Problem ? result.code : result);
        } else if (result.operation.id !== write.operationId) outcomes.set(write, 'replay');
        else outcomes.set(write, result.operation.status);
      }),
    );
    const outcome = () => done.then(() => writes.map((one) => outcomes.get(one)).join());
    return { session, outcome, operations: writes.map(({ operationId }) => operationId) };
  }
}

function writeOf({ type, key, id = '', externalId, body }: Order, owner: GivenCredential): Write {
  const known = [...endpoints, ...customerCommands];
  const endpoint = known.find(({ contract }) => contract.name === type) as AnyWriteEndpoint;
  const actor: Actor = {
    credential_id: owner.id,
    name: 'till',
    kind: 'personal_access_token',
    application_id: null,
  };
  const ifMatch = undefined;
  return {
    endpoint,
    merchant: owner.merchant as MerchantId,
    actor,
    scopes: new Set(),
    tokenScopes: null,
    granted: 'all',
    externalId,
    id,
    body,
    faults: [],
    ifMatch,
    keyHash: hashKey(key),
    fingerprint: fingerprint(key, { type, id, externalId, ifMatch, body }),
    operationId: mintId('op_'),
    locationId: undefined,
    toLocationId: undefined,
    lines: 1,
    requestId: mintId('req_'),
    deadline: performance.now() + limits.requestDeadline,
  };
}

/** Two nodes for batches on the database of an environment. */
export function twoNodes({
  db,
  owner,
}: Pick<InterleavingEnvironment, 'db' | 'owner'>): readonly [BatchNode, BatchNode] {
  const node = () => new BatchNode(db.serviceUrl, owner);
  return [node(), node()];
}
