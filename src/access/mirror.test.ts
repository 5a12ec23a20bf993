// The statements of access, at two merchants whose credentials, approvals and consents have the
// very same IDs: each finds and changes those of the merchant it is told, or that the row found by
// a token says.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Applications } from '../../test/kit/applications.ts';
import { homeCell, mirrorCell } from '../../test/kit/cells.ts';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { Given } from '../../test/kit/given.ts';
import { mirrorOf, recordsOf } from '../../test/kit/mirror.ts';
import { mintId } from '../core/id.ts';
import type { MerchantId } from '../core/principal.ts';
import { later, type Statement } from '../core/statement.ts';
import { connectDatabase, type Database } from '../database/connect.ts';
import * as consents from '../oauth/consent/store.ts';
import * as tokens from '../oauth/token-store.ts';
import { Authenticator } from './authenticator.ts';
import { listVisible } from './managed-store.ts';
import * as approvals from './operator/application-store.ts';
import * as credentials from './operator/credential-store.ts';
import { findOperator } from './operator/credential-store.ts';
import * as limitStatements from './operator/limit-store.ts';
import { findMerchantOfCustomer } from './operator/merchant-store.ts';
import { atMerchant, createMerchant } from './operator/merchants.ts';
import * as pruning from './operator/prune-store.ts';
import { takeTokens } from './rate/bucket-store.ts';
import { extendSessions, findAbsent, findTokenCells, noteUses } from './store.ts';
import { hashToken, kept, mintToken } from './token.ts';
import { commitAll } from './transact.ts';

/** One of two merchants; all IDs but the merchant's are those of both. */
interface Side {
  readonly merchant: MerchantId;
  readonly name: string;
  readonly ofPerson: string;
  readonly ofApproval: string;
  readonly ofConsent: string;
}

interface World {
  readonly sides: readonly [Side, Side];
  readonly person: string;
  readonly application: string;
  readonly approval: string;
  readonly consent: string;
  readonly location: string;
}

let db: TestDatabase;
let database: Database;
let given: Given;
let applications: Applications;
let authenticator: Authenticator;

beforeAll(async () => {
  db = await createTestDatabase();
  database = connectDatabase({ url: db.serviceUrl, writers: 2 }).inCell(homeCell);
  given = new Given(db);
  applications = new Applications(db);
  authenticator = new Authenticator(database.reserve, () => undefined);
});
afterAll(async () => {
  await database.close();
  await db.drop();
});

async function mirroredWorld(): Promise<World> {
  const { id: merchant } = await createMerchant(database, 'Corner Shop', homeCell);
  const person = await given.credential(merchant);
  const application = await applications.application();
  const approval = await applications.approval(merchant, application);
  const by = { approval, by: person.token };
  const consent = await applications.consent(merchant, application, by);
  const ofApproval = await applications.token(merchant, approval);
  const ofConsent = await applications.token(merchant, consent);
  const location = await given.location(merchant);
  const own = [person.token, ofApproval, ofConsent];
  const mirror = await mirrorOf(db, merchant, own);
  const side = (of: string, name: string, by: readonly string[]) => ({
    merchant: of as MerchantId,
    name,
    ...{ ofPerson: by[0] ?? '', ofApproval: by[1] ?? '', ofConsent: by[2] ?? '' },
  });
  const sides = [
    side(merchant, 'Corner Shop', own),
    side(mirror.merchant, 'Mirror Corner Shop', mirror.tokens),
  ] as const;
  return { sides: [...sides], person: person.id, application, approval, consent, location };
}

/** The rows of each statement of one transaction. */
async function commit(...statements: readonly Statement[]): Promise<readonly unknown[][]> {
  return (await commitAll(database.writer, statements)).map((rows) => [...rows]);
}

const read = <Row>(statement: Statement<Row>): Promise<Row[]> => database.reader.query(statement);

const scopes = ['products.read'];
const twoDays = 2 * 86_400;

