// What requests do when they come one after the other: the measure for all their interleavings. A
// shop of one product at one location, and customers; a few lines on purpose, with no SQL.

import type { Answer, Api } from '../support/api.ts';

/** What requests are about in one run. No other run has touched it. */
export interface Things {
  readonly product: string;
  readonly location: string;
  /** Keys and external IDs of this run are those of the scenario with this behind them. */
  readonly suffix: string;
}

/** The shop as far as the requests of the scenarios go. */
export class Serial {
  /** What the level was after each movement. */
  readonly chain: string[];
  isActive = true;
  status = 'active';
  precision = 2;
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
  send(api: Api, things: Things): Promise<Answer>;
  /** What it is answered, and does, when nothing else is under way. */
  serially(shop: Serial): string;
}

export function adjusting(key: string, target: string): Request {
  return {
    send: (api, { product, location, suffix }) =>
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
    send: (api, { location, suffix }) =>
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
    send: (api, { product, suffix }) =>
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
    send: (api, { product, suffix }) =>
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
    send: (api, { suffix }) => {
      const more = externalId === undefined ? {} : { external_id: externalId + suffix };
      const body = { name: 'Ada', email: 'ada@example.com', ...more };
      return api.post('/customers', body, { key: key + suffix });
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

/** An answer in the words of the model. */
export function wordsOf({ status, code, headers, body }: Answer): string {
  const replayed = headers.get('idempotent-replayed') === 'true' ? ['replayed'] : [];
  const level = body.data?.level;
  return [
    status,
    ...(code === undefined ? [] : [code]),
    ...replayed,
    ...(level === undefined ? [] : [`at ${level.quantity}`]),
  ].join(' ');
}
