// One row of the tables here: bytes, and what must come of them. The tables are data; the runner in
// wire.test.ts proves of each row the same things, among them that a refusal has done nothing.

import type { ProblemCode } from '../../src/core/problem.ts';
import type { TestMerchant } from '../kit/merchant.ts';

export interface WireCase {
  /** What is peculiar about the bytes. */
  readonly name: string;
  readonly bytes: (draft: Draft) => string;
  readonly status: number;
  /** Of a refusal. */
  readonly code?: ProblemCode;
  /** Headers that the answer must have as well. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the connection must be closed; otherwise the next request on it is answered. */
  readonly closes?: boolean;
  readonly isHead?: boolean;
}

/** Rows that differ in their bytes alone. */
export function alike(
  expected: Omit<WireCase, 'name' | 'bytes'>,
  rows: readonly (readonly [name: string, bytes: WireCase['bytes']])[],
): readonly WireCase[] {
  return rows.map(([name, bytes]) => ({ ...expected, name, bytes }));
}

/** Messages with one thing to say about each, and the rest as it should be. */
export class Draft {
  readonly host = 'Host: shop.example';
  readonly json = 'Content-Type: application/json';
  readonly key = 'Idempotency-Key: 0123456789abcdef';
  readonly shop: TestMerchant;

  constructor(shop: TestMerchant) {
    this.shop = shop;
  }

  get auth(): string {
    return `Authorization: Bearer ${this.shop.token}`;
  }

  /** Exactly these lines and this content. */
  message(firstLine: string, lines: readonly string[], content = ''): string {
    return `${[firstLine, ...lines].join('\r\n')}\r\n\r\n${content}`;
  }

  /** A read that is fine but for its target and these lines. */
  get(target: string, ...lines: readonly string[]): string {
    return this.message(`GET ${target} HTTP/1.1`, [this.host, this.auth, ...lines]);
  }

  /** A read that is fine but for these lines. */
  read(...lines: readonly string[]): string {
    return this.get('/api/v1/credential', ...lines);
  }

  /** An adjustment that is fine but for its framing. */
  framed(lines: readonly string[], content = ''): string {
    const head = 'POST /api/v1/inventory/adjustments HTTP/1.1';
    return this.message(head, [this.host, this.auth, this.json, this.key, ...lines], content);
  }

  /** An adjustment in chunks. */
  chunked(content: string, ...lines: readonly string[]): string {
    return this.framed(['Transfer-Encoding: chunked', ...lines], content);
  }

  /** An adjustment that is fine but for its body, one byte for each character. */
  body(content: string): string {
    return this.framed([`Content-Length: ${content.length}`], content);
  }

  /** An adjustment that is fine but for these members; undefined leaves one out. */
  adjust(members: Readonly<Record<string, unknown>>): string {
    return this.body(JSON.stringify({ ...this.#adjustment(), ...members }));
  }

  /** An adjustment that is fine but for one member, whose value is this text. */
  adjustText(name: string, value: string): string {
    return this.body(
      JSON.stringify({ ...this.#adjustment(), [name]: null }).replace('null', value),
    );
  }

  /** A write with an empty object, which no write accepts, and with these lines only. */
  post(path: string, ...lines: readonly string[]): string {
    const all = [this.host, this.auth, ...lines, 'Content-Length: 2'];
    return this.message(`POST /api/v1${path} HTTP/1.1`, all, '{}');
  }

  /** A new customer, with these members. */
  customer(members: Readonly<Record<string, unknown>>): string {
    const content = utf8(JSON.stringify({ name: 'Ada', email: 'ada@example.com', ...members }));
    const lines = [this.host, this.auth, this.json, this.key];
    const length = `Content-Length: ${content.length}`;
    return this.message('POST /api/v1/customers HTTP/1.1', [...lines, length], content);
  }

  /** What would have an effect, were it taken for a request. */
  effective(key: string): string {
    const content = JSON.stringify(this.#adjustment());
    const lines = [this.host, this.auth, this.json, `Idempotency-Key: ${key}`];
    const length = `Content-Length: ${content.length}`;
    const head = 'POST /api/v1/inventory/adjustments HTTP/1.1';
    return this.message(head, [...lines, length], content);
  }

  #adjustment(): Record<string, unknown> {
    const [product_id] = this.shop.products;
    const [location_id] = this.shop.locations;
    return { product_id, location_id, target_quantity: '77', reason: 'correction' };
  }
}

/** A text as its bytes, one character for each. */
export function utf8(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
