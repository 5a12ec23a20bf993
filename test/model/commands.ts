// The commands of the model: each sends requests to the service and asks the model what the answers
// must be. A command names things by numbers, which the state of the model gives a meaning; the
// smaller a number, the more usual what it names, so that what fails shrinks to what is usual.

import type fc from 'fast-check';
import { expect } from 'vitest';
import type { Connections } from '../../src/access/transact.ts';
import type { JsonObject } from '../../src/contract/json.ts';
import type { InCells } from '../../src/core/cells.ts';
import type { Answer, Ask } from '../kit/api.ts';
import { defaultsOf, spoilsOf, withOther } from '../kit/bodies.ts';
import { plainSpelling, type Spelling, spelled } from '../kit/spelling.ts';
import { used } from './access.ts';
import { etagOf, isReplay, plain, readAnswer, refusalAnswer, settle } from './answers.ts';
import { callerOf, keyOf, pathOf, type WriteDraft, writeOf } from './drafts.ts';
import { isPatch, judge, refusalOfCaller, scopeOf, sentBody, type Verdict } from './rules.ts';
import { type Member, member, scopes } from './views.ts';
import { type Caller, type Merchant, pick, type World, type Write } from './world.ts';

export interface Request extends Ask {
  readonly body?: string;
}

/** A definite answer. Until there is one, a request is sent again, as every client does. */
export interface DefiniteAnswer extends Answer {
  readonly isRetry: boolean;
}

/** In milliseconds: more than any run takes. */
export const agedBy = 3_600_000;

/** The service. */
export interface Real {
  send(caller: Caller, method: string, path: string, request?: Request): Promise<DefiniteAnswer>;
  /** What the operator's commands work on. */
  readonly operator: Connections & InCells;
  newMerchant(name: string): Promise<string>;
  /** Erases a customer. Its operation: what only the service knows of it. */
  erase(merchant: string, customer: string): Promise<JsonObject>;
  /** Tells that a reservation has expired. Its operation. */
  expire(merchant: string, reservation: string): Promise<JsonObject>;
  /** Moves the end of a reservation to a time. */
  lapse(merchant: string, reservation: string, at: string): Promise<void>;
  /** Moves the times of what happened at merchants back by `agedBy`. */
  age(merchants: readonly string[]): Promise<void>;
  /** Uses an invitation. The token of the session; undefined: its answer was lost. */
  enter(invitation: string): Promise<string | undefined>;
  /** Closes the service and opens it again, on the same database. */
  restart(): Promise<void>;
  /** Ends every connection of the service with its database, from the database's side. */
  sever(): Promise<void>;
  /** Counts what was seen. */
  note(outcome: string): void;
}

export type Command = fc.AsyncCommand<World, Real>;

export function command(
  name: string,
  draft: object,
  run: (world: World, real: Real) => Promise<void>,
): Command {
  return { check: () => true, run, toString: () => `${name}(${JSON.stringify(draft)})` };
}

/** How a request is sent. */
interface Sending {
  readonly by: number;
  readonly spelling?: Spelling;
  /** So many times at the same moment. */
  readonly copies?: number;
}

export const write = (draft: Sending & WriteDraft): Command =>
  command('write', draft, async (world, real) => {
    const caller = callerOf(world, draft.by);
    const made = writeOf(world, caller.credential, draft);
    await send(world, real, caller, made, keyOf(world, draft.key), draft);
  });

export interface ReplayDraft extends Sending {
  readonly which: number;
  /** As it was; with another value in one member; with an unusable one; without an unusable one. */
  readonly how: 'same' | 'changed' | 'spoilt' | 'mended';
  readonly member: number;
}

/** Sends what was sent before again, with its key, by its credential or (now and then) another. */
export const replay = (draft: ReplayDraft): Command =>
  command('replay', draft, async (world, real) => {
    const sent = world.sent[draft.which % world.sent.length];
    if (sent === undefined) return;
    const own = world.credentials.indexOf(sent.credential);
    const caller = callerOf(world, draft.by < 90 ? own : draft.by, draft.by < 80 ? 0 : draft.by);
    await send(world, real, caller, variant(sent.write, draft), sent.key, draft);
  });

