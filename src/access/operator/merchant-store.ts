// The statements of merchants, as the operator makes and finds them.

import { lookupId } from '../../core/id.ts';
import type { MerchantId } from '../../core/principal.ts';
import type { Statement } from '../../core/statement.ts';

export interface MerchantRow {
  readonly id: MerchantId;
  readonly name: string;
  /** In which its data is. */
  readonly cell: string;
  readonly created_at: string;
  /** Since when its tokens are refused; null: they are not. */
  readonly disabled_at: string | null;
}

const columns = 'id, name, cell, created_at, disabled_at';

export function insertMerchant(id: string, name: string, cell: string): Statement<MerchantRow> {
  return {
    name: 'insert_merchant',
    text: `
      insert into merchants (id, name, cell, created_at) values ($1, $2, $3, now())
      returning ${columns}`,
    values: [id, name, cell],
  };
}

export interface CellRow {
  readonly name: string;
  /** Of its schema. */
  readonly version: number;
  readonly merchants: number;
  readonly created_at: string;
}

/** The emptiest first. */
export const findCells: Statement<CellRow> = {
  name: 'find_cells',
  text: `
    select c.name, c.version, c.created_at, count(m.id)::int as merchants
    from cells c left join merchants m on m.cell = c.name
    group by c.name order by count(m.id), c.name`,
  values: [],
};

/** The journal of a merchant that is about to be made. */
export function insertJournal(merchant: string, id: string): Statement {
  return {
    name: 'insert_journal',
    text: 'insert into journals (merchant_id, id) values ($1, $2)',
    values: [merchant, id],
  };
}

/** The credential that the merchant's operator acts as by command. It never has a token. */
export function insertOperator(
  merchant: string,
  id: string,
  scopes: readonly string[],
): Statement<{ id: string }> {
  return {
    name: 'insert_operator',
    text: `
      insert into credentials (merchant_id, id, kind, name, is_operator, scopes, all_locations,
        location_ids, created_at)
      values ($1, $2, 'personal_access_token', 'operator', true, $3, true, '{}', now())
      returning id`,
    values: [merchant, id, scopes],
  };
}

export function listMerchants(after: string, limit: number): Statement<MerchantRow> {
  return {
    name: 'list_merchants',
    text: `select ${columns} from merchants where id > $1 order by id limit $2`,
    values: [after, limit],
  };
}

export function findMerchant(id: string): Statement<MerchantRow> {
  return {
    name: 'find_merchant',
    text: `select ${columns} from merchants where id = $1`,
    values: [lookupId(id)],
  };
}

export function setName(merchant: MerchantId, name: string): Statement<MerchantRow> {
  return {
    name: 'set_merchant_name',
    text: `update merchants set name = $2 where id = $1 returning ${columns}`,
    values: [merchant, name],
  };
}

/** Counts from the next request on. A second call changes nothing. */
export function setDisabled(merchant: MerchantId, isDisabled: boolean): Statement<MerchantRow> {
  return {
    name: isDisabled ? 'disable_merchant' : 'enable_merchant',
    text: `
      update merchants set disabled_at = ${isDisabled ? 'least(disabled_at, now())' : 'null'}
      where id = $1 returning ${columns}`,
    values: [merchant],
  };
}

export interface MerchantOfCustomer {
  readonly id: MerchantId;
  readonly cell: string;
}

/** Whose customer it is, in one cell. By ID alone: the operator stands above the merchants. */
export function findMerchantOfCustomer(id: string): Statement<MerchantOfCustomer> {
  return {
    name: 'find_merchant_of_customer',
    text: `
      select m.id, m.cell
      from customers c join merchants m on m.id = c.merchant_id
      where c.id = $1`,
    values: [lookupId(id)],
  };
}
