// The merchant that the checks act at: its callers, and the records that checks need. Each check
// makes its own products, because the others run at the same time.

import { Tallybook } from '@tallybook/client';
import type { Values } from './answer.ts';
import { type Answer, memberAt } from './answer.ts';
import { Caller, newKey } from './caller.ts';
import { NotTried, Unusable } from './endings.ts';
import { Receiver } from './receiver.ts';
import type { Tokens } from './tokens.ts';

/** How each record of a check is called: by it a check knows a merchant of its own. */
const ownPrefix = 'tallybook check';

export interface ShopOptions {
  /** With the version, and no slash behind it. */
  readonly base: string;
  readonly tokens: Tokens;
  /** What leads to the receiver that the check opens; undefined: its own address. */
  readonly webhookUrl: string | undefined;
  /** Where the receiver listens; 0: any port. */
  readonly webhookPort: number;
}

type Found = Pick<Shop, 'merchant' | 'credential' | 'here' | 'there' | 'elsewhere'>;

export class Shop {
  readonly options: ShopOptions;
  readonly base: string;
  /** What is before the version. */
  readonly root: string;
  readonly tokens: Tokens;
  readonly wide: Caller;
  readonly narrow: Caller;
  readonly other: Caller;
  /** Without a token. */
  readonly nobody: Caller;
  readonly limited: Caller;
  readonly client: Tallybook;
  readonly merchant: string;
  /** Of the wide token. */
  readonly credential: string;
  /** The narrow token is granted this one. */
  readonly here: string;
  readonly there: string;
  /** Of the other merchant. */
  readonly elsewhere: string;
  readonly run: string;
  #made = 0;
  readonly #ends: (() => Promise<void>)[] = [];
  #receiver: Promise<Receiver> | undefined;

  private constructor(options: ShopOptions, run: string, found: Found) {
    const { base, tokens } = options;
    this.options = options;
    this.base = base;
    this.root = base.replace(/\/api\/v\d+$/, '');
    this.tokens = tokens;
    this.run = run;
    this.nobody = new Caller(base, undefined);
    this.wide = this.nobody.as(tokens.token);
    this.narrow = this.nobody.as(tokens.narrow_token);
    this.other = this.nobody.as(tokens.other_token);
    this.limited = this.nobody.as(tokens.limited_token);
    this.client = new Tallybook({ baseUrl: base, token: tokens.token });
    this.merchant = found.merchant;
    this.credential = found.credential;
    this.here = found.here;
    this.there = found.there;
    this.elsewhere = found.elsewhere;
  }

  /** @throws Unusable when it cannot be reached, or is no merchant for checks. */
  static async open(options: ShopOptions, run: string): Promise<Shop> {
    const nobody = new Caller(options.base, undefined);
    const { token, narrow_token, other_token } = options.tokens;
    const wide = nobody.as(token);
    const own = await ownCredential(wide, 'token');
    const narrow = await ownCredential(nobody.as(narrow_token), 'narrow_token');
    const other = await ownCredential(nobody.as(other_token), 'other_token');
    const merchant = memberAt(own, 'merchant.id');
    // One credential for two tokens is what a cache on the way makes: a check says so.
    const isCached = own.id === other.id;
    const isOther = isCached || memberAt(other, 'merchant.id') !== merchant;
    if (memberAt(narrow, 'merchant.id') !== merchant || !isOther) {
      throw new Unusable('the tokens are not those that one "merchant create --for-check" printed');
    }
    const locations = await allOf(wide, '/locations');
    const idOf = (wanted: string) => locations.find(({ code }) => code === wanted)?.id;
    const [here, there] = [idOf('CHECK-1'), idOf('CHECK-2')];
    const [elsewhere] = await allOf(nobody.as(other_token), '/locations');
    const found = { merchant, credential: own.id, here, there, elsewhere: elsewhere?.id };
    const missing = Object.entries(found).find(([, id]) => typeof id !== 'string');
    if (missing !== undefined) throw new Unusable(`the merchant has no location (${missing[0]})`);
    return new Shop(options, run, found as Found);
  }

  /** Where webhooks are sent to, opened when the first check asks. */
  receiver(): Promise<Receiver> {
    const { webhookPort, webhookUrl } = this.options;
    this.#receiver ??= Receiver.listen(webhookPort, webhookUrl);
    return this.#receiver;
  }

