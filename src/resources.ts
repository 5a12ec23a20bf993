// Everything that domains declare, in the order of the document. What is central reads it here: a
// new resource is one more name in this list.

import { credential } from './access/resource.ts';
import { batches } from './batches/resource.ts';
import {
  type EventType,
  eventKindsOf,
  type OperationType,
  type Resource,
} from './contract/resource.ts';
import type { Scope } from './core/principal.ts';
import { counts } from './counts/contract.ts';
import { customers } from './customers/contract.ts';
import { events } from './events/resource.ts';
import { inventory } from './inventory/contract.ts';
import { locations } from './locations/contract.ts';
import { operations } from './operations/resource.ts';
import { people } from './people/resource.ts';
import { products } from './products/contract.ts';
import { reservations } from './reservations/contract.ts';
import { status } from './status/resource.ts';
import { stock } from './stock/resource.ts';
import { tokens } from './tokens/resource.ts';
import { transfers } from './transfers/contract.ts';
import { webhooks } from './webhooks/resource.ts';

export const resources: readonly Resource[] = [
  customers,
  products,
  locations,
  inventory,
  transfers,
  counts,
  reservations,
  batches,
  stock,
  operations,
  events,
  webhooks,
  people,
  tokens,
  status,
  credential,
];

export const scopes: readonly Scope[] = resources.flatMap((resource) => resource.scopes);

const written = new Map(
  resources.flatMap((resource) => resource.operationTypes.map((type) => [type, resource] as const)),
);

export const operationTypes: readonly OperationType[] = [...written.keys()];

/** What an operation of this type writes. */
export function resourceOf(type: OperationType): Resource {
  const resource = written.get(type);
  if (resource === undefined) throw new Error(`no resource is written by ${type}`);
  return resource;
}

/** What can happen, in the words of the feed. */
export const eventTypes: readonly EventType[] = [
  ...new Set(resources.flatMap((resource) => eventKindsOf(resource).map(({ event }) => event))),
];
