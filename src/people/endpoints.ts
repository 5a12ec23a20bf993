// The endpoints of people. A person is a credential without a token, so every movement says who.

import {
  auditOf,
  type HeldCredential,
  isInReach,
  later,
  loadManaged,
  locationFaults,
  type Managed,
  savesChanged,
  savesNew,
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
import { nameKey } from '../access/person-name.ts';
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

type PersonEndpoint<C extends contract.PersonWrite> = WriteEndpoint<
  C,
  Managed,
  HeldCredential,
  ManagedChange
>;

const shared = {
  check: locationFaults,
  load: (writes: readonly Write[]) => loadManaged(writes, wantedKey),
  isFor: isInReach,
  find: ((merchant, ids) =>
    findManaged('people', merchant, ids)) as PersonEndpoint<contract.PersonWrite>['find'],
  present: presentPerson,
};

const revealed = (write: Write) => ({ invitation: mintedFor(write, 'inv') });

const invite: PersonEndpoint<typeof contract.invite> = {
  ...shared,
  contract: contract.invite,
  decide: (rows, write, { time }) => rule.decideInvite(rows, write, time),
  save: savesNew,
  beside: (done) => auditOf(done, () => 'person.invite'),
  reveal: revealed,
};

const update: PersonEndpoint<typeof contract.update> = {
  ...shared,
  contract: contract.update,
  decide: (rows, write, { time }) => rule.decideUpdate(rows, write, time),
  save: savesChanged,
  beside: (done) =>
    auditOf(done, ({ revoked_at }) => (revoked_at === null ? 'person.change' : 'person.revoke')),
};

const inviteAgain: PersonEndpoint<typeof contract.inviteAgain> = {
  ...shared,
  contract: contract.inviteAgain,
  decide: (rows, write, { time }) => rule.decideInviteAgain(rows, write, time),
  save: savesChanged,
  beside: (done) => auditOf(done, () => 'person.invite'),
  reveal: revealed,
};

const list: CollectionEndpoint<typeof contract.list> = {
  contract: contract.list,
  async run(reader, { principal, query, page }) {
    const { status } = query;
    const filter = { status, after: page.after, limit: fetchSize(page) };
    const rows = await reader.query(listVisible('people', sightOf(principal), filter));
    return takePage(rows, page, (row) => row.id, presentPerson);
  },
};

const get: MemberEndpoint<typeof contract.get> = {
  contract: contract.get,
  async run(reads, principal, id) {
    const may = sightOf(principal);
    const row = await reads.find((ids) => findVisible('people', may, ids), id);
    return row && presentPerson(row);
  },
};

export const peopleEndpoints: readonly Endpoint[] = [invite, update, inviteAgain, list, get];

/** The name that a write wants, as it is compared. */
function wantedKey({ body }: Write): string | null {
  const { name } = body as { readonly name?: string | null };
  return name === undefined || name === null ? null : nameKey(name);
}

function presentPerson(
  row: ManagedRow & Partial<Pick<ManagedChange, 'invitation_minutes'>>,
): DataOf<typeof contract.get> {
  const { role, invitation_expires_at: end, invitation_minutes: minutes = null } = row;
  if (role === null) throw new Error(`${row.id} is no person`);
  const invited = end === null ? 'active' : 'invited';
  return {
    id: row.id,
    name: row.name,
    role,
    scopes: [...row.scopes] as Scope[],
    all_locations: row.all_locations,
    location_ids: [...row.location_ids],
    status: row.revoked_at === null ? invited : 'revoked',
    invitation: null,
    invitation_expires_at: end === null || minutes === null ? end : later(end, minutes * 60),
    last_used_at: row.last_used_at,
    version: row.version,
    created_at: row.created_at,
    revoked_at: row.revoked_at,
  };
}