  /** What is to be done once all checks have ended. */
  atEnd(work: () => Promise<void>): void {
    this.#ends.push(work);
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#ends.map((work) => work()));
    (await this.#receiver)?.close();
  }

  /** A text that nothing else of this merchant has, and that is no part of another one. */
  unique(word: string): string {
    this.#made += 1;
    return `${word}-${this.#made}-${this.run}`;
  }

  /** What a record is called. */
  name(word: string): string {
    return `${ownPrefix} ${this.unique(word)}`;
  }

  customerBody(more: Values = {}): Values {
    return { name: this.name('customer'), email: `${this.unique('c')}@example.com`, ...more };
  }

  async customer(more: Values = {}): Promise<string> {
    return made('a customer', await this.wide.post('/customers', this.customerBody(more)));
  }

  /** Counted in whole pieces unless the unit says otherwise. */
  async product(more: Values = {}): Promise<string> {
    const body = { name: this.name('product'), ...more };
    return made('a product', await this.wide.post('/products', body));
  }

  /** A product of which so much is at a location. */
  async stocked(quantity: string, location = this.here, more: Values = {}): Promise<string> {
    const product = await this.product(more);
    made('a level', await this.adjust(product, quantity, location));
    return product;
  }

  adjust(product: string, target: string, location = this.here, more: Values = {}, key = newKey()) {
    const body = {
      product_id: product,
      location_id: location,
      target_quantity: target,
      reason: 'stock_count',
      ...more,
    };
    return this.wide.post('/inventory/adjustments', body, { key });
  }

  sell(product: string, quantity: string, more: Values = {}, key = newKey()): Promise<Answer> {
    const lines = [{ product_id: product, quantity }];
    const body = { from_location_id: this.here, reason: 'sale', lines, ...more };
    return this.wide.post('/inventory/transfers', body, { key });
  }

  receive(product: string, quantity: string, more: Values = {}, key = newKey()): Promise<Answer> {
    const lines = [{ product_id: product, quantity }];
    const body = { to_location_id: this.here, reason: 'receipt', lines, ...more };
    return this.wide.post('/inventory/transfers', body, { key });
  }

  /** What is at a location; undefined where the product never moved. */
  async level(product: string, location = this.here): Promise<Values | undefined> {
    const query = { location_id: location, product_id: product };
    const answer = await this.wide.get('/inventory/levels', query);
    return answer.listAt('data')[0] as Values | undefined;
  }

  async quantity(product: string, location = this.here): Promise<unknown> {
    return (await this.level(product, location))?.quantity;
  }

  /** All of a product, oldest first. */
  async movements(product: string): Promise<readonly Values[]> {
    return allOf(this.wide, '/inventory/movements', { product_id: product, order: 'asc' });
  }
}

function made(what: string, answer: Answer): string {
  if (answer.status === 201) return answer.id;
  const said = memberAt(answer.body, 'error.code') ?? answer.text.slice(0, 200);
  throw new NotTried(`${what} could not be made: ${answer.status} ${String(said)}`);
}

async function ownCredential(caller: Caller, name: string): Promise<Values> {
  const answer = await caller.get('/credential');
  const data = answer.at('data');
  if (answer.status === 200 && Object(data) === data) return data as Values;
  const said = answer.at('error.message') ?? 'what came is not of Tallybook';
  throw new Unusable(
    `GET ${caller.base}/credential with ${name}: ${answer.status}, ${String(said)}`,
  );
}

/** Every page of a list. */
export async function allOf(
  caller: Caller,
  path: string,
  query: Readonly<Record<string, string | readonly string[]>> = {},
): Promise<readonly Values[]> {
  const found: Values[] = [];
  for (let cursor: unknown; ; ) {
    const more = typeof cursor === 'string' ? { cursor } : {};
    const page = await caller.get(path, { limit: '200', ...query, ...more });
    found.push(...(page.listAt('data') as readonly Values[]));
    cursor = page.at('meta.next_cursor');
    if (cursor === undefined) return found;
  }
}

/** @throws Unusable when the merchant has records that no check made. */
export async function requireOwn(caller: Caller): Promise<void> {
  for (const path of ['/locations', '/products', '/customers']) {
    const records = await allOf(caller, path);
    const foreign = records.find(({ name }) => !String(name).startsWith(ownPrefix));
    if (foreign === undefined) continue;
    throw new Unusable(
      `the merchant has records that no check made (${String(foreign.id)}): a check writes, and ` +
        'nothing of it can be deleted. Make another with "tallybook merchant create --for-check"',
    );
  }
}
