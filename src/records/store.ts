// The statements that create, change and find records, made from the declaration of a resource.
// Writes work on records of several merchants at once.

import type { Write } from '../contract/endpoint.ts';
import { lookupId } from '../core/id.ts';
import type { MerchantId } from '../core/principal.ts';
import { type SetStatement, type Statement, savedTime } from '../core/statement.ts';
import { memberExpressions, toColumns } from './columns.ts';
import type { RecordResource, Row } from './record.ts';
import { type Editable, type Holder, namedIds, pathIds, wantedValues } from './revision.ts';

/** Records by ID, erased ones among them. */
export function find<R extends RecordResource>(
  resource: R,
  merchant: MerchantId,
  ids: readonly string[],
): Statement<Row<R> & { readonly id: string }> {
  return {
    name: `find_${resource.name}`,
    text: `
      select ${memberExpressions(resource)} from ${resource.name} r
      where r.merchant_id = $1 and r.id = any ($2)`,
    values: [merchant, ids.map(lookupId)],
  };
}

/** The records that have the unique values which writes set. */
export function findHolders(
  { name, unique }: Pick<RecordResource, 'name' | 'unique'>,
  writes: readonly Write[],
): SetStatement<Holder> {
  const fields = Object.keys(unique);
  const holders = fields.map(
    (field) => `
      select r.merchant_id, '${field}' as field, r.${field} as value, r.id
      from asked a join ${name} r on r.merchant_id = a.merchant_id and r.${field} = a.${field}`,
  );
  return {
    name: `find_holders_of_${[name, ...fields].join('_')}`,
    text: `
      with asked as (
        select * from json_to_recordset($1)
          as a (merchant_id text, ${fields.map((field) => `${field} text`).join(', ')}))
      ${holders.join(' union all ')}`,
    records: wantedValues(writes, unique),
  };
}

/** How a record is locked: one whose state other writes depend on, `for update`. */
export type Strength = 'no key update' | 'update';

/** Locks the records that PATCHes name, in the order of IDs, and reads them under the lock. */
export function lock(
  resource: RecordResource,
  writes: readonly Write[],
  strength: Strength,
): SetStatement<Editable> {
  return {
    name: `lock_${resource.name}`,
    text: lockText(resource, 'id', strength),
    records: pathIds(writes),
  };
}

/** The same of those that upserts name, as far as they are there. */
export function lockNamed(
  resource: RecordResource,
  writes: readonly Write[],
  strength: Strength,
): SetStatement<Editable> {
  return {
    name: `lock_named_${resource.name}`,
    text: lockText(resource, 'external_id', strength),
    records: namedIds(writes),
  };
}

const lockText = (resource: RecordResource, column: string, strength: Strength) => `
  select r.merchant_id, ${memberExpressions(resource)} from ${resource.name} r
  where (r.merchant_id, r.${column}) in (
    select a.merchant_id, a.${column}
    from json_to_recordset($1) as a (merchant_id text, ${column} text))
  order by r.merchant_id, r.id
  for ${strength} of r`;

/**
 * In the order of unique values, so that two imports of the same list wait for each other in one
 * order. Two imports that order two kinds of values differently may deadlock. Then the batch runs
 * again.
 */
export function insert(resource: RecordResource, rows: readonly Editable[]): SetStatement {
  const { name, unique } = resource;
  const columns = ['merchant_id', 'id', 'created_at', ...savedColumns(resource)];
  const order = ['merchant_id', ...Object.keys(unique)];
  return {
    name: `insert_${name}`,
    text: `
      insert into ${name} (${columns.join(', ')})
      select ${columns.map(savedValue(resource)).join(', ')}
      from json_populate_recordset(null::${name}, $1) s
      join journal j on j.merchant_id = s.merchant_id
      order by ${order.map((column) => `s.${column}`).join(', ')}`,
    records: rows.map((row) => toColumns(resource)({ ...row })),
  };
}

export function update(resource: RecordResource, rows: readonly Editable[]): SetStatement {
  const { name } = resource;
  const saved = savedValue(resource);
  const assignments = savedColumns(resource).map((column) => `${column} = ${saved(column)}`);
  return {
    name: `update_${name}`,
    text: `
      update ${name} r set ${assignments.join(', ')}
      from json_populate_recordset(null::${name}, $1) s
      join journal j on j.merchant_id = s.merchant_id
      where r.merchant_id = s.merchant_id and r.id = s.id`,
    records: rows.map((row) => toColumns(resource)({ ...row })),
  };
}

/** What a caller sends is never a time of the service's own, whatever its name ends in. */
const savedValue =
  ({ members }: RecordResource) =>
  (column: string): string =>
    column.endsWith('_at') && !Object.hasOwn(members, column) ? savedTime(column) : `s.${column}`;

function savedColumns({ tables: [table] }: RecordResource): readonly string[] {
  return table?.updates ?? [];
}
