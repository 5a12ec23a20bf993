// The endpoints of locations: which contract, which functions.

import type {
  CollectionEndpoint,
  Endpoint,
  MemberEndpoint,
  WriteEndpoint,
} from '../core/endpoint.ts';
import { fetchSize, takePage } from '../core/page.ts';
import { canReach } from '../core/principal.ts';
import { type Drafts, draftsOf, type Edit, type Holder, saveLast } from '../core/revision.ts';
import * as contract from './contract.ts';
import {
  decideCreate,
  decideUpdate,
  type LocationFields,
  type LocationPatch,
  type LocationRow,
} from './edit.ts';
import * as store from './store.ts';

type LocationWrite<Body> = WriteEndpoint<Body, Drafts<LocationRow>, Edit<LocationRow>, LocationRow>;

const createLocation: LocationWrite<LocationFields> = {
  contract: contract.createLocation,
  load: (commands) => ({
    statements: [store.findHolders(commands)],
    state: ([holders = []]) => draftsOf([], holders as Holder[]),
  }),
  decide: decideCreate,
  save: (edits) => saveLast(edits, store.insertLocations),
  row: (edit) => edit.row,
  find: store.findLocations,
  present: presentLocation,
};

const updateLocation: LocationWrite<LocationPatch> = {
  contract: contract.updateLocation,
  load: (commands) => ({
    statements: [store.lockLocations(commands), store.findHolders(commands)],
    state: ([rows = [], holders = []]) => draftsOf(rows as LocationRow[], holders as Holder[]),
  }),
  decide: decideUpdate,
  save: (edits) => saveLast(edits, store.updateLocations),
  row: (edit) => edit.row,
  find: store.findLocations,
  present: presentLocation,
};

const getLocation: MemberEndpoint = {
  contract: contract.getLocation,
  async run(reads, principal, id) {
    if (!canReach(principal, id)) return undefined;
    const row = await reads.find((ids) => store.findLocations(principal.merchant, ids), id);
    return row === undefined ? undefined : presentLocation(row);
  },
};

const listLocations: CollectionEndpoint<typeof contract.listLocations> = {
  contract: contract.listLocations,
  async run(reader, { principal, query, page }) {
    const rows = await reader.query(
      store.listLocations({
        merchant: principal.merchant,
        granted: principal.locations === 'all' ? null : principal.locations,
        status: query.status,
        code: query.code,
        after: page.after,
        limit: fetchSize(page),
      }),
    );
    return takePage(rows, page, (row) => row.id, presentLocation);
  },
};

export const locationEndpoints: readonly Endpoint[] = [
  createLocation,
  updateLocation,
  listLocations,
  getLocation,
];

function presentLocation(row: LocationRow): object {
  return {
    id: row.id,
    name: row.name,
    code: row.code,
    type: row.type,
    status: row.status,
    timezone: row.timezone,
    external_id: row.external_id,
    metadata: row.metadata,
    version: row.version,
    created_at: row.created_at,
    updated_at: row.updated_at,
  };
}
