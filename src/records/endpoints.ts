// The endpoints of records: create, change, do either by the caller's own ID, read and list. A
// domain adds what is special about its own: a check of several members, a refusal, further locks.

import { valuesOf } from '../contract/columns.ts';
import type {
  CollectionContract,
  DataOf,
  MemberContract,
  WriteContract,
} from '../contract/contract.ts';
import type {
  AnyWriteEndpoint,
  CollectionEndpoint,
  Endpoint,
  MemberEndpoint,
  Write,
  WriteEndpoint,
} from '../contract/endpoint.ts';
import { fetchSize, takeColumns } from '../contract/page.ts';
import { mintId } from '../core/id.ts';
import { canReach } from '../core/principal.ts';
import { type Detail, Problem, type ProblemCode } from '../core/problem.ts';
import type { SetStatement, Statement } from '../core/statement.ts';
import { pagePresenter, presenter } from './columns.ts';
import { listOf, measure, readPage } from './list-store.ts';
import type { RecordResource, Row } from './record.ts';
import {
  accept,
  type Drafts,
  draftOf,
  draftsOf,
  type Editable,
  firstVersion,
  type Holder,
  holdersOf,
  namedDraftOf,
  refusalByVersion,
  refuse,
  revise,
  saveLast,
} from './revision.ts';
import * as store from './store.ts';

interface Contracts {
  readonly create: WriteContract;
  readonly update: WriteContract;
  readonly upsert: WriteContract;
  readonly list: CollectionContract;
  readonly get: MemberContract;
}

/** What is special about the records of one domain. */
interface Rules<One> {
  /** The records are locations: only granted ones can be seen. */
  readonly isGranted?: true;
  /** A PATCH locks its record against those that depend on it, too. */
  readonly isLockedFully?: true;
  /** What several members say together. A fault here binds no key. */
  check?(body: Partial<One>): readonly Detail[];
  /** Why a record cannot be read and cannot be changed. */
  refusal?(row: One): ProblemCode | undefined;
  /** What changes lock after their records, which they name by ID, or by one of the caller's. */
  locks?(writes: readonly Write<Partial<One>>[], by: 'id' | 'external_id'): readonly SetStatement[];
  /** Why a change, or what an upsert makes, is refused, by the rows of these locks. */
  faults?(before: One, after: One, locked: Rows): readonly Detail[];
}

type Rows = readonly (readonly unknown[])[];

/** A record in memory, with any members. */
type AnyRecord = Editable & Readonly<Record<string, unknown>>;

interface State extends Drafts<AnyRecord> {
  readonly locked: Rows;
}

type RecordWrite = WriteEndpoint<WriteContract, State, AnyRecord>;

/** The five endpoints of a resource, in the order of the document. */
export function recordEndpoints<R extends RecordResource>(
  resource: R,
  contracts: Contracts,
  special: Rules<Row<R>> = {},
): readonly Endpoint[] {
  // Only the declaration of a record and its rules know its members; this file does not.
  const rules = special as unknown as Rules<AnyRecord>;
  const one: RecordResource = resource;
  const show = presenter(one.answer);
  const present = (row: AnyRecord) => {
    const code = rules.refusal?.(row);
    if (code !== undefined) throw new Problem(code);
    return show(row);
  };
  const shared = { find: findOf(one), measure: measureOf(one), present };
  const check = (body: object) => rules.check?.(body) ?? [];
  return [
    { ...shared, check, ...createOf(one, contracts.create) },
    { ...shared, check, ...updateOf(one, contracts.update, rules) },
    { ...shared, check, ...upsertOf(one, contracts.upsert, rules) },
    listEndpoint(one, contracts.list, rules),
    getEndpoint(one, contracts.get, rules, present),
  ];
}

/** What a command does to one record. */
interface CommandRule<One, C extends WriteContract> {
  /** What it sets, in the form of a PATCH. Nothing: a success that changes nothing. */
  patch(row: One, time: string): { readonly [Column in keyof One]?: One[Column] | null };
  present(row: One): DataOf<C>;
}

/** A write of one record that only the operator performs: no route serves it. */
export function recordCommand<R extends RecordResource, C extends WriteContract>(
  resource: R,
  contract: C,
  rule: CommandRule<Row<R>, C>,
): AnyWriteEndpoint {
  const one: RecordResource = resource;
  const { patch, present } = rule as unknown as CommandRule<AnyRecord, WriteContract>;
  return {
    ...updateOf(one, contract, {}),
    find: findOf(one),
    present,
    decide(state: State, write, { time }) {
      const row = draftOf(state, write);
      return accept(one.unique, state, row, revise(row, patch(row, time), one.defaults, time));
    },
  } satisfies RecordWrite as AnyWriteEndpoint;
}

function findOf(resource: RecordResource): RecordWrite['find'] {
  return (merchant, ids) => store.find(resource, merchant, ids) as Statement<AnyRecord>;
}

function measureOf(resource: RecordResource): Required<RecordWrite>['measure'] {
  return (merchant, ids) => measure(resource, merchant, ids);
}

type Own = Pick<RecordWrite, 'contract' | 'load' | 'decide' | 'save'>;

function createOf(resource: RecordResource, contract: WriteContract): Own {
  const { prefix, blank, unique } = resource;
  return {
    contract,
    load: (writes) => ({
      statements: [store.findHolders(resource, writes)],
      state: ([holders = []]) => ({ ...draftsOf<AnyRecord>([], holders as Holder[]), locked: [] }),
    }),
    decide(state, { body }, { time }) {
      const fields = { ...blank, ...(body as AnyRecord) };
      return accept(unique, state, undefined, firstVersion(mintId(prefix), fields, time));
    },
    save: (changes) => saveLast(changes, (rows) => store.insert(resource, rows)),
  };
}

