// The composition root: the one file that names every domain and joins it to the write path and the
// HTTP edge. A service holds no state of its own; start as many as wanted on one database.

import { randomUUID } from 'node:crypto';
import { Deeds } from './access/audit/deeds.ts';
import { Denials } from './access/audit/denials.ts';
import { Authenticator } from './access/authenticator.ts';
import { accessEndpoints } from './access/endpoints.ts';
import { LastUses } from './access/last-use.ts';
import { type OAuthServer, oauthOnDemand } from './access/oauth/server.ts';
import { operatorPrincipal } from './access/operator/principal.ts';
import { FailedAuthentications } from './access/rate/address.ts';
import { RateLimiter } from './access/rate/limiter.ts';
import { findOperator } from './access/store.ts';
import type { OperationType } from './core/contract.ts';
import type { AnyWriteEndpoint, Endpoint } from './core/endpoint.ts';
import { mintId } from './core/id.ts';
import { limits } from './core/limits.ts';
import { CursorSealer } from './core/page.ts';
import { customerEndpoints } from './customers/endpoints.ts';
import type { Database } from './database/connect.ts';
import { JointReads } from './database/joint-reads.ts';
import type { Edge } from './http/pipeline.ts';
import { Submitter } from './http/submit.ts';
import { decodeJsonObject } from './http/wire/json.ts';
import { inventoryEndpoints } from './inventory/endpoints.ts';
import { locationEndpoints } from './locations/endpoints.ts';
import { Dispatcher, type WriteAnswer } from './operations/dispatch.ts';
import { operationEndpoints } from './operations/endpoints.ts';
import { hashKey } from './operations/fingerprint.ts';
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
  /** Told at the end when denied requests could not be written to the audit trail. */
  onUnrecorded?(denials: number): void;
}

export interface Service {
  readonly edge: Edge;
  readonly dispatcher: Dispatcher;
  /** Takes every request that was turned away. */
  readonly denials: Pick<Denials, 'note'>;
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
  /** The authorization server, made when it is first asked for. */
  oauthServer(issuer: string): Promise<OAuthServer>;
  /** Writes what it has noted in the background. To be called once no request is under way. */
  close(): Promise<void>;
}

export function createService(options: ServiceOptions): Service {
  const { database } = options;
  const joint = new JointReads(database.readerOf);
  const readerOf = (merchant: string) => joint.readerOf(merchant);
  const dispatcher = new Dispatcher({
    writer: database.writer,
    readerOf,
    workers: limits.writeWorkers,
    ...(options.onBatch === undefined ? {} : { onBatch: options.onBatch }),
  });
  const submitter = new Submitter(dispatcher, readerOf);
  const lastUses = new LastUses(database.errands);
  const limiter = new RateLimiter(database.leases);
  const denials = new Denials(database.errands);
  const deeds = new Deeds(database.errands);
  return {
    dispatcher,
    denials,
    edge: {
      readerOf,
      authenticator: new Authenticator(database.reserve, (credential) => lastUses.note(credential)),
      failures: new FailedAuthentications(),
      limiter,
      submitter,
      cursors: new CursorSealer(options.secret),
    },
    async performAsOperator(merchantId, type, body, { id = '', key = randomUUID() } = {}) {
      const [operator] = await database.reader.query(findOperator(merchantId));
      if (operator === undefined) throw new Error(`there is no merchant ${merchantId}`);
      const requestId = mintId('request');
      const resource = id === '' ? {} : { resource_id: id };
      const deed = { action: type, merchant_id: merchantId, ...resource };
      await deeds.record({ ...deed, request_id: requestId });
      return submitter.submit({
        endpoint: writeEndpoint(type),
        principal: operatorPrincipal(operator),
        id,
        // Through the decoder, so that an operator's body obeys the rules of everyone's.
        body: decodeJsonObject(Buffer.from(JSON.stringify(body))),
        key,
        keyHash: hashKey(key),
        known: undefined,
        ifMatch: undefined,
        requestId,
        deadline: performance.now() + limits.requestDeadline,
      });
    },
    oauthServer: oauthOnDemand({ ...database, secret: options.secret, writer: database.errands }),
    close: async () => {
      await limiter.close();
      await lastUses.close();
      const unrecorded = await denials.close();
      if (unrecorded > 0) options.onUnrecorded?.(unrecorded);
    },
  };
}

function writeEndpoint(type: OperationType): AnyWriteEndpoint {
  const found = endpoints.find((endpoint) => endpoint.contract.name === type);
  if (found === undefined || found.contract.kind !== 'write') throw new Error(`no write ${type}`);
  return found as AnyWriteEndpoint;
}
