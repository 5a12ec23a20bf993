// The endpoints of webhooks. Only the credential that made one changes it and reads its secret: for
// everybody else these do not exist. Others see one that is sent nothing which they may not read,
// and its URL without the query, which is often a password.

import type { DataOf } from '../contract/contract.ts';
import type {
  CollectionEndpoint,
  Endpoint,
  Load,
  MemberEndpoint,
  Operation,
  Write,
  WriteEndpoint,
} from '../contract/endpoint.ts';
import { fetchSize, takePage } from '../contract/page.ts';
import { eventKindsOf } from '../contract/resource.ts';
import type { MerchantId, Principal } from '../core/principal.ts';
import { type Detail, Problem } from '../core/problem.ts';
import { saveLast } from '../records/revision.ts';
import { resources } from '../resources.ts';
import type { Destinations } from './address.ts';
import * as contract from './contract.ts';
import * as rule from './decide.ts';
import type { WebhookSecretSealer } from './secret.ts';
import * as store from './store.ts';

/** What webhooks need of the service that serves them. */
export interface WebhookTools {
  readonly sealer: WebhookSecretSealer;
  readonly destinations: Destinations;
  /** Sends the event of a test, behind its commit. */
  send(operation: Operation, write: Write): void;
}

export function webhookEndpoints(tools: WebhookTools): readonly Endpoint[] {
  return [
    createOf(tools),
    updateOf(tools),
    list,
    get,
    secretOf(tools),
    deliveries,
    testOf(tools),
    redeliver,
  ];
}

type WebhookWrite<C extends contract.WebhookContract> = WriteEndpoint<
  C,
  rule.State,
  store.HeldWebhook,
  store.WebhookChange
>;

const shared = {
  isFor: (row: store.WebhookRow, { actor }: Write) => row.credential_id === actor.credential_id,
  // A replay, which shows it, needs no secret.
  find: store.findWebhooks as WebhookWrite<contract.WebhookContract>['find'],
  present: (row: store.WebhookRow) => presentWebhook(row, row.credential_id),
};

const ofHeld = {
  ...shared,
  load: (writes: readonly Write[]) => loadOf(store.lockWebhooks(writes)),
  save: (changes: readonly store.WebhookChange[]) => [
    ...saveLast(changes, store.updateWebhooks),
    ...saveLast(changes, store.updateProgress),
  ],
};

function createOf({ sealer, destinations }: WebhookTools): WebhookWrite<typeof contract.create> {
  return {
    ...shared,
    contract: contract.create,
    check: (body) => faultsOf(destinations, body),
    load: () => loadOf(),
    decide: (state, write, { time }) => rule.decideCreate(sealer, state, write, time),
    save: (changes) => [
      ...saveLast(changes, store.insertWebhooks),
      ...saveLast(changes, store.insertProgress),
    ],
  };
}

function updateOf({ sealer, destinations }: WebhookTools): WebhookWrite<typeof contract.update> {
  return {
    ...ofHeld,
    contract: contract.update,
    check: (body) => faultsOf(destinations, body),
    decide: (state, write, { time }) => rule.decideUpdate(sealer, state, write, time),
  };
}

function testOf(tools: WebhookTools): WebhookWrite<typeof contract.test> {
  return {
    ...ofHeld,
    contract: contract.test,
    decide: rule.decideTest,
    committed: (operation, write) => tools.send(operation, write),
  };
}

const redeliver: WebhookWrite<typeof contract.redeliver> = {
  ...ofHeld,
  contract: contract.redeliver,
  check: rule.positionFaults,
  decide: (state, write, { time }) => rule.decideRedeliver(state, write, time),
};

function faultsOf(
  destinations: Destinations,
  body: { readonly url?: string; readonly from_position?: string | null },
): Detail[] {
  const { url } = body;
  const fault = url === undefined ? undefined : destinations.urlFault(url);
  return [...(fault === undefined ? [] : [fault]), ...rule.positionFaults(body)];
}

