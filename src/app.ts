// The composition root: the one file that names every domain and joins it to the write path and the
// HTTP server. A service holds no state of its own; start as many as wanted on one database.

import { randomUUID } from 'node:crypto';
import { Denials } from './access/audit/denials.ts';
import { OperatorLines } from './access/audit/operator-lines.ts';
import { Authenticator, type NoteUse } from './access/authenticator.ts';
import { Callers } from './access/cells.ts';
import { accessEndpoints } from './access/endpoints.ts';
import { LastUses } from './access/last-use.ts';
import { operatorPrincipal, operatorRow } from './access/operator/operator.ts';
import {
  type AddressLimit,
  addressLimitsBy,
  type CountAddress,
  countAddresses,
} from './access/rate/address.ts';
import { RateLimiter } from './access/rate/limiter.ts';
import { batchEndpoints } from './batches/endpoints.ts';
import { Cells } from './cells/cells.ts';
import { CursorSealer } from './contract/cursor.ts';
import type { AnyWriteEndpoint, Endpoint, Write } from './contract/endpoint.ts';
import type { JsonObject } from './contract/json.ts';
import type { OperationType } from './contract/resource.ts';
import type { AllowedDestination } from './core/destination.ts';
import { mintId } from './core/id.ts';
import { limits } from './core/limits.ts';
import type { Reads } from './core/statement.ts';
import { countEndpoints } from './counts/endpoints.ts';
import { customerCommands, customerEndpoints } from './customers/endpoints.ts';
import type { Database } from './database/connect.ts';
import { JointReads } from './database/joint-reads.ts';
import { eventEndpoints } from './events/endpoints.ts';
import { EventPages } from './events/pages.ts';
import { Watch } from './events/watch.ts';
import type { Api } from './http/pipeline.ts';
import { inventoryEndpoints } from './inventory/endpoints.ts';
import { locationEndpoints } from './locations/endpoints.ts';
import { type OAuthServer, oauthOnDemand } from './oauth/server.ts';
import { Dispatcher, type WriteAnswer, type WritePath } from './operations/dispatch.ts';
import { operationEndpoints } from './operations/endpoints.ts';
import { writeOf } from './operations/write.ts';
import { peopleEndpoints } from './people/endpoints.ts';
import { productEndpoints } from './products/endpoints.ts';
import { reservationCommands, reservationEndpoints } from './reservations/endpoints.ts';
import { Sweep } from './reservations/sweep.ts';
import { SignIn } from './sessions/sign-in.ts';
import { type BackupSight, type StatusTools, statusEndpoints } from './status/endpoints.ts';
import { stockEndpoints } from './stock/endpoints.ts';
import { tokenEndpoints } from './tokens/endpoints.ts';
import { transferEndpoints } from './transfers/endpoints.ts';
import { Destinations } from './webhooks/address.ts';
import { type Deliveries, sumOf } from './webhooks/deliveries.ts';
import { Delivery, type DeliveryOptions } from './webhooks/delivery.ts';
import { Slots } from './webhooks/delivery-slots.ts';
import { type WebhookTools, webhookEndpoints } from './webhooks/endpoints.ts';
import { WebhookSecretSealer } from './webhooks/secret.ts';
import { SenderOnDemand } from './webhooks/sender.ts';
import { WebhookTrials } from './webhooks/trials.ts';

const domains: readonly Endpoint[] = [
  ...customerEndpoints,
  ...productEndpoints,
  ...locationEndpoints,
  ...inventoryEndpoints,
  ...transferEndpoints,
  ...reservationEndpoints,
  ...stockEndpoints,
  ...countEndpoints,
];

const pages = new EventPages(domains);

/** Every endpoint of the interface, in the order of the document. */
const endpointsOf = (tools: WebhookTools & StatusTools): readonly Endpoint[] => {
  const webhooks = webhookEndpoints(tools);
  return [
    ...domains,
    ...batchEndpoints([...domains, ...webhooks]),
    ...operationEndpoints,
    ...eventEndpoints(pages),
    ...webhooks,
    ...peopleEndpoints,
    ...tokenEndpoints,
    ...statusEndpoints(tools),
    ...accessEndpoints,
  ];
};

/** For those who look at contracts. What is served is a service's: it has the service's secret. */
export const endpoints: readonly Endpoint[] = endpointsOf({
  sealer: new WebhookSecretSealer(''),
  destinations: new Destinations([]),
  send: () => undefined,
  backups: () => undefined,
});

export interface ServiceOptions {
  readonly database: Database;
  /** The key of cursors, the same on every node. */
  readonly secret: string;
  /** What webhooks may call beside public addresses. */
  readonly webhookAllow?: readonly AllowedDestination[];
  /** How many processes serve as one node and share its limits. */
  readonly workers?: number;
  /** Where what comes from an address is counted: here, unless workers share it. */
  readonly countAddress?: CountAddress;
  /** How the daily backups are that this process takes; undefined: it takes none. */
  backups?(): BackupSight | undefined;
  onBatch?(type: string, writes: number, seconds: number): void;
  /** Told at the end when denied requests could not be written to the audit trail. */
  onUnrecorded?(denials: number): void;
}

