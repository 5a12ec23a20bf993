// A password of a person that was made with as little work as there is, for tests that are not
// about that work: what the service makes takes 0.2 s of a processor, and as much for each try.

import { randomBytes, scryptSync } from 'node:crypto';
import type { TestDatabase } from './database.ts';

/** The person signs in with it from now on, and is invited no more. */
export async function setCheapPassword(
  db: TestDatabase,
  person: string,
  password: string,
): Promise<void> {
  const salt = randomBytes(16);
  const key = scryptSync(password, salt, 32, { N: 2, r: 8, p: 1 });
  const hash = `scrypt$1$8$1$${salt.toString('base64url')}$${key.toString('base64url')}`;
  await db.sql(
    `insert into person_passwords (merchant_id, credential_id, hash, set_at)
     select merchant_id, id, $2, now() from credentials where id = $1
     on conflict (merchant_id, credential_id) do update set hash = excluded.hash`,
    [person, hash],
  );
  await db.sql(
    'update credentials set invitation_hash = null, invitation_expires_at = null where id = $1',
    [person],
  );
}