function variant(sent: Write, { how, member: n }: ReplayDraft): Write {
  if (how === 'same') return sent;
  const faults = spoilsOf(sent.type);
  if (how === 'spoilt') return { ...sent, spoil: faults[n % faults.length] };
  if (how === 'mended') return { ...sent, spoil: undefined };
  const names = Object.keys(sent.body);
  const name = names[n % names.length] ?? 'name';
  return { ...sent, spoil: undefined, body: withOther(sent.type, sent.body, name) };
}

async function send(
  world: World,
  real: Real,
  caller: Caller,
  made: Write,
  key: string,
  { spelling = plainSpelling, copies = 1 }: Sending,
): Promise<void> {
  const { type, ifMatch } = made;
  const verdict = judge(world, caller, made, key);
  const text = spelled(sentBody(made), spelling, impliedBy(made, spelling));
  const headers = ifMatch === undefined ? {} : { 'if-match': `"${ifMatch}"` };
  const method = isPatch(type) ? 'PATCH' : 'POST';
  const request = { body: text, key, headers };
  const from = Date.now();
  const answers = await Promise.all(
    Array.from({ length: copies }, () => real.send(caller, method, pathOf(made), request)),
  );
  const span = { from, to: Date.now() };
  // What became of an attempt without an answer is told as a replay.
  const isUnclear = answers.some(({ isRetry }) => isRetry);
  const first = answers.findIndex((answer) => !isReplay(answer));
  const inOrder = [...answers.splice(Math.max(first, 0), 1), ...answers];
  for (const [n, answer] of inOrder.entries()) {
    // All but one of the copies must be replays of that one.
    const now = n === 0 ? verdict : judge(world, caller, made, key);
    real.note(outcomeOf(made, now, answer));
    const who = madeHere(caller);
    if (who !== undefined) real.note(`${who} ${wordsOf(now, answer)}`);
    settle(world, now, { caller, write: made, key, answer, span, isUnclear });
  }
  world.sent.push({ credential: caller.credential, write: made, key });
}

/** What goes without saying: that of a create, and the ID that the query of an upsert names. */
function impliedBy({ type, named }: Write, { implied }: Spelling): JsonObject {
  if (named !== undefined) return implied === 'null' ? {} : { external_id: named };
  return isPatch(type) ? {} : defaultsOf(type);
}

/** Callers that are there because a write made them. */
function madeHere({ credential: { role, isIssued } }: Caller): string | undefined {
  if (role !== null) return 'a person';
  return isIssued ? undefined : 'a token made here';
}

const outcomeOf = ({ type }: Write, verdict: Verdict, answer: Answer): string =>
  `${type} ${wordsOf(verdict, answer)}`;

const wordsOf = ({ kind }: Verdict, { status, code }: Answer): string =>
  `${kind} ${status}${code === undefined ? '' : ` ${code}`}`;

/** What is wrong with a message itself: it is said before the key counts, and binds none. */
const breaks = {
  'no key': [400, 'idempotency_key_required', 'header.idempotency-key', 'required'],
  'short key': [400, 'idempotency_key_invalid', 'header.idempotency-key', 'invalid_format'],
  'bad if-match': [400, 'malformed_request', 'header.if-match', 'invalid_format'],
  'text/plain': [415, 'unsupported_media_type', '', ''],
  'bad JSON': [400, 'invalid_json', 'body', 'invalid_json'],
  'unknown parameter': [400, 'unknown_parameter', 'query.colour', 'unknown_field'],
} as const;

export type Break = keyof typeof breaks;
export const allBreaks = Object.keys(breaks) as Break[];

