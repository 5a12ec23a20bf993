// Lists: pages and cursors, filters, and that nothing is skipped while others write.

import { done, holds, is, memberAt, names, refused } from '../answer.ts';
import { newKey } from '../caller.ts';
import { check, type Subject } from '../check.ts';
import { allOf, type Shop } from '../shop.ts';

const skipped = 'A nightly sync misses records, and nobody sees which.';
const guessed = 'A client that is wrong gets an answer that looks right.';

export const lists: Subject = {
  title: 'Lists, cursors and filters',
  checks: [
    check('A page has 50 entries unless told otherwise', skipped, async (shop) => {
      await customers(shop, 60);
      is('how many', done(await shop.wide.get('/customers')).listAt('data').length, 50);
    }),
    check('A page has as many entries as limit says, at most 200', skipped, async (shop) => {
      await customers(shop, 10);
      is(
        'how many',
        done(await shop.wide.get('/customers', { limit: '7' })).listAt('data').length,
        7,
      );
      done(await shop.wide.get('/customers', { limit: '200' }));
    }),
    ...['0', '201', '-1', '1.5', '1e2', 'ten', ''].map((limit) =>
      check(`limit=${limit} is refused`, guessed, async ({ wide }) => {
        const answer = refused(await wide.get('/products', { limit }), 400, 'invalid_parameter');
        is('the field', answer.at('error.details.0.field'), 'query.limit');
      }),
    ),
    check('A walk over pages shows each record once', skipped, async (shop) => {
      const word = shop.unique('walk').replaceAll('-', '');
      const made = await customers(shop, 60, word);
      const found = await allOf(shop.wide, '/customers', { q: word, limit: '23' });
      is('the records', found.map(({ id }) => id).sort(), [...made].sort());
    }),
    check('Pages of one entry show each record once', skipped, async (shop) => {
      const external = Array.from({ length: 6 }, () => shop.unique('ext'));
      for (const external_id of external) await shop.customer({ external_id });
      const found = await pagesOf(shop, external);
      is('the records', found.map((one) => one.external_id).sort(), [...external].sort());
    }),
    check('A walk shows each record once while others write', skipped, async (shop) => {
      const word = shop.unique('busy').replaceAll('-', '');
      const made = await customers(shop, 40, word);
      const change = (id: string) => shop.wide.patch(`/customers/${id}`, { phone: '+4930123456' });
      const [found] = await Promise.all([
        allOf(shop.wide, '/customers', { q: word, limit: '9' }),
        customers(shop, 40, word),
        ...made.slice(0, 10).map(change),
      ]);
      const own = found.map(({ id }) => String(id)).filter((id) => made.includes(id));
      is('the records', own.sort(), [...made].sort());
    }),
    check('The last page has no cursor', skipped, async (shop) => {
      const external_id = shop.unique('last');
      await shop.customer({ external_id });
      const page = done(await shop.wide.get('/customers', { external_id, limit: '1' }));
      is('meta.next_cursor', page.at('meta.next_cursor'), undefined);
    }),
    check('limit may change from one page to the next', skipped, async (shop) => {
      const external_id = Array.from({ length: 5 }, () => shop.unique('ext'));
      for (const one of external_id) await shop.customer({ external_id: one });
      const first = done(await shop.wide.get('/customers', { external_id, limit: '2' }));
      const cursor = first.textAt('meta.next_cursor');
      const rest = done(await shop.wide.get('/customers', { external_id, limit: '200', cursor }));
      is('how many follow', rest.listAt('data').length, 3);
    }),
    check('A cursor with other filters is refused', guessed, async (shop) => {
      await customers(shop, 2);
      const first = done(await shop.wide.get('/customers', { limit: '1' }));
      const cursor = first.textAt('meta.next_cursor');
      const answer = await shop.wide.get('/customers', { cursor, status: 'active' });
      names(refused(answer, 400, 'invalid_cursor'), 'query.cursor', 'filter_mismatch');
    }),
    check('A cursor of another list is refused', guessed, async (shop) => {
      await customers(shop, 2);
      const first = done(await shop.wide.get('/customers', { limit: '1' }));
      const cursor = first.textAt('meta.next_cursor');
      const answer = await shop.wide.get('/products', { limit: '1', cursor });
      names(refused(answer, 400, 'invalid_cursor'), 'query.cursor', 'malformed');
    }),
    check('A cursor of another merchant is refused', guessed, async (shop) => {
      await customers(shop, 2);
      const first = done(await shop.wide.get('/customers', { limit: '1' }));
      const cursor = first.textAt('meta.next_cursor');
      const answer = await shop.other.get('/customers', { limit: '1', cursor });
      names(refused(answer, 400, 'invalid_cursor'), 'query.cursor', 'malformed');
    }),
    check('A cursor in which one character was changed is refused', guessed, async (shop) => {
      await customers(shop, 2);
      const first = done(await shop.wide.get('/customers', { limit: '1' }));
      const cursor = first.textAt('meta.next_cursor');
      for (const at of [0, Math.floor(cursor.length / 2), cursor.length - 1]) {
        const other = cursor[at] === 'A' ? 'B' : 'A';
        const changed = cursor.slice(0, at) + other + cursor.slice(at + 1);
        const answer = await shop.wide.get('/customers', { limit: '1', cursor: changed });
        refused(answer, 400, 'invalid_cursor');
      }
    }),
    check('A cursor may be sent again, and gives the same page', skipped, async (shop) => {
      const external_id = Array.from({ length: 3 }, () => shop.unique('ext'));
      for (const one of external_id) await shop.customer({ external_id: one });
      const first = done(await shop.wide.get('/customers', { external_id, limit: '1' }));
      const query = { external_id, limit: '1', cursor: first.textAt('meta.next_cursor') };
      const pages = [
        await shop.wide.get('/customers', query),
        await shop.wide.get('/customers', query),
      ];
      is('the second page', done(pages[1] ?? first).at('data'), done(pages[0] ?? first).at('data'));
    }),
    check('There are no page numbers and no totals', guessed, async (shop) => {
      const page = done(await shop.wide.get('/customers', { limit: '1' }));
      const known = ['request_id', 'next_cursor'];
      is(
        'others',
        Object.keys(Object(page.at('meta'))).filter((name) => !known.includes(name)),
        [],
      );
    }),
    check('Records are found by their external ID, up to 100 at once', skipped, async (shop) => {
      const own = [shop.unique('found'), shop.unique('found')];
      for (const external_id of own) await shop.product({ external_id });
      const many = Array.from({ length: 98 }, (_, n) => `nobody-${n}`);
      const external_id = [...own, ...many];
      const found = done(await shop.wide.get('/products', { external_id })).listAt('data');
      is('how many', found.length, 2);
      const more = await shop.wide.get('/products', {
        external_id: [...external_id, 'one', 'two'],
      });
      names(refused(more, 400, 'invalid_parameter'), 'query.external_id', 'too_many');
    }),
    check('Customers are found by their e-mail address', skipped, async (shop) => {
      const email = `${shop.unique('Mail')}@Example.com`;
      const id = await shop.customer({ email });
      const lower = email.replace('Example', 'example');
      const found = done(await shop.wide.get('/customers', { email: lower })).listAt('data');
      is(
        'who',
        found.map((one) => memberAt(one, 'id')),
        [id],
      );
    }),
    check('Records are found by words of their names', skipped, async (shop) => {
      const word = shop.unique('Wort').replaceAll('-', '');
      const id = await shop.product({ name: `${shop.name('x')} Größe ${word}` });
      for (const q of [
        word,
        word.toLowerCase(),
        `${word.slice(0, 8)} grosse`,
        `${word.slice(0, 9)}`,
      ]) {
        const found = done(await shop.wide.get('/products', { q: q.replace(' grosse', '') }));
        const ids = found.listAt('data').map((one) => memberAt(one, 'id'));
        holds(`${q} does not find it`, ids.includes(id));
      }
    }),
    check('status and updated_after narrow a list', skipped, async (shop) => {
      const external_id = shop.unique('narrowed');
      const made = done(
        await shop.wide.post('/customers', shop.customerBody({ external_id })),
        201,
      );
      done(await shop.wide.patch(`/customers/${made.id}`, { status: 'archived' }));
      const count = async (query: Record<string, string>) =>
        done(await shop.wide.get('/customers', { external_id, ...query })).listAt('data').length;
      is('active', await count({ status: 'active' }), 0);
      is('archived', await count({ status: 'archived' }), 1);
      is('changed since', await count({ updated_after: made.textAt('data.updated_at') }), 1);
      is('changed later', await count({ updated_after: '2199-01-01T00:00:00Z' }), 0);
    }),
    check('A filter of a value that cannot be is refused', guessed, async (shop) => {
      for (const query of [
        { status: 'ACTIVE' },
        { updated_after: 'yesterday' },
        { email: 'ada' },
      ]) {
        refused(await shop.wide.get('/customers', query), 400, 'invalid_parameter');
      }
    }),
    check('A parameter that may come once is refused twice', guessed, async (shop) => {
      const answer = await shop.wide.get('/products', { limit: ['5', '6'] });
      names(refused(answer, 400, 'invalid_parameter'), 'query.limit', 'not_repeatable');
    }),
  ],
};

async function customers(shop: Shop, count: number, word = 'listed'): Promise<string[]> {
  const operations = Array.from({ length: count }, () => {
    const body = shop.customerBody({ name: `${shop.name('customer')} ${word}` });
    return { type: 'customers.create', idempotency_key: newKey(), body };
  });
  const results = done(await shop.wide.post('/batches', { operations })).listAt('data.results');
  return results.map((one) => {
    is('the status of a write', memberAt(one, 'status'), 201);
    return String(memberAt(one, 'data.id'));
  });
}

/** Of lists with a filter of several values, page by page. */
async function pagesOf(shop: Shop, external_id: readonly string[]) {
  const found: Record<string, unknown>[] = [];
  for (let cursor: unknown; ; ) {
    const more = typeof cursor === 'string' ? { cursor } : {};
    const page = done(await shop.wide.get('/customers', { external_id, limit: '1', ...more }));
    is('how many are on a page', page.listAt('data').length, 1);
    found.push(...(page.listAt('data') as Record<string, unknown>[]));
    cursor = page.at('meta.next_cursor');
    if (cursor === undefined || found.length > external_id.length) return found;
  }
}
