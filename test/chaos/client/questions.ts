// The requests of a client: which key, which body, whose token. Small quantities and few records,
// so that requests meet.

import type { CredentialName, Target } from '../history.ts';
import type { Random } from '../random.ts';
import type { Question } from './caller.ts';
import type { ClientSetup } from './setup.ts';

interface Body {
  readonly name: string;
  readonly [member: string]: string;
}

/** Of the journal. */
interface Place {
  readonly position: string;
  readonly journal: string;
}

export class Questions {
  readonly #setup: ClientSetup;
  readonly #random: Random;
  /** Customers and products it has made, to be changed. */
  readonly #made: Question['path'][] = [];
  readonly #held: string[] = [];
  #place: Place | undefined;

  constructor(setup: ClientSetup, random: Random) {
    this.#setup = setup;
    this.#random = random;
  }

  /** The journal as an answer has shown it. */
  seen(place: Place): void {
    this.#place = place;
  }

  /** A reservation that was made. */
  held(id: string): void {
    this.#held.push(id);
  }

  /** What an answer has shown to be there. */
  made(path: string): void {
    this.#made.push(path);
  }

  adjust(target = this.#target()): Question {
    const { product, location, quantity } = target;
    const body = {
      product_id: product,
      location_id: location,
      target_quantity: quantity,
      reason: 'stock_count',
    };
    const credential = this.#writer(product);
    const where = { path: '/inventory/adjustments', type: 'inventory.adjust' };
    return { kind: 'adjust', credential, method: 'POST', ...where, ...this.#first(), target, body };
  }

  /** In, out or between, in small quantities: what is asked for is often not there. */
  transfer(): Question {
    const { crates, goods, locations } = this.#setup;
    const [from, to] = this.#random.shuffled(locations);
    const isPutAside = this.#random.next() < 0.5;
    const wares = isPutAside ? goods : crates;
    const kind = this.#random.weighed({ in: 4, out: 5, between: 4, recorded: isPutAside ? 0 : 1 });
    const sides = {
      in: { to_location_id: to, reason: 'receipt' },
      out: { from_location_id: from, reason: 'sale' },
      between: { from_location_id: from, to_location_id: to, reason: 'transfer' },
      recorded: { from_location_id: from, reason: 'sale', shortage: 'record' },
    }[kind];
    const lines = this.#some(wares).map((product_id) => ({ product_id, quantity: this.#few() }));
    return {
      ...{ kind: 'transfer', credential: this.#writer(''), method: 'POST' },
      ...{ path: '/inventory/transfers', type: 'inventory.transfer' },
      ...this.#first(),
      body: { ...sides, lines },
    };
  }

  customer(): Question {
    const name = this.#name();
    const body = { name, email: `${name}@example.com` };
    return { ...this.#create('/customers', body), kind: 'customer', type: 'customers.create' };
  }

  product(): Question {
    const name = this.#name();
    const type = 'products.create';
    return { ...this.#create('/products', { name, sku: name }), kind: 'product', type };
  }

  /** Gives a record another name, which is always a change. */
  change(): Question {
    const { products, locations } = this.#setup;
    const kind = this.#random.weighed({ made: 5, product: 3, location: 2 });
    if (kind === 'made' && this.#made.length > 0) {
      return this.#change(this.#random.pick(this.#made), { name: this.#name() });
    }
    const path =
      kind === 'location'
        ? `/locations/${this.#random.pick(locations)}`
        : `/products/${this.#random.pick(products)}`;
    return this.#change(path, { name: this.#name() });
  }

  /** What is on the shelf; often as of a moment, while others take from it. */
  count(): Question {
    const { goods, locations } = this.#setup;
    const lines = this.#some(goods).map((product_id) => ({
      product_id,
      counted_quantity: String(this.#random.below(12)),
    }));
    const { position, journal } = this.#place ?? {};
    const isSince = position !== undefined && this.#random.next() < 0.7;
    return {
      ...{ kind: 'count', credential: this.#writer(''), method: 'POST' },
      ...{ path: '/inventory/counts', type: 'inventory.count' },
      ...this.#first(),
      body: {
        location_id: this.#random.pick(locations),
        lines,
        ...(isSince ? { counted_at_position: position, journal } : {}),
      },
    };
  }

  reserve(): Question {
    const { goods, locations } = this.#setup;
    const lines = this.#some(goods).map((product_id) => ({ product_id, quantity: this.#few() }));
    const milliseconds = 1_000 + this.#random.below(4_000);
    const expires_at = new Date(Date.now() + milliseconds).toISOString();
    return {
      ...{ kind: 'reserve', credential: this.#writer(''), method: 'POST' },
      ...{ path: '/inventory/reservations', type: 'inventory.reserve' },
      ...this.#first(),
      body: {
        location_id: this.#random.pick(locations),
        lines,
        ...(this.#random.next() < 0.5 ? { expires_at } : {}),
      },
    };
  }

  /** Ends a reservation, one that has expired or was ended as well. */
  end(kind: 'release' | 'fulfil' = this.#random.pick(['release', 'fulfil'])): Question | undefined {
    if (this.#held.length === 0) return undefined;
    // The newest are still active most often.
    const id = this.#random.pick(this.#held.slice(-8));
    return this.endOf(id, kind);
  }

  endOf(id: string, kind: 'release' | 'fulfil'): Question {
    return {
      ...{ kind, credential: 'steady', method: 'POST' },
      ...{ path: `/inventory/reservations/${id}/${kind}`, type: `inventory.${kind}`, id },
      ...this.#first(),
      body: kind === 'fulfil' ? { reason: 'sale' } : {},
    };
  }

  person(): Question {
    const body = { name: this.#name(), role: this.#random.pick(['viewer', 'cashier']) };
    return { kind: 'person', ...this.#create('/people', body) };
  }

  token(): Question {
    const { body, ...asked } = this.#create('/tokens', { name: this.#name() });
    return { kind: 'token', ...asked, body: { ...body, scopes: ['products.read'] } };
  }

  /** Its name is changed with it: what is revoked is never changed again. */
  revoke(id: string): Question {
    const changed = this.#change(`/tokens/${id}`, { name: this.#name(), status: 'revoked' });
    return { ...changed, kind: 'revoke' };
  }

  /** By the token itself. */
  asProgram(kind: 'use' | 'ended', token: string): Question {
    return { kind, credential: 'steady', method: 'GET', path: '/products?limit=1', token };
  }

  /** By one of few IDs that all clients use at this moment, and nobody used long before. */
  upsert(): Question {
    const moment = Math.floor(Date.now() / 1_000);
    const named = `own-${moment}-${this.#random.below(3)}`;
    const name = this.#name();
    return {
      ...{ kind: 'upsert', credential: 'steady', method: 'PATCH' },
      ...{ path: `/products?external_id=${named}`, type: 'products.upsert', named },
      ...this.#first(),
      ...{ wanted: { name }, body: { name } },
    };
  }

  /** Some of everything in one request. */
  batch(): { readonly batch: Question; readonly items: readonly Question[] } {
    const makers = [
      ...[() => this.adjust(), () => this.transfer(), () => this.count(), () => this.reserve()],
      ...[() => this.upsert(), () => this.product(), () => this.end() ?? this.customer()],
    ];
    const items = Array.from({ length: 2 + this.#random.below(6) }, () => {
      const item = this.#random.pick(makers)();
      return item.credential === 'shaken' ? { ...item, credential: 'steady' as const } : item;
    }).filter(({ credential }) => credential === 'steady');
    const operations = items.map(({ type, key, id, named, body }) => ({
      ...{ type, idempotency_key: key, body },
      ...(id === undefined ? {} : { id }),
      ...(named === undefined ? {} : { external_id: named }),
    }));
    const who = { kind: 'batch', credential: 'steady', method: 'POST', path: '/batches' } as const;
    return { batch: { ...who, ...this.#first(), body: { operations } }, items };
  }

  /** Changes the status of the booth. Its name holds the status, in every answer that shows it. */
  locationStatus(): Question {
    const status = this.#random.pick(['active', 'inactive']);
    const name = `${status} ${this.#name()}`;
    return this.#change(`/locations/${this.#setup.booth}`, { name, status });
  }

  /** A change that nobody may make: the product is another shop's. */
  trespass(): Question {
    const { wanted: _, ...question } = this.#change(`/products/${this.#setup.foreign.product}`, {
      name: this.#name(),
    });
    return { ...question, kind: 'foreign' };
  }

  /** Another body under the same key. */
  rival(question: Question): Question {
    const { target, wanted, body } = question;
    if (question.kind === 'transfer') {
      const other = this.transfer();
      const note = this.#name();
      return { ...question, variant: 1, body: { ...other.body, note } };
    }
    if (target !== undefined) {
      const other = { ...target, quantity: String(Number(target.quantity) + 1) };
      const changed = { ...body, target_quantity: other.quantity };
      return { ...question, variant: 1, target: other, body: changed };
    }
    const name = this.#name();
    return { ...question, variant: 1, wanted: { ...wanted, name }, body: { ...body, name } };
  }

  /** The same under a key of its own. */
  again(question: Question): Question {
    return { ...question, ...this.#first() };
  }

  #create(path: string, body: Body) {
    const wanted = { name: body.name };
    return { credential: 'steady', method: 'POST', path, ...this.#first(), wanted, body } as const;
  }

  #change(path: string, body: Body): Question {
    const wanted = { record: path.slice(path.lastIndexOf('/') + 1), name: body.name };
    const who = { kind: 'change', credential: 'steady', method: 'PATCH' } as const;
    return { ...who, path, ...this.#first(), wanted, body };
  }

  /** Small numbers are often what the level has already. */
  #target(): Target {
    const { products, locations, booth, foreign } = this.#setup;
    const most = this.#random.next() < 0.4 ? 3 : 1_000_000;
    const quantity = String(this.#random.below(most));
    const choice = this.#random.next();
    if (choice < 0.1) return { ...foreign, quantity };
    const location = choice < 0.25 ? booth : this.#random.pick(locations);
    return { product: this.#random.pick(products), location, quantity };
  }

  #writer(product: string): CredentialName {
    if (product === this.#setup.foreign.product) return 'neighbour';
    return this.#random.next() < 0.2 ? 'shaken' : 'steady';
  }

  #first() {
    return { key: `${this.#setup.client}-${this.#random.word(24)}`, variant: 0 };
  }

  /** One at least. */
  #some(wares: readonly string[]): string[] {
    return this.#random.shuffled(wares).slice(0, 1 + this.#random.below(wares.length));
  }

  #few(): string {
    return String(1 + this.#random.below(4));
  }

  #name(): string {
    return this.#random.word(14);
  }
}