/** A message that is broken, under a key that may be bound. */
export const broken = (draft: { by: number; which: number; how: Break }): Command =>
  command('broken', draft, async (world, real) => {
    const sent = world.sent[draft.which % world.sent.length];
    if (sent === undefined) return;
    const { how } = draft;
    const { write: made, key } = sent;
    const caller = callerOf(world, draft.by);
    const text = spelled(made.body, plainSpelling) + (how === 'bad JSON' ? '}' : '');
    const method = isPatch(made.type) ? 'PATCH' : 'POST';
    const more = `${pathOf(made).includes('?') ? '&' : '?'}colour=red`;
    const path = pathOf(made) + (how === 'unknown parameter' ? more : '');
    const answer = await real.send(caller, method, path, {
      body: text,
      ...(how === 'no key' ? {} : { key: how === 'short key' ? key.slice(0, 15) : key }),
      headers: {
        ...(how === 'text/plain' ? { 'content-type': 'text/plain' } : {}),
        ...(how === 'bad if-match' ? { 'if-match': '*' } : {}),
      },
    });
    const [status, code, field, detail] = breaks[how];
    const details = field === '' ? [] : [{ field, code: detail }];
    const refusal = refusalOfCaller(caller, scopeOf(made.type));
    expect(plain(answer)).toEqual(refusalAnswer(refusal ?? { status, code, details }));
    real.note(`broken: ${answer.code}`);
  });

export const get = (draft: { by: number; name: Member; which: number }): Command =>
  command('get', draft, async (world, real) => {
    const caller = callerOf(world, draft.by);
    const { merchant } = caller.credential;
    const idsAt = (one: Merchant | undefined) => [...(one?.[draft.name].keys() ?? [])];
    const foreign = world.merchants.find((one) => one !== merchant);
    const id = pick(idsAt(merchant), idsAt(foreign), draft.which);
    const folder = scopes[draft.name] === 'inventory.read' ? '/inventory/' : '/';
    const answer = await real.send(caller, 'GET', `${folder}${draft.name}/${id}`);
    real.note(`get ${draft.name} ${answer.status}`);
    const { refusal, value } = member(caller, draft.name, id);
    if (refusal !== undefined) {
      expect(plain(answer)).toEqual(refusalAnswer(refusal));
      return;
    }
    // The time of an operation may not be known yet: its list compares it.
    const known = value.created_at === null ? { created_at: answer.body.data?.created_at } : {};
    const data = used({ ...value, ...known }, answer.body.data);
    // Of these the time of the last use changes without a new version.
    const isManaged = draft.name === 'people' || draft.name === 'tokens';
    expect(plain(answer)).toEqual(readAnswer(data, isManaged ? null : etagOf(value)));
  });

/** GET /credential: who one is, and may what. */
export const self = (draft: { by: number }): Command =>
  command('self', draft, async (world, real) => {
    const caller = callerOf(world, draft.by);
    const answer = await real.send(caller, 'GET', '/credential');
    const refusal = refusalOfCaller(caller, null);
    if (refusal !== undefined) {
      expect(plain(answer)).toEqual(refusalAnswer(refusal));
      return;
    }
    const { id, merchant, scopes: held, locations } = caller.credential;
    expect(plain(answer)).toEqual(
      readAnswer({
        id,
        kind: 'personal_access_token',
        role: null,
        merchant: { id: merchant.id, name: merchant.name },
        application: null,
        scopes: held,
        locations,
        expires_at: expect.any(String),
        last_used_at: answer.body.data?.last_used_at ?? null,
        rate_limit: null,
      }),
    );
  });

/** Somebody who is invited signs in: a person calls from now on. */
export const enter = (draft: { which: number }): Command =>
  command('enter', draft, async (world, real) => {
    const people = world.merchants.flatMap((one) => [...one.people.values()]);
    const invited = people.filter(({ invitation }) => invitation !== null);
    const one = invited[draft.which % invited.length];
    if (one?.invitation === undefined || one.invitation === null) return;
    const token = await real.enter(one.invitation);
    one.invitation = null;
    one.invitation_expires_at = null;
    one.version += 1;
    if (token === undefined) return;
    one.tokens = [token];
    if (!world.credentials.includes(one)) world.credentials.push(one);
    real.note('entered');
  });

export const restart = (): Command =>
  command('restart', {}, async (_world, real) => {
    await real.restart();
    real.note('restart');
  });

/** What comes next meets connections that are gone. */
export const sever = (): Command => command('sever', {}, (_world, real) => real.sever());