/** The tokens of a merchant as its owners see them, by ID. */
async function tokensSeen({ person }: World, { merchant }: Side) {
  const sight = { merchant, credentialId: person, locations: null };
  const rows = await read(
    listVisible('tokens', sight, { status: undefined, after: undefined, limit: 50 }),
  );
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  return new Map(rows.map((row) => [row.id, row]));
}

test('each of two merchants sees its own tokens, and what ended at it alone', async () => {
  const world = await mirroredWorld();
  const isEnded = async (side: Side) =>
    (await tokensSeen(world, side)).get(world.consent)?.is_ended;
  for (const side of world.sides) {
    const seen = await tokensSeen(world, side);
    expect(seen.get(world.person)?.last_four).toBe(side.ofPerson.slice(-4));
    expect(seen.get(world.consent)).toMatchObject({ given_by: world.person, is_ended: false });
  }
  const [one, other] = world.sides;
  await commit(credentials.revokeCredential(other.merchant, world.person));
  expect([await isEnded(one), await isEnded(other)]).toEqual([false, true]);
  await commit(approvals.revokeApproval(one.merchant, world.application));
  await commit(credentials.revokeCredential(one.merchant, world.person));
  expect([await isEnded(one), await isEnded(other)]).toEqual([true, true]);
});

describe('at one of two merchants alone', () => {
  const changes: readonly (readonly [string, (w: World, at: MerchantId) => Statement, number])[] = [
    ['a credential is revoked', (w, at) => credentials.revokeCredential(at, w.person), 1],
    [
      'a credential gets other locations',
      (w, at) => credentials.setGrant(at, w.person, { all: false, ids: [] }),
      1,
    ],
    ['a credential gets other scopes', (w, at) => credentials.setScopes(at, w.person, scopes), 1],
    ['a credential is locked', (w, at) => credentials.lockLiveCredential(at, w.person), 1],
    [
      'a credential gets a limit',
      (w, at) => limitStatements.setCredentialLimit(at, w.person, limit(60)),
      1,
    ],
    ['an approval is locked', (w, at) => approvals.lockApproval(at, w.application), 1],
    [
      'an approval ends with its consents',
      (w, at) => approvals.revokeApproval(at, w.application),
      2,
    ],
  ];
  test.each(changes)('%s', async (_, statementOf, rows) => {
    const world = await mirroredWorld();
    const [one, other] = world.sides;
    const before = await recordsOf(db, other.merchant);
    const [changed] = await commit(statementOf(world, one.merchant));
    expect(changed).toHaveLength(rows);
    expect(await recordsOf(db, other.merchant)).toEqual(before);
  });

  test('a token is replaced by one with as long a life', async () => {
    const { sides, person } = await mirroredWorld();
    const [one, other] = sides;
    const age = `update credential_tokens set
      created_at = ${later('created_at', "interval '-1 hour'")},
      expires_at = ${later('expires_at', "interval '9 days'")} where merchant_id = $1`;
    for (const [at, others] of [sides, [other, one]] as const) {
      if (at === other) await db.sql(age, [other.merchant]);
      const before = await recordsOf(db, others.merchant);
      const next = kept(mintToken('pat'));
      const [made, ended] = await commit(
        credentials.insertNextToken(at.merchant, person, next),
        credentials.endOtherTokens(at.merchant, person, next, 0),
      );
      expect([made?.length, ended?.length]).toEqual([1, 1]);
      const [life] = await db.sql(
        `select extract(day from expires_at - created_at)::int as days from credential_tokens
         where token_hash = $1`,
        [next.tokenHash],
      );
      expect(life).toEqual({ days: at === one ? 1 : 10 });
      expect(await recordsOf(db, others.merchant)).toEqual(before);
    }
  });

  test('what a revoked approval has left is ended', async () => {
    const { sides, application, approval } = await mirroredWorld();
    const [one, other] = sides;
    const revoke = 'update credentials set revoked_at = now() where merchant_id = $1 and id = $2';
    await db.sql(revoke, [one.merchant, approval]);
    const ofOther = await recordsOf(db, other.merchant);
    const ofOne = await recordsOf(db, one.merchant);
    await commit(...approvals.endWhatRevokedLeft(other.merchant, application));
    expect(await recordsOf(db, other.merchant)).toEqual(ofOther);
    expect(await recordsOf(db, one.merchant)).toEqual(ofOne);
    await commit(...approvals.endWhatRevokedLeft(one.merchant, application));
    expect(await recordsOf(db, other.merchant)).toEqual(ofOther);
    expect(await recordsOf(db, one.merchant)).not.toEqual(ofOne);
  });

  test('a consent is given by a token of that merchant only', async () => {
    const { sides, application } = await mirroredWorld();
    const [one, other] = sides;
    const consentBy = (token: string) => {
      const by = { tokenHash: hashToken(token), scopes, grant: { all: true, ids: [] } };
      const of = { merchant: one.merchant, id: mintId('cred_'), application };
      return commit(consents.insertConsent({ ...of, ...by }));
    };
    await expect(consentBy(other.ofPerson)).rejects.toThrow();
    await consentBy(one.ofPerson);
  });

  test('the use of a credential is noted', async () => {
    const { sides, person } = await mirroredWorld();
    const [one, other] = sides;
    await commit(noteUses([[person, one.merchant]]));
    const used = await db.sql(
      `select merchant_id from credentials
       where last_used_at is not null and merchant_id = any ($1)`,
      [[one.merchant, other.merchant]],
    );
    expect(used).toEqual([{ merchant_id: one.merchant }]);
  });

  test('a token is a session that is used, because its credential is of a person', async () => {
    const { sides, person } = await mirroredWorld();
    const [one, other] = sides;
    const invite = `update credentials set role = 'viewer', name_key = 'ada', invited_at = now()
      where merchant_id = $1 and id = $2`;
    await db.sql(invite, [other.merchant, person]);
    const ofOne = await recordsOf(db, one.merchant);
    const ofOther = await recordsOf(db, other.merchant);
    await commit(extendSessions(sides.map((of) => hashToken(of.ofPerson))));
    expect(await recordsOf(db, one.merchant)).toEqual(ofOne);
    expect(await recordsOf(db, other.merchant)).not.toEqual(ofOther);
  });

  test('tokens are taken from a bucket, and it is forgotten', async () => {
    const { sides } = await mirroredWorld();
    const [one, other] = sides;
    const ask = (at: Side, wanted: number) => ({
      ...{ merchantId: at.merchant, credentialId: '', secondsPerToken: 60, size: 10 },
      ...{ owed: 0, usedHere: 0, wanted },
    });
    const left = async () => {
      const rows = await db.sql<{ merchant: string; left: number }>(
        `select merchant_id as merchant,
           round(10 - extract(epoch from full_at - now()) / 60)::int as left
         from rate_buckets where merchant_id = any ($1)`,
        [[one.merchant, other.merchant]],
      );
      return new Map(rows.map((row) => [row.merchant, row.left]));
    };
    await commit(takeTokens([ask(one, 4), ask(other, 1)], null));
    const [taken] = await commit(takeTokens([ask(one, 3), ask(other, 1)], null));
    expect(taken).toMatchObject([{ granted: 3 }, { granted: 1 }]);
    expect([(await left()).get(one.merchant), (await left()).get(other.merchant)]).toEqual([3, 8]);
    await commit(takeTokens([ask(one, 2)], null));
    expect([(await left()).get(one.merchant), (await left()).get(other.merchant)]).toEqual([1, 8]);
    await commit(limitStatements.forgetBucket(one.merchant, ''));
    expect([...(await left())]).toEqual([[other.merchant, 8]]);
  });
});

