// The limits of credentials and merchants, as the operator shows and sets them. What is set counts
// from the next request on, on every node: it comes with every authentication.

import { limits } from '../../core/limits.ts';
import type { MerchantId, RateLimit } from '../../core/principal.ts';
import { Problem } from '../../core/problem.ts';
import type { Reader, Statement } from '../../core/statement.ts';
import { rateLimitOf } from '../principal.ts';
import { type Connections, transact } from '../transact.ts';
import { credentialById } from './credentials.ts';
import {
  findCredentialLimit,
  findMerchantLimit,
  forgetBucket,
  type LimitRow,
  setCredentialLimit,
  setMerchantLimit,
} from './limit-store.ts';
import { requireMerchant } from './merchants.ts';

/** Whose limit: a credential, or a merchant as a whole. */
export type Limited = { readonly credential: string } | { readonly merchant: string };

export interface ShownLimit {
  readonly merchant_id: string;
  /** Null for a merchant as a whole. */
  readonly credential_id: string | null;
  /** Null: there is none. */
  readonly rate_limit: { readonly requests_per_minute: number; readonly burst: number } | null;
  readonly is_default: boolean;
}

/** A null a minute goes back to the default; 0 is no limit. */
export interface NewLimit {
  readonly perMinute: number | null;
  readonly burst: number | null;
}

/** @throws Problem not_found */
export async function findLimit(reader: Reader, limited: Limited): Promise<ShownLimit> {
  const owner = await ownerOf(reader, limited);
  const [row] = await reader.query(
    owner.credential === undefined
      ? findMerchantLimit(owner.merchant)
      : findCredentialLimit(owner.merchant, owner.credential),
  );
  if (row === undefined) throw new Error('it is gone');
  return shown(owner, row);
}

/** @throws Problem not_found, also for a credential that is revoked. */
export async function setLimit(
  access: Connections,
  limited: Limited,
  limit: NewLimit,
): Promise<ShownLimit> {
  const owner = await ownerOf(access.reader, limited);
  const { merchant, credential } = owner;
  const row = { requests_per_minute: limit.perMinute, request_burst: limit.burst };
  const statement: Statement<LimitRow> =
    credential === undefined
      ? setMerchantLimit(merchant, row)
      : setCredentialLimit(merchant, credential, row);
  const entry = {
    action: 'limit.set',
    merchant_id: merchant,
    ...(credential === undefined ? {} : { credential_id: credential }),
    per_minute: limit.perMinute,
    burst: limit.burst,
  };
  const [rows = []] = await transact(access.writer, entry, [
    statement,
    forgetBucket(merchant, credential ?? ''),
  ]);
  const [set] = rows as readonly LimitRow[];
  if (set === undefined) throw notLimited(credential);
  return shown(owner, set);
}

interface Owner {
  readonly merchant: MerchantId;
  readonly credential: string | undefined;
}

async function ownerOf(reader: Reader, limited: Limited): Promise<Owner> {
  if ('merchant' in limited) {
    return { merchant: await requireMerchant(reader, limited.merchant), credential: undefined };
  }
  const { id, merchant_id, is_operator, revoked_at } = await credentialById(
    reader,
    limited.credential,
  );
  if (is_operator || revoked_at !== null) throw notLimited(id);
  return { merchant: merchant_id, credential: id };
}

function notLimited(id: string | undefined): Problem {
  return new Problem('not_found', {
    message: `${id} takes no requests: it is revoked, or what commands act as`,
  });
}

function shown({ merchant, credential }: Owner, row: LimitRow): ShownLimit {
  const limit = rateLimitOf(row.requests_per_minute, row.request_burst, defaultOf(credential));
  return {
    merchant_id: merchant,
    credential_id: credential ?? null,
    rate_limit: limit && { requests_per_minute: limit.perMinute, burst: limit.burst },
    is_default: row.requests_per_minute === null,
  };
}

function defaultOf(credential: string | undefined): RateLimit {
  return credential === undefined
    ? { perMinute: limits.merchantRequestsPerMinute, burst: limits.merchantRequestBurst }
    : { perMinute: limits.credentialRequestsPerMinute, burst: limits.credentialRequestBurst };
}