function loadOf(...locks: readonly ReturnType<typeof store.lockWebhooks>[]): Load<rule.State> {
  return {
    statements: [...locks, store.findGround],
    state(answers) {
      const [ground] = (answers.at(-1) ?? []) as store.Ground[];
      if (ground === undefined) throw new Error('a merchant has no journal');
      const rows = (locks.length === 0 ? [] : answers[0]) as store.HeldWebhook[];
      return { ground, rows: new Map(rows.map((row) => [row.id, row])), active: ground.active };
    },
  };
}

const list: CollectionEndpoint<typeof contract.list> = {
  contract: contract.list,
  async run(reader, { principal, query, page }) {
    const { status } = query;
    const rows = await reader.query(
      store.listVisible(visibilityOf(principal), {
        status,
        after: page.after,
        limit: fetchSize(page),
      }),
    );
    const present = (row: store.WebhookRow) => presentWebhook(row, principal.credentialId);
    return takePage(rows, page, (row) => row.id, present);
  },
};

const get: MemberEndpoint<typeof contract.get> = {
  contract: contract.get,
  async run(reads, principal, id) {
    const may = visibilityOf(principal);
    const row = await reads.find((ids) => store.findVisible(may, ids), id);
    return row === undefined ? undefined : presentWebhook(row, principal.credentialId);
  },
};

function secretOf({ sealer }: WebhookTools): MemberEndpoint<typeof contract.getSecret> {
  return {
    contract: contract.getSecret,
    async run(reads, { merchant, credentialId }, id) {
      const row = await reads.find((ids) => store.findSecrets({ merchant, credentialId }, ids), id);
      if (row === undefined) return undefined;
      const opened = openSecrets(sealer, merchant, row);
      if (opened === undefined) throw new Problem('webhook_secret_unreadable');
      const { old_secret_ends_at: expires } = row;
      const [secret, old] = opened;
      return {
        secret,
        previous:
          old !== undefined && expires !== null ? { secret: old, expires_at: expires } : null,
      };
    },
  };
}

/** The new one first. Undefined when that cannot be decrypted. */
export function openSecrets(
  sealer: WebhookSecretSealer,
  merchant: MerchantId,
  { id, secret, old_secret }: store.CallSecrets,
): readonly [string, ...string[]] | undefined {
  const owner = { merchant, webhook: id };
  const opened = sealer.open(owner, secret);
  const old = old_secret === null ? undefined : sealer.open(owner, old_secret);
  if (opened === undefined) return undefined;
  return old === undefined ? [opened] : [opened, old];
}

const deliveries: MemberEndpoint<typeof contract.getDeliveries> = {
  contract: contract.getDeliveries,
  async run(reads, principal, id) {
    const may = visibilityOf(principal);
    const row = await reads.find((ids) => store.findDeliveries(may, ids), id);
    return row && { failures: [...row.failures], attempts: row.attempts.toReversed() };
  },
};

/** Each event type, with the scope that reads what it is about. */
const readScopes = resources.flatMap((resource) => {
  const types = new Set(eventKindsOf(resource).map(({ event }) => event));
  const is_inventory = resource.events?.areMovements === true;
  return [...types].map((type) => ({ type, scope: `${resource.name}.read`, is_inventory }));
});

export function visibilityOf({
  merchant,
  credentialId,
  scopes,
  locations,
}: Principal): store.WebhookSight {
  return {
    merchant,
    credentialId,
    locations: locations === 'all' ? null : locations,
    lacking: readScopes.filter(({ scope }) => !scopes.has(scope)),
  };
}

function presentWebhook(row: store.WebhookRow, viewer: string): DataOf<typeof contract.get> {
  const [withoutQuery = ''] = row.url.split(/[?#]/);
  return {
    id: row.id,
    url: row.credential_id === viewer ? row.url : withoutQuery,
    types: row.types === null ? null : [...row.types],
    location_ids: row.location_ids === null ? null : [...row.location_ids],
    low_stock: row.low_stock,
    description: row.description,
    status: row.status,
    pause_reason: row.pause_reason,
    position: String(row.position),
    journal: row.journal,
    failing_since: row.failing_since,
    last_status: row.last_status,
    credential_id: row.credential_id,
    version: row.version,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