const limit = (perMinute: number) => ({ requests_per_minute: perMinute, request_burst: 5 });

describe('what nobody used for a year', () => {
  test('is found by the uses at its own merchant, and revoked there', async () => {
    const { sides, approval, person } = await mirroredWorld();
    const [one, other] = sides;
    const age = `update credentials set created_at = now() - interval '3 years'
      where merchant_id = any ($1)`;
    await db.sql(age, [[one.merchant, other.merchant]]);
    const use = `update credentials set last_used_at = now()
      where merchant_id = $1 and approval_id is not null`;
    await db.sql(use, [other.merchant]);
    const unused = async ({ merchant }: Side) =>
      (await read(pruning.listUnused(merchant, '', 50))).map(({ id }) => id);
    expect(await unused(one)).toHaveLength(3);
    expect(await unused(one)).toContain(approval);
    expect(await unused(other)).toEqual([person]);
    const before = await recordsOf(db, other.merchant);
    await commit(pruning.revokeUnused(one.merchant, person));
    expect(await recordsOf(db, other.merchant)).toEqual(before);
  });

  test('of tokens that have ended is counted and removed at its own merchant', async () => {
    const { sides } = await mirroredWorld();
    const [one, other] = sides;
    const end = `update credential_tokens set expires_at = now() - interval '2 days'
      where token_hash = any ($1)`;
    await db.sql(end, [sides.map(({ ofApproval }) => hashToken(ofApproval))]);
    const before = await recordsOf(db, other.merchant);
    expect(await read(pruning.countEndedTokens(one.merchant))).toEqual([{ count: 1 }]);
    const [removed] = await commit(pruning.removeEndedTokens(one.merchant, 10));
    expect(removed).toEqual([{ count: 1 }]);
    expect(await recordsOf(db, other.merchant)).toEqual(before);
  });
});

