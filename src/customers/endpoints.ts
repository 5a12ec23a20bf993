// The endpoints of customers: which contract, which functions.

import type {
  CollectionEndpoint,
  Endpoint,
  MemberEndpoint,
  WriteEndpoint,
} from '../core/endpoint.ts';
import { fetchSize, readLarge, rowsOf, takePage } from '../core/page.ts';
import { Problem } from '../core/problem.ts';
import { type Drafts, draftsOf, type Edit, type Holder, saveLast } from '../core/revision.ts';
import * as contract from './contract.ts';
import {
  type CustomerFields,
  type CustomerPatch,
  type CustomerRow,
  decideCreate,
  decideUpdate,
} from './edit.ts';
import * as store from './store.ts';

type CustomerWrite<Body> = WriteEndpoint<Body, Drafts<CustomerRow>, Edit<CustomerRow>, CustomerRow>;

const createCustomer: CustomerWrite<CustomerFields> = {
  contract: contract.createCustomer,
  load: (commands) => ({
    statements: [store.findHolders(commands)],
    state: ([holders = []]) => draftsOf([], holders as Holder[]),
  }),
  decide: decideCreate,
  save: (edits) => saveLast(edits, store.insertCustomers),
  row: (edit) => edit.row,
  find: store.findCustomers,
  present: presentCustomer,
};

const updateCustomer: CustomerWrite<CustomerPatch> = {
  contract: contract.updateCustomer,
  load: (commands) => ({
    statements: [store.lockCustomers(commands), store.findHolders(commands)],
    state: ([rows = [], holders = []]) => draftsOf(rows as CustomerRow[], holders as Holder[]),
  }),
  decide: decideUpdate,
  save: (edits) => saveLast(edits, store.updateCustomers),
  row: (edit) => edit.row,
  find: store.findCustomers,
  present: presentCustomer,
};

const getCustomer: MemberEndpoint = {
  contract: contract.getCustomer,
  async run(reads, { merchant }, id) {
    const row = await reads.find((ids) => store.findCustomers(merchant, ids), id);
    return row === undefined ? undefined : presentCustomer(row);
  },
};

const listCustomers: CollectionEndpoint<typeof contract.listCustomers> = {
  contract: contract.listCustomers,
  async run(reader, { principal, query, page }) {
    const answer = await readLarge(
      reader,
      store.listCustomers({
        merchant: principal.merchant,
        email: query.email,
        externalId: query.external_id,
        status: query.status,
        updatedAfter: query.updated_after,
        q: query.q,
        after: page.after,
        limit: fetchSize(page),
      }),
    );
    return takePage(rowsOf(answer), page, (row) => row.id, presentCustomer);
  },
};

export const customerEndpoints: readonly Endpoint[] = [
  createCustomer,
  updateCustomer,
  listCustomers,
  getCustomer,
];

function presentCustomer(row: CustomerRow): object {
  if (row.erased_at !== null) throw new Problem('resource_erased');
  return {
    id: row.id,
    name: row.name,
    email: row.email,
    phone: row.phone,
    external_id: row.external_id,
    note: row.note,
    metadata: row.metadata,
    status: row.status,
    version: row.version,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
