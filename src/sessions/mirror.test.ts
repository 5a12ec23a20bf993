// The statements of signing in, at two merchants where somebody has the very same ID: each finds
// and changes the person of the merchant it is told, or of the row that was found.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { homeCell } from '../../test/kit/cells.ts';
import { createTestDatabase, type TestDatabase } from '../../test/kit/database.ts';
import { Given } from '../../test/kit/given.ts';
import { mirrorOf, recordsOf } from '../../test/kit/mirror.ts';
import { createMerchant } from '../access/operator/merchants.ts';
import { hashToken, kept, mintToken } from '../access/token.ts';
import { commitAll } from '../access/transact.ts';
import type { MerchantId } from '../core/principal.ts';
import { later, type Statement } from '../core/statement.ts';
import { connectDatabase, type Database } from '../database/connect.ts';
import { insertProof } from '../oauth/consent/store.ts';
import * as passkeys from './passkey-store.ts';
import * as store from './store.ts';

/** Somebody at one of two merchants: the ID is that of the other's, too. */
interface Side extends store.PersonRow {
  /** The hash of a token of theirs. */
  readonly token: Buffer;
  readonly nameKey: string;
}

let db: TestDatabase;
let database: Database;
let given: Given;

beforeAll(async () => {
  db = await createTestDatabase();
  database = connectDatabase({ url: db.serviceUrl, writers: 2 }).inCell(homeCell);
  given = new Given(db);
});
afterAll(async () => {
  await database.close();
  await db.drop();
});

const commit = (...statements: readonly Statement[]) => commitAll(database.writer, statements);
const read = <Row>(statement: Statement<Row>): Promise<Row[]> => database.reader.query(statement);

async function mirroredPerson(): Promise<readonly [Side, Side]> {
  const { id: merchant } = await createMerchant(database, 'Corner Shop', homeCell);
  const { id, token } = await given.credential(merchant);
  const mirror = await mirrorOf(db, merchant, [token]);
  const nameKey = mintToken('inv');
  await db.sql(
    `update credentials set role = 'viewer', name = 'Ada', name_key = $2,
       invited_at = ${later('created_at', "interval '-1 hour'")}
     where merchant_id = any ($1) and id = $3`,
    [[merchant, mirror.merchant], nameKey, id],
  );
  const side = (of: string, merchant_name: string, own: string): Side => {
    const row = { merchant_id: of as MerchantId, merchant_name, id, name: 'Ada', role: 'viewer' };
    return { ...row, token: hashToken(own), nameKey };
  };
  return [
    side(merchant, 'Corner Shop', token),
    side(mirror.merchant, 'Mirror Corner Shop', mirror.tokens[0] ?? ''),
  ];
}

/** Each of two, and the other one. */
const turns = ([one, other]: readonly [Side, Side]) =>
  [
    [one, other],
    [other, one],
  ] as const;

const rowOf = ({ token: _, nameKey: __, ...row }: Side): store.PersonRow => row;

/** What is done for one of them changes the records of the one, and none of the other. */
async function changesOnlyItsOwn(
  sides: readonly [Side, Side],
  statementOf: (at: Side) => Statement,
) {
  for (const [one, other] of turns(sides)) {
    const [ofOne, ofOther] = [
      await recordsOf(db, one.merchant_id),
      await recordsOf(db, other.merchant_id),
    ];
    await commit(statementOf(one));
    expect(await recordsOf(db, one.merchant_id)).not.toEqual(ofOne);
    expect(await recordsOf(db, other.merchant_id)).toEqual(ofOther);
  }
}

describe('of two with one ID, at two merchants', () => {
  test('each is found by the merchant, by the name and by the password of their own', async () => {
    const sides = await mirroredPerson();
    const secretOf = ({ merchant_name }: Side) => `secret of ${merchant_name}`;
    for (const one of sides) await commit(store.setPassword(one, secretOf(one)));
    for (const one of sides) {
      expect(await read(store.findPerson(one.merchant_id, one.id))).toEqual([rowOf(one)]);
      const own = { ...rowOf(one), hash: secretOf(one) };
      expect(await read(store.findByName(one.merchant_id, one.nameKey))).toEqual([own]);
    }
    const found = await read(store.findByName(null, sides[0].nameKey));
    const who = found.map((row) => [row.merchant_name, row.hash]).sort();
    expect(who).toEqual(sides.map((one) => [one.merchant_name, secretOf(one)]));
  });

  test('each is found by the own invitation, which only the own merchant uses', async () => {
    const sides = await mirroredPerson();
    const invite = `update credentials set invitation_hash = $3,
      invitation_expires_at = now() + interval '1 day' where merchant_id = $1 and id = $2`;
    for (const { merchant_id, id, token } of sides) await db.sql(invite, [merchant_id, id, token]);
    for (const one of sides) {
      expect(await read(store.findInvited(one.token))).toMatchObject([rowOf(one)]);
    }
    const [{ token }] = sides;
    for (const { merchant_id, id } of sides) await db.sql(invite, [merchant_id, id, token]);
    await changesOnlyItsOwn(sides, (at) => store.useInvitation(at, token));
  });

  test('each gets a session, ends it and forgets it at the own merchant', async () => {
    const sides = await mirroredPerson();
    await changesOnlyItsOwn(sides, (at) => store.insertSession(at, kept(mintToken('ses'))));
    const [one, other] = sides;
    const before = await recordsOf(db, one.merchant_id);
    await commit(store.endSession(other.merchant_id, one.token));
    expect(await recordsOf(db, one.merchant_id)).toEqual(before);
    await changesOnlyItsOwn(sides, (at) => store.endSession(at.merchant_id, at.token));
    await db.sql(
      `update credential_tokens
       set expires_at = ${later('expires_at', "interval '-1 year'")} where token_hash = any ($1)`,
      [sides.map(({ token }) => token)],
    );
    await changesOnlyItsOwn(sides, store.forgetSessions);
  });

  test('each is found by the own passkey, which counts at the own merchant', async () => {
    const sides = await mirroredPerson();
    const keyOf = ({ token }: Side) => token.toString('base64url');
    for (const one of sides) {
      const passkey = { id: keyOf(one), publicKey: one.token, counter: 1 };
      await commit(passkeys.insertPasskey(one, passkey));
    }
    for (const [one, other] of turns(sides)) {
      expect(await read(passkeys.findByPasskey(keyOf(one)))).toMatchObject([rowOf(one)]);
      await expect(commit(passkeys.countPasskey(other, keyOf(one), 2))).rejects.toThrow();
      await commit(passkeys.countPasskey(one, keyOf(one), 2));
    }
  });

  test('the one who is no person has no session to consent by', async () => {
    const [one, other] = await mirroredPerson();
    await db.sql(
      `update credentials set role = null, name_key = null, invited_at = null
       where merchant_id = $1 and id = $2`,
      [one.merchant_id, one.id],
    );
    const before = await recordsOf(db, one.merchant_id);
    await commit(insertProof(one.token, hashToken(mintToken('ses'))));
    expect(await recordsOf(db, one.merchant_id)).toEqual(before);
    const ofOther = await recordsOf(db, other.merchant_id);
    await commit(insertProof(other.token, hashToken(mintToken('ses'))));
    expect(await recordsOf(db, other.merchant_id)).not.toEqual(ofOther);
  });
});