export interface Service {
  readonly api: Api;
  readonly endpoints: readonly Endpoint[];
  readonly dispatcher: WritePath;
  /** Takes every request that was turned away. */
  readonly denials: Pick<Denials, 'note'>;
  /**
   * A write by the operator, on the same path as every other write.
   * @throws Problem
   */
  performAsOperator(
    merchantId: string,
    type: OperationType,
    body: JsonObject,
    options?: { readonly id?: string; readonly key?: string },
  ): Promise<WriteAnswer>;
  /** Begins to tell which reservations have expired, until what is returned is stopped. */
  sweep(onError: (error: unknown) => void): Pick<Sweep, 'stop'>;
  /** Begins to call the receivers of webhooks, until what is returned is stopped. */
  deliver(watcher?: DeliveryOptions): Deliveries;
  /** What people may ask for from one address before anybody is known. */
  readonly consents: AddressLimit;
  /** How people sign in. */
  readonly signIn: SignIn;
  /** The authorization server, made when it is first asked for. */
  oauthServer(issuer: string): Promise<OAuthServer>;
  /** Writes what it has noted in the background. Call it when no request is running. */
  close(): Promise<void>;
}

export function createService(options: ServiceOptions): Service {
  const { database, workers = 1 } = options;
  const byAddress = addressLimitsBy(options.countAddress ?? countAddresses());
  const lastUses = new LastUses(database.globalWriter);
  const noteUse: NoteUse = (credential) => lastUses.note(credential);
  const cells = new Cells<CellParts>(database, (own) => partsOf(own, options, noteUse));
  const readerOf = (merchant: string) => cells.of(merchant).readerOf(merchant);
  const dispatcher = dispatcherOf(cells);
  const limiter = new RateLimiter(database.leases, { workers });
  const denials = new Denials(database.globalWriter, { workers });
  const trials = webhookTrials(options, cells);
  const { sealer, destinations } = trials;
  const served = endpointsOf({
    ...{ sealer, destinations },
    send: (operation, write) => trials.send(operation, write),
    backups: () => options.backups?.(),
  });
  const perform = operatorWrites(cells, database, served);
  return {
    endpoints: served,
    ...{ dispatcher, denials },
    api: {
      ...{ readerOf, limiter, dispatcher },
      watch: {
        get waiting() {
          return cells.all.reduce((total, { watch }) => total + watch.waiting, 0);
        },
        follow: (follower) => cells.of(follower.merchant).watch.follow(follower),
        end: () => {
          for (const { watch } of cells.all) watch.end();
        },
      },
      authenticator: new Callers({
        in: (cell) => cells.in(cell).authenticator,
        tokens: () => cells.tokens,
        note: (merchant, cell) => cells.note(merchant, cell),
      }),
      failures: byAddress.failures,
      cursors: new CursorSealer(options.secret),
    },
    consents: byAddress.consents,
    signIn: new SignIn(database.reserve, database.globalWriter, byAddress.signIns),
    performAsOperator: recorded(database, perform),
    sweep: (onError) => sweepOf(cells, perform, onError),
    deliver: (watcher) => deliveryOf(cells, options, watcher),
    oauthServer: oauthOnDemand({
      database,
      secret: options.secret,
      writer: database.globalWriter,
      pace: byAddress.applicationTokens,
    }),
    close: async () => {
      await trials.close();
      await limiter.close();
      await lastUses.close();
      await closeDenials(denials, options);
    },
  };
}

/** What a service has of one cell. */
interface CellParts {
  readonly database: Database;
  readonly authenticator: Authenticator;
  readonly readerOf: (merchant: string) => Reads;
  readonly watch: Watch;
  readonly dispatcher: Dispatcher;
  delivery?: Delivery;
}

function partsOf(database: Database, options: ServiceOptions, noteUse: NoteUse): CellParts {
  const joint = new JointReads(database.readerOf);
  const readerOf = (merchant: string) => joint.readerOf(merchant);
  const watch = new Watch(database.readerOf, database.reader);
  const dispatcher = new Dispatcher({
    writer: database.writer,
    spanningWriter: database.spanningWriter,
    readerOf,
    workers: limits.writeWorkers,
    onChange: (merchant, position) => {
      watch.note(merchant, position);
      parts.delivery?.note(merchant, position);
    },
    ...(options.onBatch === undefined ? {} : { onBatch: options.onBatch }),
  });
  const authenticator = new Authenticator(database.reserve, noteUse);
  const parts: CellParts = { database, authenticator, readerOf, watch, dispatcher };
  return parts;
}

