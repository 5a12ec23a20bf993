// A merchant that has nothing yet, and whose webhooks call receivers of a test.

import { expect, vi } from 'vitest';
import { created } from './again.ts';
import { type Answer, type Api, newKey } from './api.ts';
import type { Environment } from './environment.ts';
import type { Receiver } from './receiver.ts';

export class Shop {
  readonly merchant: string;
  /** That its webhooks are of. */
  readonly credential: string;
  readonly api: Api;
  readonly #service: Pick<Environment, 'db'>;

  private constructor(
    service: Pick<Environment, 'db'>,
    given: { merchant: string; id: string },
    api: Api,
  ) {
    this.merchant = given.merchant;
    this.credential = given.id;
    this.api = api;
    this.#service = service;
  }

  static async open(service: Pick<Environment, 'db' | 'api' | 'given'>): Promise<Shop> {
    const given = await service.given.credential(await service.given.merchant());
    return new Shop(service, given, service.api.as(given.token));
  }

  /** As another caller, or at another node. */
  as(api: Api): Shop {
    const { merchant, credential: id } = this;
    return new Shop(this.#service, { merchant, id }, api.as(this.api.token));
  }

  /** Makes one of the receiver, and returns its ID. */
  async hook(receiver: Pick<Receiver, 'url'>, body: object = {}): Promise<string> {
    return (await this.made('/webhooks', { url: receiver.url, ...body })).data.id;
  }

  /** An event, and its position. */
  async customer(name = 'Ada'): Promise<number> {
    const email = `${newKey()}@example.com`;
    return Number((await this.made('/customers', { name, email })).meta.position);
  }

  /** So many events: their positions. */
  async customers(count: number): Promise<number[]> {
    const positions: number[] = [];
    while (positions.length < count) {
      const some = Math.min(64, count - positions.length);
      positions.push(...(await Promise.all(Array.from({ length: some }, () => this.customer()))));
    }
    return positions.sort((a, b) => a - b);
  }

  async change(id: string, body: object): Promise<void> {
    const answer = await this.api.patch(`/webhooks/${id}`, body);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  }

  async redeliver(id: string, from_position: string): Promise<void> {
    const { journal } = await this.webhook(id);
    const answer = await this.api.post(`/webhooks/${id}/redeliver`, { from_position, journal });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  }

  made(path: string, body: object): Promise<Answer['body']> {
    return created(this.api, path, body);
  }

  async webhook(id: string): Promise<Answer['body']> {
    return (await this.api.get(`/webhooks/${id}`)).body.data;
  }

  async deliveries(id: string): Promise<Answer['body']> {
    return (await this.api.get(`/webhooks/${id}/deliveries`)).body.data;
  }

  async secrets(id: string): Promise<string[]> {
    const { secret, previous } = (await this.api.get(`/webhooks/${id}/secret`)).body.data;
    return previous === null ? [secret] : [secret, previous.secret];
  }

  /** Waits until it is as described. */
  async untilWebhook(id: string, expected: object, timeout = 10_000): Promise<void> {
    const isSo = async () => expect(await this.webhook(id)).toMatchObject(expected);
    await vi.waitFor(isSo, { timeout, interval: 50 });
  }

  /** Waits until what waits for another attempt is as described. */
  async untilFailures(id: string, expected: readonly object[], timeout = 10_000): Promise<void> {
    const isSo = async () => expect((await this.deliveries(id)).failures).toMatchObject(expected);
    await vi.waitFor(isSo, { timeout, interval: 50 });
  }
}