describe('each of two merchants', () => {
  test('is asked for by itself where nobody has a token at hand', async () => {
    const { sides, person } = await mirroredWorld();
    const [one, other] = sides;
    const asking = [other, one].map(({ merchant }) => {
      return { merchant, credentialId: person, tokenScopes: null };
    });
    const found = async () =>
      (await read(findAbsent(asking))).map((row) => [row.position, row.merchant_name]);
    expect((await found()).sort()).toEqual([
      [0, other.name],
      [1, one.name],
    ]);
    await db.sql('update credential_tokens set expires_at = now() where token_hash = $1', [
      hashToken(one.ofPerson),
    ]);
    expect(await found()).toEqual([[0, other.name]]);
  });

  test('finds what is its own, once', async () => {
    const world = await mirroredWorld();
    const { application, location, person } = world;
    for (const at of world.sides) {
      const { merchant, name } = at;
      expect(await read(findOperator(merchant))).toMatchObject([
        { merchant_id: merchant, merchant_name: name },
      ]);
      const { reader } = await atMerchant(database, merchant);
      for (const found of [
        credentials.findLocationIds(merchant, [location]),
        consents.findNamedLocations(merchant, null, 9),
        consents.findNamedLocations(merchant, [location], 9),
      ]) {
        expect(await reader.query<object>(found)).toHaveLength(1);
      }
      expect(await read(limitStatements.findCredentialLimit(merchant, person))).toHaveLength(1);
      expect(await read(tokens.findLiveApprovals(application, merchant))).toHaveLength(1);
      expect(await read(consents.findApprovalAt(application, merchant))).toHaveLength(1);
      expect(await read(consents.findGiver(hashToken(at.ofPerson)))).toMatchObject([
        { merchant_id: merchant, merchant_name: name },
      ]);
      expect(await read(credentials.listEndingCredentials(merchant, twoDays))).toHaveLength(1);
      const cells = await read(findTokenCells([hashToken(at.ofPerson).toString('hex')]));
      const own = at === world.sides[0] ? homeCell : mirrorCell;
      expect(cells.map(({ cell }) => cell)).toEqual([own]);
      const listed = await read(credentials.listCredentials(merchant, '', 9));
      const shown = listed.flatMap((one) => [one.last_four, ...one.tokens.map((t) => t.last_four)]);
      const four = [at.ofPerson, at.ofApproval, at.ofConsent].map((token) => token.slice(-4));
      expect([listed.length, shown.sort()]).toEqual([3, [...four, ...four].sort()]);
    }
  });

  test('is named once by what looks at all of them', async () => {
    const { sides, application, consent } = await mirroredWorld();
    const customer = mintId('cus_');
    for (const { merchant } of sides) {
      await db.sql(
        `insert into customers (merchant_id, id, name, email, email_key, created_at, updated_at)
         values ($1, $2, 'Ada', 'a@example.com', 'a@example.com', now(), now())`,
        [merchant, customer],
      );
    }
    const merchants = sides.map(({ merchant }) => merchant).sort();
    const found = await read(findMerchantOfCustomer(customer));
    expect(found.map(({ id }) => id).sort()).toEqual(merchants);
    const listed = await read(approvals.listApprovals(application));
    expect(listed.map((one) => one.merchant_id).sort()).toEqual(merchants);
    expect(await read(consents.findConsent(consent))).toHaveLength(2);
  });
});