/** Each write goes the way of its cell, so a batch is of one. */
function dispatcherOf(cells: Cells<CellParts>): WritePath {
  const of = ({ merchant }: Write) => cells.of(merchant).dispatcher;
  return {
    get queued() {
      return cells.all.reduce((total, { dispatcher }) => total + dispatcher.queued, 0);
    },
    perform: (write, bound) => of(write).perform(write, bound),
    findBound: (write) => of(write).findBound(write),
    judgeFields: (write) => of(write).judgeFields(write),
    judgeResource: (write) => of(write).judgeResource(write),
  };
}

async function closeDenials(denials: Denials, { onUnrecorded }: ServiceOptions): Promise<void> {
  const unrecorded = await denials.close();
  if (unrecorded > 0) onUnrecorded?.(unrecorded);
}

type OperatorWrites = (
  merchantId: string,
  type: OperationType,
  body: JsonObject,
  options?: { readonly id?: string; readonly key?: string; readonly requestId?: string },
) => Promise<WriteAnswer>;

/** Each has a line in the audit trail first: somebody gave a command. */
function recorded(database: Database, perform: OperatorWrites): Service['performAsOperator'] {
  const lines = new OperatorLines(database.globalWriter);
  return async (merchantId, type, body, options = {}) => {
    const requestId = mintId('req_');
    const resource = options.id === undefined ? {} : { resource_id: options.id };
    const entry = { action: type, merchant_id: merchantId, ...resource };
    await lines.record({ ...entry, request_id: requestId });
    return perform(merchantId, type, body, { ...options, requestId });
  };
}

function operatorWrites(
  cells: Cells<CellParts>,
  { reader }: Database,
  served: readonly Endpoint[],
): OperatorWrites {
  return async (merchantId, type, body, options = {}) => {
    const { id = '', key = randomUUID(), requestId = mintId('req_') } = options;
    const operator = await operatorRow(reader, merchantId);
    cells.note(operator.merchant_id, operator.cell);
    const { dispatcher } = cells.of(operator.merchant_id);
    const write = writeOf(writeEndpoint(served, type), operatorPrincipal(operator), {
      id,
      externalId: undefined,
      key,
      body,
      ifMatch: undefined,
      requestId,
      deadline: performance.now() + limits.requestDeadline,
    });
    const bound = (await dispatcher.judgeFields(write)) ?? (await dispatcher.judgeResource(write));
    return dispatcher.perform(write, bound);
  };
}

function sweepOf(
  cells: Cells<CellParts>,
  perform: OperatorWrites,
  onError: (error: unknown) => void,
): Pick<Sweep, 'stop'> {
  const { works, end } = cells.each(({ database: { reader } }) => {
    const sweep = new Sweep({
      ...{ reader, onError },
      expire: (merchant, id, key) => perform(merchant, 'inventory.expire', {}, { id, key }),
    });
    sweep.start();
    return sweep;
  });
  return {
    stop: async () => {
      end();
      await Promise.all(works.map((sweep) => sweep.stop()));
    },
  };
}

function webhookTrials(
  { secret, webhookAllow = [], workers = 1 }: ServiceOptions,
  cells: Cells<CellParts>,
): WebhookTrials {
  const sealer = new WebhookSecretSealer(secret);
  const destinations = new Destinations(webhookAllow);
  return new WebhookTrials({
    sealer,
    destinations,
    sender: new SenderOnDemand(destinations),
    atOnce: Math.ceil(limits.webhookTestsAtOnce / workers),
    writerOf: (merchant) => cells.of(merchant).database.writer,
    readerOf: (merchant) => cells.of(merchant).readerOf(merchant),
  });
}

function deliveryOf(
  cells: Cells<CellParts>,
  { secret, webhookAllow = [] }: ServiceOptions,
  watcher?: DeliveryOptions,
): Deliveries {
  const shared = {
    pages,
    sealer: new WebhookSecretSealer(secret),
    sender: new SenderOnDemand(new Destinations(webhookAllow)),
    slots: new Slots(),
  };
  const { works, end } = cells.each((parts) => {
    const { reader, readerOf, writer } = parts.database.deliveries;
    const joint = new JointReads(readerOf);
    const readers = { reader, readerOf: (merchant: string) => joint.readerOf(merchant) };
    const servers = parts.database.eachServer;
    parts.delivery = new Delivery({ ...shared, ...readers, writer, servers }, watcher);
    parts.delivery.start();
    return parts.delivery;
  });
  return {
    stop: async (patience) => {
      end();
      await Promise.all(works.map((delivery) => delivery.stop(patience)));
    },
    standing: async () => sumOf(await Promise.all(works.map((delivery) => delivery.standing()))),
  };
}

function writeEndpoint(served: readonly Endpoint[], type: OperationType): AnyWriteEndpoint {
  const commands = [...customerCommands, ...reservationCommands];
  const found = [...served, ...commands].find(({ contract }) => contract.name === type);
  if (found === undefined || found.contract.kind !== 'write') throw new Error(`no write ${type}`);
  return found as AnyWriteEndpoint;
}
