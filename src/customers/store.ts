// The statements of customers. Writes work on records of several merchants at once.

import type { Command } from '../core/endpoint.ts';
import { searchQuery, searchText } from '../core/format.ts';
import { idFloor, lookupId } from '../core/id.ts';
import { bytesOf, type LargePage, largePages } from '../core/page.ts';
import type { MerchantId } from '../core/principal.ts';
import { type Holder, pathIds, wantedValues } from '../core/revision.ts';
import type { SetStatement, Statement } from '../core/statement.ts';
import type { CustomerPatch, CustomerRow } from './edit.ts';

const columns = `c.id, c.name, c.email, c.phone, c.external_id, c.note, c.metadata, c.status,
  c.version, c.created_at, c.updated_at, c.erased_at`;

const listed = [
  ...['id', 'name', 'email', 'phone', 'external_id', 'status', 'version'],
  ...['created_at', 'updated_at', 'erased_at'],
];

const large = ['note', 'metadata'];

/** Who holds the external IDs that the commands want. */
export function findHolders(commands: readonly Command<CustomerPatch>[]): SetStatement<Holder> {
  return {
    name: 'find_customer_holders',
    text: `
      select c.merchant_id, 'external_id' as field, c.external_id as value, c.id
      from json_to_recordset($1) as a (merchant_id text, external_id text)
      join customers c on c.merchant_id = a.merchant_id and c.external_id = a.external_id`,
    records: wantedValues(commands, ['external_id']),
  };
}

/** Locks the customers, in the order of IDs, and reads them as they are once locked. */
export function lockCustomers(
  commands: readonly Command<CustomerPatch>[],
): SetStatement<CustomerRow> {
  return {
    name: 'lock_customers',
    text: `
      select c.merchant_id, ${columns} from customers c
      where (c.merchant_id, c.id) in (
        select a.merchant_id, a.id from json_to_recordset($1) as a (merchant_id text, id text))
      order by c.merchant_id, c.id
      for no key update of c`,
    records: pathIds(commands),
  };
}

/** In the order of external IDs: two imports of the same list wait for each other in one order. */
export function insertCustomers(rows: readonly CustomerRow[]): SetStatement {
  return {
    name: 'insert_customers',
    text: `
      insert into customers (merchant_id, id, name, email, phone, external_id, note, metadata,
        status, version, created_at, updated_at, search, email_key)
      select merchant_id, id, name, email, phone, external_id, note, metadata,
        status, version, created_at, updated_at, search, email_key
      from json_populate_recordset(null::customers, $1)
      order by merchant_id, external_id`,
    records: rows.map(searchable),
  };
}

export function updateCustomers(rows: readonly CustomerRow[]): SetStatement {
  return {
    name: 'update_customers',
    text: `
      update customers c
      set name = s.name, email = s.email, phone = s.phone, external_id = s.external_id,
        note = s.note, metadata = s.metadata, status = s.status, version = s.version,
        updated_at = s.updated_at, search = s.search, email_key = s.email_key
      from json_populate_recordset(null::customers, $1) s
      where c.merchant_id = s.merchant_id and c.id = s.id`,
    records: rows.map(searchable),
  };
}

const searchable = (row: CustomerRow) => ({
  ...row,
  search: searchText(row.name, row.email),
  email_key: emailKey(row.email),
});

/** Addresses are the same whatever the case of their domains; local parts are their host's. */
function emailKey(email: string): string {
  const at = email.indexOf('@') + 1;
  return email.slice(0, at) + email.slice(at).toLowerCase();
}

/** Customers by ID, erased ones among them. */
export function findCustomers(
  merchant: MerchantId,
  ids: readonly string[],
): Statement<CustomerRow> {
  return {
    name: 'find_customers',
    text: `select ${columns} from customers c where c.merchant_id = $1 and c.id = any ($2)`,
    values: [merchant, ids.map(lookupId)],
  };
}

export interface CustomerFilter {
  readonly merchant: MerchantId;
  readonly email: string | undefined;
  readonly externalId: string | undefined;
  readonly status: string | undefined;
  readonly updatedAfter: string | undefined;
  readonly q: string | undefined;
  readonly after: string | undefined;
  readonly limit: number;
}

/** The limit stands in the text: without it the database plans each page anew. */
const walk = (limit: number, conditions: string) => `
  select ${columns}, ${bytesOf('c.metadata', 'c.note')} as bytes from customers c
  where c.merchant_id = $1 and c.id > $2 and c.erased_at is null ${conditions}
  order by c.id limit ${limit}`;

const filtered = `
    and ($3::text is null or c.status = $3)
    and ($4::text is null or c.external_id = $4)
    and ($5::text is null or c.email_key = $5)
    and ($6::tsquery is null or c.search @@ $6)`;

/**
 * Rows changed since a time, in two walks: those created since, which lie together at the end of
 * the IDs, and older ones. In one walk the database takes them for evenly spread and may read all
 * that comes before them.
 */
const changed = (limit: number) => `
  select * from (
    (${walk(limit, `${filtered} and c.id < $8 and c.updated_at >= $7::timestamptz`)}) union all
    (${walk(limit, `${filtered} and c.id >= $8 and c.updated_at >= $7::timestamptz`)})) c
  order by c.id limit ${limit}`;

/**
 * A page of customers. With filters it is planned anew each time: only their values tell whether
 * an index finds the rows or a walk along the IDs meets them sooner. Of a million customers, a plan
 * that was kept took half a second for any filter; planned anew, the worst takes a tenth of that.
 */
export function listCustomers(filter: CustomerFilter): LargePage<CustomerRow> {
  const { merchant, after, limit, status, externalId, email, q, updatedAfter } = filter;
  const page = [merchant, after ?? ''];
  const words = q === undefined ? undefined : searchQuery(q);
  const address = email === undefined ? undefined : emailKey(email);
  const filters = [status, externalId, address, words].map((value) => value ?? null);
  if (updatedAfter !== undefined) {
    const values = [...page, ...filters, updatedAfter, idFloor('customer', updatedAfter)];
    return paged('', changed(limit), values, limit);
  }
  return filters.every((value) => value === null)
    ? paged(`list_customers_${limit}`, walk(limit, ''), page, limit)
    : paged('', walk(limit, filtered), [...page, ...filters], limit);
}

const paged = largePages<CustomerRow>(
  listed,
  large,
  (columns, rows) => `select ${columns} from ${rows} c`,
);

/**
 * Wipes what is personal of a customer, for good. Once more does no harm. No row: no such customer.
 */
export function eraseCustomer(
  merchant: MerchantId,
  id: string,
  now: string,
): Statement<{ id: string; erased_at: string }> {
  return {
    name: 'erase_customer',
    text: `
      update customers c
      set name = '', email = '', email_key = '', phone = null, external_id = null, note = null,
        metadata = '{}', search = '', erased_at = coalesce(c.erased_at, $3),
        version = c.version + (c.erased_at is null)::integer,
        updated_at = case when c.erased_at is null then greatest(c.updated_at, $3)
          else c.updated_at end
      where c.merchant_id = $1 and c.id = $2
      returning c.id, c.erased_at`,
    values: [merchant, lookupId(id), now],
  };
}
