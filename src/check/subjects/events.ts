// The feed: what happened, in the order of commits, and who waits for what comes next.

import { done, holds, is, matches, memberAt, refused, type Values } from '../answer.ts';
import { newKey } from '../caller.ts';
import { check, type Subject } from '../check.ts';
import { allOf, type Shop } from '../shop.ts';

const missed = 'A program that follows the shop misses what happened, and its copy goes wrong.';
const late = 'Other systems learn of a sale too late, or have to ask all the time.';

/** The events of a product. Its first pages may be empty: each judges 10,000 positions. */
const eventsOf = (shop: Shop, product: string, query: Record<string, string> = {}) =>
  allOf(shop.wide, '/events', { product_id: product, ...query });

const typesOf = (events: readonly Values[]) => events.map(({ type }) => type);

/** The end of the journal, to go on behind it. */
async function now(shop: Shop): Promise<Record<string, string>> {
  const made = done(await shop.wide.post('/customers', shop.customerBody()), 201);
  return { after_position: made.textAt('meta.position'), journal: made.textAt('meta.journal') };
}

export const events: Subject = {
  title: 'Events',
  checks: [
    check('Each write that changed something is one event, in order', missed, async (shop) => {
      const product = await shop.stocked('5');
      done(await shop.sell(product, '1'), 201);
      done(await shop.wide.patch(`/products/${product}`, { barcode: '1' }));
      is('the types', typesOf(await eventsOf(shop, product)), [
        'product.created',
        'inventory.adjusted',
        'inventory.transferred',
        'product.updated',
      ]);
    }),
    check('A replay, a refusal and a change of nothing are no event', missed, async (shop) => {
      const product = await shop.stocked('5');
      const key = newKey();
      done(await shop.sell(product, '1', {}, key), 201);
      done(await shop.sell(product, '1', {}, key), 201);
      refused(await shop.sell(product, '99'), 422, 'insufficient_quantity');
      done(await shop.wide.patch(`/products/${product}`, { barcode: null }));
      is('how many', (await eventsOf(shop, product)).length, 3);
    }),
    check('An event has the position that the write was answered with', missed, async (shop) => {
      const product = await shop.stocked('5');
      const sold = done(await shop.sell(product, '1'), 201);
      const event = (await eventsOf(shop, product)).at(-1);
      is('position', event?.position, sold.at('meta.position'));
      is('operation_id', event?.operation_id, sold.operation);
      is('actor', memberAt(event, 'actor.credential_id'), shop.credential);
    }),
    check('Positions follow each other without gaps', missed, async (shop) => {
      const place = await now(shop);
      await Promise.all(Array.from({ length: 10 }, () => shop.customer()));
      const page = done(await shop.wide.get('/events', { ...place, limit: '10' })).listAt('data');
      const positions = page.map((one) => Number(memberAt(one, 'position')));
      const first = Number(place.after_position) + 1;
      is(
        'the positions',
        positions,
        Array.from({ length: page.length }, (_, n) => first + n),
      );
    }),
    check('Events of inventory show their movements', missed, async (shop) => {
      const product = await shop.stocked('5');
      const event = (await eventsOf(shop, product)).at(-1);
      is('movement_count', memberAt(event, 'data.movement_count'), 1);
      is('quantity_after', memberAt(event, 'data.movements.0.quantity_after'), '5');
    }),
    check('Events of a record show it as it is now', missed, async (shop) => {
      const product = await shop.product();
      done(await shop.wide.patch(`/products/${product}`, { barcode: '77' }));
      const [first] = await eventsOf(shop, product);
      is('barcode', memberAt(first, 'data.barcode'), '77');
      is('version', memberAt(first, 'resource.version'), 2);
    }),
    check('type narrows the feed, and may be repeated', missed, async (shop) => {
      const product = await shop.stocked('5');
      done(await shop.sell(product, '1'), 201);
      const type = ['inventory.transferred', 'product.created'];
      const types = typesOf(await allOf(shop.wide, '/events', { product_id: product, type }));
      is('the types', types, ['product.created', 'inventory.transferred']);
    }),
    check('location_id narrows the feed', missed, async (shop) => {
      const product = await shop.stocked('5');
      done(await shop.adjust(product, '7', shop.there), 201);
      const there = await eventsOf(shop, product, { location_id: shop.there });
      is('how many', there.length, 1);
    }),
    check('The feed shows what the token may read, and nothing else', missed, async (shop) => {
      const product = await shop.stocked('5');
      done(await shop.adjust(product, '7', shop.there), 201);
      const seen = await allOf(shop.narrow, '/events', { product_id: product });
      is('the types', typesOf(seen), ['inventory.adjusted']);
      is('where', memberAt(seen[0], 'location_ids'), [shop.here]);
    }),
    check('An event shows movements of granted locations only', missed, async (shop) => {
      const product = await shop.stocked('5');
      const lines = [{ product_id: product, quantity: '2' }];
      const body = {
        from_location_id: shop.here,
        to_location_id: shop.there,
        reason: 'transfer',
        lines,
      };
      done(await shop.wide.post('/inventory/transfers', body), 201);
      const [event] = (await allOf(shop.narrow, '/events', { product_id: product })).slice(-1);
      is('movement_count', memberAt(event, 'data.movement_count'), 1);
      is('where', memberAt(event, 'data.movements.0.location_id'), shop.here);
    }),
    check('Who stores a position goes on behind it, and misses nothing', missed, async (shop) => {
      let place = await now(shop);
      const first = Number(place.after_position);
      const writing = Promise.all(Array.from({ length: 20 }, () => shop.customer()));
      const seen: number[] = [];
      const read = async () => {
        const page = done(await shop.wide.get('/events', { ...place, limit: '50' }));
        seen.push(...page.listAt('data').map((one) => Number(memberAt(one, 'position'))));
        const after = page.textAt('meta.through_position');
        place = { after_position: after, journal: page.textAt('meta.journal') };
      };
      for (let n = 0; n < 5; n += 1) await read();
      await writing;
      for (let n = 0; n < 3; n += 1) await read();
      is(
        'the positions',
        seen,
        Array.from({ length: seen.length }, (_, n) => first + 1 + n),
      );
      holds('there are fewer than were written', seen.length >= 20);
    }),
    check('A position of another journal is refused', missed, async (shop) => {
      const place = await now(shop);
      const foreign = done(await shop.other.post('/customers', shop.customerBody()), 201);
      const query = { ...place, journal: foreign.textAt('meta.journal') };
      refused(await shop.wide.get('/events', query), 400, 'journal_mismatch');
    }),
    check('wait is answered as soon as something happens', late, async (shop) => {
      const product = await shop.product();
      const place = await now(shop);
      const waiting = shop.wide.get('/events', { ...place, product_id: product, wait: '8' });
      done(await shop.adjust(product, '5'), 201);
      const page = done(await waiting);
      is('how many events', page.listAt('data').length, 1);
      holds(`it took ${Math.round(page.milliseconds)} ms`, page.milliseconds < 7_500);
    }),
    check('wait is held for 8 seconds when nothing happens, and not cut', late, async (shop) => {
      const product = await shop.product();
      const place = await now(shop);
      const page = await shop.wide.get('/events', { ...place, product_id: product, wait: '8' });
      is('the events', done(page).listAt('data'), []);
      holds(`it took ${Math.round(page.milliseconds)} ms`, page.milliseconds > 7_000);
    }),
    check('wait of 8 seconds is not given up by what is between', late, async (shop) => {
      const product = await shop.product();
      const place = await now(shop);
      const query = { ...place, product_id: product, wait: '8' };
      done(await shop.wide.get('/events', query, { isOnce: true }));
    }),
    check('wait takes 0 to 8 seconds', late, async (shop) => {
      refused(await shop.wide.get('/events', { wait: '9' }), 400, 'invalid_parameter');
      done(await shop.wide.get('/events', { wait: '0', limit: '1' }));
    }),
    check('Those who wait at the same time are all answered', late, async (shop) => {
      const product = await shop.product();
      const place = await now(shop);
      const query = { ...place, product_id: product, wait: '8' };
      const waiting = Promise.all(Array.from({ length: 5 }, () => shop.wide.get('/events', query)));
      done(await shop.adjust(product, '5'), 201);
      for (const page of await waiting) is('how many', done(page).listAt('data').length, 1);
    }),
    check('What runs out is told once, by the write that takes it there', late, async (shop) => {
      const product = await shop.stocked('5', shop.here, { low_stock_at: '2' });
      for (let n = 0; n < 4; n += 1) done(await shop.sell(product, '1'), 201);
      const crossed = await eventsOf(shop, product, { low_stock: 'true' });
      is('how often', crossed.length, 1);
      is('available_quantity', memberAt(crossed[0], 'data.low_stock.0.available_quantity'), '2');
    }),
    check('A sale that was short says so in its event', late, async (shop) => {
      const product = await shop.stocked('1');
      done(await shop.sell(product, '3', { shortage: 'record' }), 201);
      const event = (await eventsOf(shop, product)).at(-1);
      is('quantity_short', memberAt(event, 'data.short.0.quantity_short'), '2');
    }),
    check('Reserving, releasing and fulfilling are events', missed, async (shop) => {
      const product = await shop.stocked('5');
      const lines = [{ product_id: product, quantity: '1' }];
      for (const end of ['release', 'fulfil']) {
        const body = { location_id: shop.here, lines };
        const { id } = done(await shop.wide.post('/inventory/reservations', body), 201);
        const reason = end === 'fulfil' ? { reason: 'sale' } : {};
        done(await shop.wide.post(`/inventory/reservations/${id}/${end}`, reason));
      }
      is('the types', typesOf(await eventsOf(shop, product)).slice(2), [
        'inventory.reserved',
        'inventory.released',
        'inventory.reserved',
        'inventory.fulfilled',
      ]);
    }),
    check('The subscription of the SDK follows the feed', missed, async (shop) => {
      const { after_position: after = '', journal = '' } = await now(shop);
      const product = await shop.stocked('5');
      const options = { after, journal, product_id: product };
      const types: string[] = [];
      for await (const event of shop.client.events.subscribe(options)) {
        types.push(event.type);
        if (types.length === 2) break;
      }
      is('the types', types, ['product.created', 'inventory.adjusted']);
    }),
    check('An event names its time, which never goes back', missed, async (shop) => {
      const product = await shop.stocked('5');
      done(await shop.sell(product, '1'), 201);
      const times = (await eventsOf(shop, product)).map((one) => String(one.occurred_at));
      matches('occurred_at', times[0], /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      is('the times', times, [...times].sort());
    }),
  ],
};
