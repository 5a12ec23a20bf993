// What requests do when they come one after the other: the measure for all their interleavings. A
// shop of one product at one location, and customers; a few lines on purpose, with no SQL.

import { changeLocations, revoke } from '../../src/access/operator/credentials.ts';
import type { Service } from '../../src/app.ts';
import type { Database } from '../../src/database/connect.ts';
import type { Answer, Api } from '../kit/api.ts';

/** What requests are about in one run. No other run has touched it. */
export interface Things {
  readonly merchant: string;
  readonly product: string;
  readonly location: string;
  /** Keys and external IDs of this run are those of the scenario with this behind them. */
  readonly suffix: string;
  /** Who asks, where the scenario changes what it may. */
  readonly credential?: string;
  /** Once there is one. */
  customer?: string;
}

/** The ways into a node: the interface, and the database as the operator's commands have it. */
export interface Hands {
  readonly api: Api;
  readonly operator: Pick<Database, 'reader' | 'writer' | 'inCell'> &
    Pick<Service, 'performAsOperator'>;
}

/** The shop as far as the requests of the scenarios go. */
export class Serial {
  /** What the level was after each movement. */
  readonly chain: string[];
  isActive = true;
  status = 'active';
  precision = 2;
  isLive = true;
  isGranted = true;
  isErased = false;
  readonly holders = new Set<string>();
  readonly bound = new Map<string, { readonly meaning: string; readonly outcome: string }>();

  constructor(chain: readonly string[] = []) {
    this.chain = [...chain];
  }

  /** The answer under a key: what a rule says binds it. */
  answer(key: string, meaning: string, rule: () => string): string {
    const known = this.bound.get(key);
    if (known === undefined) {
      const outcome = rule();
      this.bound.set(key, { meaning, outcome });
      return outcome;
    }
    return known.meaning === meaning ? `${known.outcome} replayed` : '409 idempotency_key_reused';
  }
}

export interface Request {
  /** What the operator does has no answer. */
  send(hands: Hands, things: Things): Promise<Answer | undefined>;
  /** What it is answered, and does, when nothing else is under way. */
  serially(shop: Serial): string;
}

export function adjusting(key: string, target: string): Request {
  return {
    send: ({ api }, { product, location, suffix }) =>
      api.post(
        '/inventory/adjustments',
        {
          product_id: product,
          location_id: location,
          target_quantity: target,
          reason: 'correction',
        },
        { key: key + suffix },
      ),
    serially(shop) {
      if (!shop.isLive) return '401 invalid_token';
      if (!shop.isGranted) return '403 location_not_granted';
      const words = shop.answer(key, target, () => {
        const [, decimals = ''] = target.split('.');
        if (shop.status === 'archived') return '422 product_archived';
        if (decimals.length > shop.precision) return '422 validation_failed';
        if (!shop.isActive) return '422 location_inactive';
        if ((shop.chain.at(-1) ?? '0') === target) return '422 inventory_no_change';
        shop.chain.push(target);
        return '201';
      });
      // Replayed or not, it shows the level as it is now.
      return words.startsWith('201') ? `${words} at ${shop.chain.at(-1)}` : words;
    },
  };
}

export function closing(key: string): Request {
  return {
    send: ({ api }, { location, suffix }) =>
      api.patch(`/locations/${location}`, { status: 'inactive' }, { key: key + suffix }),
    serially: (shop) =>
      shop.answer(key, 'inactive', () => {
        shop.isActive = false;
        return '200';
      }),
  };
}

export function archiving(key: string): Request {
  return {
    send: ({ api }, { product, suffix }) =>
      api.patch(`/products/${product}`, { status: 'archived' }, { key: key + suffix }),
    serially: (shop) =>
      shop.answer(key, 'archived', () => {
        shop.status = 'archived';
        return '200';
      }),
  };
}

export function countingWhole(key: string): Request {
  return {
    send: ({ api }, { product, suffix }) =>
      api.patch(
        `/products/${product}`,
        { unit: { code: 'each', precision: 0 } },
        { key: key + suffix },
      ),
    serially: (shop) =>
      shop.answer(key, 'each', () => {
        if (shop.chain.length > 0) return '422 validation_failed';
        shop.precision = 0;
        return '200';
      }),
  };
}

export function joining(key: string, externalId?: string): Request {
  const holder = externalId === undefined ? {} : { external_id: externalId };
  return {
    send: async ({ api }, things) => {
      const more = externalId === undefined ? {} : { external_id: externalId + things.suffix };
      const body = { name: 'Ada', email: 'ada@example.com', ...more };
      const answer = await api.post('/customers', body, { key: key + things.suffix });
      things.customer = answer.body.data?.id;
      return answer;
    },
    serially: (shop) =>
      shop.answer(key, JSON.stringify(holder), () => {
        if (externalId !== undefined && shop.holders.has(externalId)) {
          return '422 external_id_taken';
        }
        if (externalId !== undefined) shop.holders.add(externalId);
        return '201';
      }),
  };
}

export function upserting(key: string, externalId: string, note: string): Request {
  return {
    send({ api }, { suffix }) {
      const path = `/customers?external_id=${externalId}${suffix}`;
      const body = { name: 'Ada', email: 'ada@example.com', note };
      return api.patch(path, body, { key: key + suffix });
    },
    serially: (shop) =>
      shop.answer(key, `${externalId} ${note}`, () => {
        if (shop.holders.has(externalId)) return '200';
        shop.holders.add(externalId);
        return '201';
      }),
  };
}

/** The customer gives up the external ID. */
export function leaving(key: string, externalId: string): Request {
  return {
    send: ({ api }, { customer, suffix }) =>
      api.patch(`/customers/${customer}`, { external_id: null }, { key: key + suffix }),
    serially: (shop) =>
      shop.answer(key, 'left', () => {
        shop.holders.delete(externalId);
        return '200';
      }),
  };
}

export function renaming(key: string, name: string): Request {
  return {
    send: ({ api }, { customer, suffix }) =>
      api.patch(`/customers/${customer}`, { name }, { key: key + suffix }),
    serially(shop) {
      // Whatever was answered first: of whoever is erased nothing is shown.
      const words = shop.answer(key, name, () => (shop.isErased ? '410' : '200'));
      return shop.isErased ? words.replace(/^\d+/, '410 resource_erased') : words;
    },
  };
}

export function erasing(): Request {
  return {
    send: async ({ operator }, { merchant, customer = '' }) => {
      await operator.performAsOperator(merchant, 'customers.erase', {}, { id: customer });
      return undefined;
    },
    serially(shop) {
      shop.isErased = true;
      shop.holders.clear();
      return 'done';
    },
  };
}

export function ungranting(): Request {
  return {
    send: async ({ operator }, { credential = '' }) => {
      await changeLocations(operator, credential, []);
      return undefined;
    },
    serially(shop) {
      shop.isGranted = false;
      return 'done';
    },
  };
}

export function revoking(): Request {
  return {
    send: async ({ operator }, { credential = '' }) => {
      await revoke(operator, credential);
      return undefined;
    },
    serially(shop) {
      shop.isLive = false;
      return 'done';
    },
  };
}

/** An answer in the words of the model. */
export function wordsOf(answer: Answer | undefined): string {
  if (answer === undefined) return 'done';
  const { status, code, headers, body } = answer;
  const replayed = headers.get('idempotent-replayed') === 'true' ? ['replayed'] : [];
  const level = body.data?.level;
  return [
    status,
    ...(code === undefined ? [] : [code]),
    ...replayed,
    ...(level === undefined ? [] : [`at ${level.quantity}`]),
  ].join(' ');
}