describe('a consent', () => {
  const setScopes = 'update credentials set scopes = $3 where merchant_id = $1 and id = $2';

  test('is worth what the approval and the giver of its own merchant are', async () => {
    for (const behind of ['approval', 'person'] as const) {
      const world = await mirroredWorld();
      const narrow = world.sides[1];
      await db.sql(setScopes, [narrow.merchant, world[behind], scopes]);
      for (const { merchant, ofConsent } of world.sides) {
        const caller = await authenticator.authenticate(ofConsent, undefined);
        expect(caller?.principal.merchant).toBe(merchant);
        const held = [...(caller?.principal.scopes ?? [])];
        if (merchant === narrow.merchant) expect(held).toEqual(scopes);
        else expect(held.length).toBeGreaterThan(1);
      }
    }
  });

  test('given by a token of another merchant is worth nothing', async () => {
    const { sides, consent } = await mirroredWorld();
    const [one, other] = sides;
    expect(await authenticator.authenticate(one.ofConsent, undefined)).toBeDefined();
    const giveBy = 'update credentials set given_by = $3 where merchant_id = $1 and id = $2';
    await db.sql(giveBy, [one.merchant, consent, hashToken(other.ofPerson)]);
    expect(await authenticator.authenticate(one.ofConsent, undefined)).toBeUndefined();
  });
});

describe('what is ended by the ID of a credential', () => {
  /** The mirror's credentials of these IDs are approvals of other applications. */
  async function strangers(): Promise<World> {
    const world = await mirroredWorld();
    const turn = `update credentials set kind = 'oauth_access_token', application_id = $3,
      approval_id = null, given_by = null where merchant_id = $1 and id = $2`;
    for (const id of [world.consent, world.approval, world.person]) {
      const application = await applications.application();
      await db.sql(turn, [world.sides[1].merchant, id, application]);
    }
    return world;
  }

  test('is a token of the one that the row of the token says', async () => {
    const { sides, approval, application, consent } = await strangers();
    const [one, other] = sides;
    const end = `update credential_tokens set expires_at = now() - interval '2 hours'
      where token_hash = any ($1)`;
    await db.sql(end, [sides.map(({ ofApproval }) => hashToken(ofApproval))]);
    const ofOne = await recordsOf(db, one.merchant);
    const ofOther = await recordsOf(db, other.merchant);
    await commit(tokens.endAccessToken(hashToken(one.ofPerson)));
    expect(await recordsOf(db, one.merchant)).toEqual(ofOne);
    await commit(tokens.endTokensOfConsent(consent));
    expect(await recordsOf(db, one.merchant)).not.toEqual(ofOne);
    await commit(tokens.forgetEndedTokens(application, approval));
    const gone = 'select from credential_tokens where token_hash = $1';
    expect(await db.sql(gone, [hashToken(one.ofApproval)])).toEqual([]);
    expect(await recordsOf(db, other.merchant)).toEqual(ofOther);
  });
});