function updateOf(resource: RecordResource, contract: WriteContract, rules: Rules<AnyRecord>): Own {
  const { defaults, unique } = resource;
  return {
    contract,
    load(writes) {
      const locks = rules.locks?.(writes as Write<AnyRecord>[], 'id') ?? [];
      return {
        statements: [
          store.lock(resource, writes, strengthOf(rules)),
          ...locks,
          store.findHolders(resource, writes),
        ],
        state([rows = [], ...others]) {
          const holders = (others.at(-1) ?? []) as Holder[];
          return { ...draftsOf(rows as AnyRecord[], holders), locked: others.slice(0, -1) };
        },
      };
    },
    decide(state, write, { time }) {
      const row = draftOf(state, write);
      const code = rules.refusal?.(row);
      if (code !== undefined) return refuse(code);
      const revised = revise(row, write.body as AnyRecord, defaults, time);
      const faults = rules.faults?.(row, revised, state.locked) ?? [];
      return refusalByVersion(row, write.ifMatch) ?? accept(unique, state, row, revised, faults);
    },
    save: (changes) => saveLast(changes, (rows) => store.update(resource, rows)),
  };
}

const strengthOf = ({ isLockedFully }: Rules<AnyRecord>) =>
  isLockedFully === true ? 'update' : 'no key update';

/**
 * Two upserts of one new ID at once both create. The second fails at the unique index and runs
 * again: then it locks what the first has made, and changes it. Who has the other values is read
 * first: read behind the lock, that could be the record itself, which another one made meanwhile.
 */
function upsertOf(resource: RecordResource, contract: WriteContract, rules: Rules<AnyRecord>): Own {
  const { prefix, members, defaults, blank, unique } = resource;
  const required = Object.keys(members).filter((name) => !Object.hasOwn(blank, name));
  const { external_id: _, ...others } = unique;
  return {
    contract,
    load: (writes) => ({
      statements: [
        store.findHolders({ name: resource.name, unique: others }, writes),
        store.lockNamed(resource, writes, strengthOf(rules)),
        ...(rules.locks?.(writes as Write<AnyRecord>[], 'external_id') ?? []),
      ],
      state([holders = [], rows = [], ...locked]) {
        const named = holdersOf(rows as (AnyRecord & { external_id: string })[]);
        return { ...draftsOf(rows as AnyRecord[], [...(holders as Holder[]), ...named]), locked };
      },
    }),
    decide(state, write, { time }) {
      const body = write.body as AnyRecord;
      const before = namedDraftOf(state, write.externalId ?? '');
      if (rules.isGranted === true && !isGrantedTo(write, before)) {
        return refuse('location_not_granted');
      }
      if (before !== undefined) {
        const row = revise(before, body, defaults, time);
        const faults = rules.faults?.(before, row, state.locked) ?? [];
        return { ...accept(unique, state, before, row, faults), created: false };
      }
      const missing = required.filter((name) => body[name] === undefined);
      if (missing.length > 0) return refuse('validation_failed', missing.map(missingDetail));
      const first = firstVersion(mintId(prefix), blank, time) as AnyRecord;
      const row = { ...revise(first, body, defaults, time), version: 1 };
      const faults = rules.faults?.(first, row, state.locked) ?? [];
      return { ...accept(unique, state, undefined, row, faults), created: true };
    },
    save(changes) {
      const made = new Set(changes.flatMap(({ id, version }) => (version === 1 ? [id] : [])));
      return [
        ...saveLast(
          changes.filter(({ id }) => made.has(id)),
          (rows) => store.insert(resource, rows),
        ),
        ...saveLast(
          changes.filter(({ id }) => !made.has(id)),
          (rows) => store.update(resource, rows),
        ),
      ];
    },
  };
}

/** Judged under the lock: since the request was admitted, another one may have got the ID. */
function isGrantedTo({ granted }: Write, row: AnyRecord | undefined): boolean {
  return granted === 'all' || granted.some((id) => id === row?.id);
}

function missingDetail(field: string): Detail {
  return { field, code: 'required', message: 'is required, because none has this external_id' };
}

type Present = (row: AnyRecord) => object;

function getEndpoint(
  resource: RecordResource,
  contract: MemberContract,
  { isGranted }: Rules<AnyRecord>,
  present: Present,
): MemberEndpoint {
  return {
    contract,
    async run(reads, principal, id) {
      if (isGranted === true && !canReach(principal, id)) return undefined;
      const { merchant } = principal;
      const row = await reads.find((ids) => store.find(resource, merchant, ids), id);
      return row === undefined ? undefined : present(row as AnyRecord);
    },
  };
}

function listEndpoint(
  resource: RecordResource,
  contract: CollectionContract,
  { isGranted }: Rules<AnyRecord>,
): CollectionEndpoint {
  const list = listOf(resource, contract);
  const presentPage = pagePresenter(resource.members, resource.answer);
  return {
    contract,
    async run(reader, { principal: { merchant, locations }, query, page }) {
      const granted = isGranted !== true || locations === 'all' ? null : locations;
      const request = { merchant, filters: query, granted, after: page.after };
      const [answer] = await readPage(reader, list({ ...request, limit: fetchSize(page) }));
      const followed = valuesOf(answer, 'followed');
      return takeColumns(answer?.id ?? [], followed, page, (count) => presentPage(answer, count));
    },
  };
}
