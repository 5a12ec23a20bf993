// Whether the database holds what was answered: every acknowledged operation with one effect, and
// nothing that no request asked for, or that belongs to another merchant.

import { type Attempt, type CredentialName, isBound } from '../history.ts';
import type { CheckedDatabase } from './ledger.ts';
import type { Finding } from './verdict.ts';

type OperationRow = Readonly<
  Record<'merchant' | 'id' | 'credential' | 'type' | 'status', string>
> & { readonly resource: string | null; readonly created: boolean };

/** A movement, customer, product or location, with the type of operation that makes one. */
type ResourceRow = Readonly<Record<'merchant' | 'id' | 'type', string>> & {
  readonly version: number;
  /** Of a movement: what it says made it. */
  readonly operation: string | null;
};

const operations = `
  select merchant_id as merchant, id, credential_id as credential, type, status,
    resource_id as resource, created from operations
  -- The supervisor made the webhooks, and no client.
  where type not like 'webhooks.%'`;

const resources = `
  select merchant_id as merchant, id, 'inventory.adjust' as type, 1 as version,
    operation_id as operation from inventory_movements where type = 'adjustment'
  union all select merchant_id, id, 'inventory.transfer', 1, operation_id from inventory_transfers
  union all select merchant_id, id, 'inventory.count', 1, operation_id from inventory_counts
  union all select merchant_id, id, 'inventory.reserve',
    case when status = 'active' then 1 else 2 end, operation_id from inventory_reservations
  union all select merchant_id, id, 'batches.submit', 1, id from operations
    where type = 'batches.submit'
  union all select merchant_id, id, 'customers.create', version, null from customers
  union all select merchant_id, id, 'products.create', version, null from products
  union all select merchant_id, id, 'locations.create', version, null from locations
  -- Those that were there before are called so; every other has a name that somebody made up.
  -- Credentials of all cells are in one table, and a merchant's journal is in its cell.
  union all select c.merchant_id, c.id,
    case when c.role is null then 'tokens.create' else 'people.invite' end, c.version, null
    from credentials c join journals j on j.merchant_id = c.merchant_id
    where not c.is_operator and c.name <> 'test'`;

/** What was done with people and tokens, as often as the audit trail says so. */
const offTrail = `
  select o.id, o.type, count(a.operation) as lines
  from operations o
  left join (select line::json ->> 'operation_id' as operation from audit_records) a
    on a.operation = o.id
  where (o.type like 'people.%' or o.type like 'tokens.%') and o.status = 'succeeded'
  group by o.id, o.type having count(a.operation) <> 1`;

/** Movements and levels whose product or location is not their merchant's. */
const misplacedRows = `
  select r.merchant_id, r.product_id, r.location_id
  from (select merchant_id, product_id, location_id from inventory_movements
    union select merchant_id, product_id, location_id from inventory_levels) r
  left join products p on p.merchant_id = r.merchant_id and p.id = r.product_id
  left join locations l on l.merchant_id = r.merchant_id and l.id = r.location_id
  where p.id is null or l.id is null`;

/** Levels that are not what transfers, counts and reservations made of them. */
const offStock = `
  with moved as (
    select t.merchant_id, l.product_id, side.location_id, sum(side.delta) as total
    from inventory_transfers t
    cross join lateral json_to_recordset(t.lines)
      as l (product_id text, quantity numeric, quantity_short numeric)
    cross join lateral (values (t.from_location_id, l.quantity_short - l.quantity),
      (t.to_location_id, l.quantity - l.quantity_short)) as side (location_id, delta)
    where side.location_id is not null group by 1, 2, 3
    union all
    select c.merchant_id, l.product_id, c.location_id, sum(l.quantity_after - l.quantity_before)
    from inventory_counts c
    cross join lateral json_to_recordset(c.lines)
      as l (product_id text, quantity_before numeric, quantity_after numeric)
    group by 1, 2, 3
    union all
    select l.merchant_id, l.product_id, l.location_id, -sum(l.quantity)
    from inventory_reservation_lines l
    join inventory_reservations r on r.merchant_id = l.merchant_id and r.id = l.reservation_id
    where r.status = 'fulfilled' group by 1, 2, 3
  ), summed as (
    select merchant_id, product_id, location_id, sum(total) as total from moved group by 1, 2, 3)
  select merchant_id, product_id, location_id, v.quantity, m.total
  from summed m left join inventory_levels v using (merchant_id, product_id, location_id)
  where coalesce(v.quantity, 0) <> m.total`;

const saidByTransfers = `
  select id, json_build_object('lines', lines, 'is_short', is_short,
    'position', position::text) as said from inventory_transfers`;

/** Who asked, and what was there before anybody did. */
export interface Origin {
  readonly credentials: readonly {
    readonly name: CredentialName;
    readonly id: string;
    readonly merchant: string;
  }[];
  readonly given: readonly { readonly record: string }[];
}

