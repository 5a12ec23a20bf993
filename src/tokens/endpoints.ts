// The endpoints of tokens: those of programs, and what applications are allowed. The text of a
// token is in the first answer to whoever made it, and nowhere else.

import {
  auditOf,
  type HeldCredential,
  isInReach,
  later,
  loadManaged,
  loadTokens,
  locationFaults,
  type Managed,
  savesChanged,
  savesNew,
  savesRotated,
  sightOf,
} from '../access/managed.ts';
import {
  findManaged,
  findVisible,
  listVisible,
  type ManagedChange,
  type ManagedRow,
} from '../access/managed-store.ts';
import { mintedFor } from '../access/once.ts';
import type { DataOf } from '../contract/contract.ts';
import type {
  CollectionEndpoint,
  Endpoint,
  MemberEndpoint,
  Write,
  WriteEndpoint,
} from '../contract/endpoint.ts';
import { fetchSize, takePage } from '../contract/page.ts';
import type { Scope } from '../core/principal.ts';
import * as contract from './contract.ts';
import * as rule from './decide.ts';

type TokenEndpoint<C extends contract.TokenWrite> = WriteEndpoint<
  C,
  Managed,
  HeldCredential,
  ManagedChange
>;

const common = {
  isFor: isInReach,
  find: ((merchant, ids) =>
    findManaged('tokens', merchant, ids)) as TokenEndpoint<contract.TokenWrite>['find'],
  present: presentToken,
};

const shared = {
  ...common,
  check: locationFaults,
  load: (writes: readonly Write[]) => loadManaged(writes),
};

const create: TokenEndpoint<typeof contract.create> = {
  ...shared,
  contract: contract.create,
  decide: (rows, write, { time }) => rule.decideCreate(rows, write, time),
  save: savesNew,
  beside: (done) => auditOf(done, () => 'token.create'),
  reveal: (write) => ({ token: mintedFor(write, 'pat') }),
};

const update: TokenEndpoint<typeof contract.update> = {
  ...shared,
  contract: contract.update,
  decide: (rows, write, { time }) => rule.decideUpdate(rows, write, time),
  save: savesChanged,
  beside: (done) =>
    auditOf(done, ({ revoked_at }) => (revoked_at === null ? 'token.change' : 'token.revoke')),
};

const rotate: TokenEndpoint<typeof contract.rotate> = {
  ...common,
  contract: contract.rotate,
  load: loadTokens,
  decide: (rows, write, { time }) => rule.decideRotate(rows, write, time),
  save: savesRotated,
  beside: (done) => auditOf(done, () => 'token.rotate'),
  reveal: (write) => ({ token: mintedFor(write, 'pat') }),
};

const list: CollectionEndpoint<typeof contract.list> = {
  contract: contract.list,
  async run(reader, { principal, query, page }) {
    const { status } = query;
    const filter = { status, after: page.after, limit: fetchSize(page) };
    const rows = await reader.query(listVisible('tokens', sightOf(principal), filter));
    return takePage(rows, page, (row) => row.id, presentToken);
  },
};

const get: MemberEndpoint<typeof contract.get> = {
  contract: contract.get,
  async run(reads, principal, id) {
    const may = sightOf(principal);
    const row = await reads.find((ids) => findVisible('tokens', may, ids), id);
    return row && presentToken(row);
  },
};

export const tokenEndpoints: readonly Endpoint[] = [create, update, rotate, list, get];

function presentToken(
  row: ManagedRow & Partial<Pick<ManagedChange, 'life_seconds'>>,
): DataOf<typeof contract.get> {
  const { life_seconds: seconds = null, expires_at: end } = row;
  const live = row.is_ended ? 'ended' : 'active';
  return {
    id: row.id,
    kind: row.kind,
    name: row.name,
    application: row.application,
    approval_id: row.approval_id,
    given_by: row.given_by,
    scopes: [...row.scopes] as Scope[],
    all_locations: row.all_locations,
    location_ids: [...row.location_ids],
    status: row.revoked_at === null ? live : 'revoked',
    token: null,
    last_four: row.last_four,
    expires_at: end === null || seconds === null ? end : later(end, seconds),
    last_used_at: row.last_used_at,
    version: row.version,
    created_at: row.created_at,
    revoked_at: row.revoked_at,
  };
}
