// The composition root: the one file that names every domain and joins it to the write path and the
// HTTP edge. A service holds no state of its own; start as many as wanted on one database.

import { randomUUID } from 'node:crypto';
import { Authenticator } from './access/authenticator.ts';
import { accessEndpoints } from './access/endpoints.ts';
import { LastUses } from './access/last-use.ts';
import { operatorPrincipal } from './access/operator/principal.ts';
import { findOperator } from './access/store.ts';
import type { OperationType } from './core/contract.ts';
import type { AnyWriteEndpoint, Endpoint } from './core/endpoint.ts';
import { mintId } from './core/id.ts';
import { limits } from './core/limits.ts';
import { CursorSealer } from './core/page.ts';
import { customerEndpoints } from './customers/endpoints.ts';
import type { Database } from './database/connect.ts';
import type { Edge } from './http/pipeline.ts';
import { Submitter } from './http/submit.ts';
import { decodeJsonObject } from './http/wire/json.ts';
import { inventoryEndpoints } from './inventory/endpoints.ts';
import { locationEndpoints } from './locations/endpoints.ts';
import { Dispatcher, type WriteAnswer } from './operations/dispatch.ts';
import { operationEndpoints } from './operations/endpoints.ts';
import { productEndpoints } from './products/endpoints.ts';

/** Every endpoint of the interface, in the order of the document. */
export const endpoints: readonly Endpoint[] = [
  ...customerEndpoints,
  ...productEndpoints,
  ...locationEndpoints,
  ...inventoryEndpoints,
  ...operationEndpoints,
  ...accessEndpoints,
];

export interface ServiceOptions {
  readonly database: Database;
  /** The key of cursors, the same on every node. */
  readonly secret: string;
  onBatch?(type: string, commands: number, seconds: number): void;
}

export interface Service {
  readonly edge: Edge;
  readonly dispatcher: Dispatcher;
  /**
   * A write by the operator, on the same path as every other write.
   * @throws Problem
   */
  performAsOperator(
    merchantId: string,
    type: OperationType,
    body: object,
    options?: { readonly id?: string; readonly key?: string },
  ): Promise<WriteAnswer>;
  /** Writes what it has noted in the background. To be called once no request is under way. */
  close(): Promise<void>;
}

export function createService(options: ServiceOptions): Service {
  const { database } = options;
  const dispatcher = new Dispatcher({
    writer: database.writer,
    reader: database.reader,
    workers: limits.writeWorkers,
    ...(options.onBatch === undefined ? {} : { onBatch: options.onBatch }),
  });
  const submitter = new Submitter(dispatcher, database.reader);
  const lastUses = new LastUses(database.writer);
  return {
    dispatcher,
    edge: {
      reader: database.reader,
      authenticator: new Authenticator(database.reserve, (credential) => lastUses.note(credential)),
      submitter,
      cursors: new CursorSealer(options.secret),
    },
    async performAsOperator(merchantId, type, body, { id = '', key = randomUUID() } = {}) {
      const [operator] = await database.reader.query(findOperator(merchantId));
      if (operator === undefined) throw new Error(`there is no merchant ${merchantId}`);
      return submitter.submit({
        endpoint: writeEndpoint(type),
        principal: operatorPrincipal(operator),
        id,
        // Through the decoder, so that an operator's body obeys the rules of everyone's.
        body: decodeJsonObject(Buffer.from(JSON.stringify(body))),
        key,
        ifMatch: undefined,
        requestId: mintId('request'),
        deadline: performance.now() + limits.requestDeadline,
      });
    },
    close: () => lastUses.close(),
  };
}

function writeEndpoint(type: OperationType): AnyWriteEndpoint {
  const found = endpoints.find((endpoint) => endpoint.contract.name === type);
  if (found === undefined || found.contract.kind !== 'write') throw new Error(`no write ${type}`);
  return found as AnyWriteEndpoint;
}