export async function checkEffects(
  database: CheckedDatabase,
  attempts: readonly Attempt[],
  origin: Origin,
): Promise<Finding[]> {
  const asked = await database.query<OperationRow>(operations);
  const made = await database.query<ResourceRow>(resources);
  const foreign = await database.query(misplacedRows);
  const off = await database.query(offStock);
  const unsaid = await database.query(offTrail);
  const said = await database.query<{ id: string; said: object }>(saidByTransfers);
  const answered = attempts.filter(isBound);
  const known = new Set(answered.map(({ operation }) => operation));
  // What has expired is told by the service itself.
  const byClients = asked.filter(({ type }) => type !== 'inventory.expire');
  const lines = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row));
  const pending = asked.filter(({ status }) => status !== 'succeeded' && status !== 'rejected');
  return [
    { what: 'lost acknowledged writes', faults: lines(lost(answered, asked, made)) },
    {
      what: 'operations that no answer names',
      faults: lines(byClients.filter((o) => !known.has(o.id))),
    },
    { what: 'keys with two effects', faults: lines(unequal(asked, made, origin)) },
    { what: 'people and tokens changed without a line, or with two', faults: lines(unsaid) },
    { what: 'operations pending', faults: lines(pending) },
    { what: 'levels that are not what stock commands made of them', faults: lines(off) },
    { what: 'transfers that are not what was answered', faults: lines(misquoted(answered, said)) },
    {
      what: 'rows of another merchant written',
      faults: lines([...foreign, ...misplaced(answered, byClients, origin)]),
    },
  ];
}

const nameOf = ({ merchant }: { merchant: string }, id: string | null) => `${merchant} ${id}`;

/** Answers whose operation or resource is not there, or is another one. */
function lost(
  answered: readonly Attempt[],
  asked: readonly OperationRow[],
  made: readonly ResourceRow[],
): Attempt[] {
  const byId = new Map(asked.map((row) => [row.id, row]));
  const there = new Set(made.map((row) => nameOf(row, row.id)));
  return answered.filter(({ operation = '', status, resource }) => {
    const row = byId.get(operation);
    if (row === undefined) return true;
    if (status === 422) return row.status !== 'rejected';
    return (
      row.status !== 'succeeded' ||
      row.resource !== resource ||
      !there.has(nameOf(row, row.resource))
    );
  });
}

/** Answers that show another transfer than was saved. */
function misquoted(
  answered: readonly Attempt[],
  saved: readonly { readonly id: string; readonly said: object }[],
): Attempt[] {
  const said = new Map(saved.map((one) => [one.id, JSON.stringify(one.said)]));
  return answered.filter(({ kind, resource = '', moved }) => {
    return kind === 'transfer' && moved !== undefined && moved !== said.get(resource);
  });
}

/** A reservation changes once: when it ends. */
const isChange = ({ type, created }: OperationRow) =>
  /\.(?:update|release|fulfil|expire)$/.test(type) || (type.endsWith('.upsert') && !created);

/** What was not made by exactly one operation, or not changed once by each that says so. */
function unequal(
  asked: readonly OperationRow[],
  made: readonly ResourceRow[],
  { given }: Origin,
): object[] {
  const done = asked.filter(({ status }) => status === 'succeeded');
  const makers = new Map<string, OperationRow[]>();
  const changes = new Map<string, number>();
  for (const row of done) {
    const name = nameOf(row, row.resource);
    if (isChange(row)) changes.set(name, (changes.get(name) ?? 0) + 1);
    else makers.set(name, [...(makers.get(name) ?? []), row]);
  }
  const before = new Set(given.map(({ record }) => record));
  const wrong = made.filter((row) => {
    const name = nameOf(row, row.id);
    const [maker, ...more] = makers.get(name) ?? [];
    // Each change of a run gives a new name, so each counts.
    if (row.version !== 1 + (changes.get(name) ?? 0)) return true;
    if (before.has(row.id)) return maker !== undefined;
    const isNamed = row.operation === null || row.operation === maker?.id;
    const type = maker?.type.replace('upsert', 'create');
    return type !== row.type || more.length > 0 || !isNamed;
  });
  const there = new Set(made.map((row) => nameOf(row, row.id)));
  const without = done.filter((row) => !there.has(nameOf(row, row.resource)));
  return [...wrong, ...without];
}

/** Operations at another merchant than that of the credential that asked, or by another one. */
function misplaced(
  answered: readonly Attempt[],
  asked: readonly OperationRow[],
  { credentials }: Origin,
): OperationRow[] {
  const credentialsById = new Map(credentials.map((one) => [one.id, one]));
  const names = new Map(answered.map(({ operation, credential }) => [operation, credential]));
  return asked.filter(({ id, merchant, credential }) => {
    const owner = credentialsById.get(credential);
    const name = names.get(id);
    return owner?.merchant !== merchant || (name !== undefined && name !== owner.name);
  });
}
