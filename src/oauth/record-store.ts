// The statements of what OAuth keeps for a while: open authorization requests, codes, refresh
// tokens, and the IDs of used assertions. They are found by a hash; what was hashed is stored
// nowhere. Each new row removes some that have ended, so the table stays small.

import type { Statement } from '../core/statement.ts';

export interface RecordRow {
  readonly payload: Readonly<Record<string, unknown>>;
  /** The consent that it belongs to. */
  readonly credential_id: string | null;
  readonly is_consumed: boolean;
  /** How many seconds it still has, by the database's clock. */
  readonly left: number;
}

/** A row that has not ended, by the database's clock. */
export function findRecord(idHash: Buffer): Statement<RecordRow> {
  return {
    name: 'find_oauth_record',
    text: `
      select payload, credential_id, consumed_at is not null as is_consumed,
        extract(epoch from expires_at - now())::float8 as left
      from oauth_records
      where id_hash = $1 and expires_at > now()`,
    values: [idHash],
  };
}

export interface NewRecord {
  readonly idHash: Buffer;
  readonly kind: string;
  readonly credentialId: string | undefined;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly lifeSeconds: number;
}

export function upsertRecord(record: NewRecord): Statement<{ id_hash: Buffer }> {
  return {
    name: 'upsert_oauth_record',
    text: `
      insert into oauth_records (id_hash, kind, credential_id, payload, expires_at)
      values ($1, $2, $3, $4, now() + make_interval(secs => $5))
      on conflict (id_hash) do update
        set payload = excluded.payload, expires_at = excluded.expires_at
      returning id_hash`,
    values: valuesOf(record),
  };
}

/** Returns no row when the row exists already: the first of two stays the only one. */
export function insertRecord(record: NewRecord): Statement<{ id_hash: Buffer }> {
  return {
    name: 'insert_oauth_record',
    text: `
      insert into oauth_records (id_hash, kind, credential_id, payload, expires_at)
      values ($1, $2, $3, $4, now() + make_interval(secs => $5))
      on conflict (id_hash) do nothing
      returning id_hash`,
    values: valuesOf(record),
  };
}

function valuesOf(record: NewRecord): readonly unknown[] {
  const { idHash, kind, credentialId, payload, lifeSeconds } = record;
  return [idHash, kind, credentialId ?? null, JSON.stringify(payload), lifeSeconds];
}

/** Of many at the same moment, one gets the row back. */
export function consumeRecord(idHash: Buffer): Statement<{ id_hash: Buffer }> {
  return {
    name: 'consume_oauth_record',
    text: `
      update oauth_records set consumed_at = now() where id_hash = $1 and consumed_at is null
      returning id_hash`,
    values: [idHash],
  };
}

/** Of many at the same moment, one gets the row back. */
export function deleteRecord(idHash: Buffer): Statement<{ id_hash: Buffer }> {
  return {
    name: 'delete_oauth_record',
    text: 'delete from oauth_records where id_hash = $1 returning id_hash',
    values: [idHash],
  };
}

/** The codes or the refresh tokens of a consent. */
export function deleteRecordsOf(consent: string, kind: string): Statement {
  return {
    name: 'delete_oauth_records_of',
    text: 'delete from oauth_records where credential_id = $1 and kind = $2',
    values: [consent, kind],
  };
}

/**
 * Removes some that ended an hour ago and more; requests of people, which anyone can begin, as soon
 * as they have ended. Rows that another is removing are left to it.
 */
export function forgetEndedRecords(): Statement {
  return {
    name: 'forget_ended_oauth_records',
    text: `
      delete from oauth_records where id_hash in (
        select id_hash from oauth_records
        where expires_at < now() - case kind when 'Interaction' then interval '0' else
          interval '1 hour' end and expires_at < now()
        order by expires_at limit 20 for update skip locked)`,
    values: [],
  };
}
