// The statements of the limits that operators set.

import { lookupId } from '../../core/id.ts';
import type { MerchantId } from '../../core/principal.ts';
import type { Statement } from '../../core/statement.ts';

/** A limit as its row has it: null a minute means the default, 0 that there is none. */
export interface LimitRow {
  readonly requests_per_minute: number | null;
  readonly request_burst: number | null;
}

export function findMerchantLimit(merchant: MerchantId): Statement<LimitRow> {
  return {
    name: 'find_merchant_limit',
    text: 'select requests_per_minute, request_burst from merchants where id = $1',
    values: [merchant],
  };
}

export function findCredentialLimit(merchant: MerchantId, id: string): Statement<LimitRow> {
  return {
    name: 'find_credential_limit',
    text: `
      select requests_per_minute, request_burst from credentials
      where merchant_id = $1 and id = $2`,
    values: [merchant, lookupId(id)],
  };
}

export function setMerchantLimit(merchant: MerchantId, limit: LimitRow): Statement<LimitRow> {
  return {
    name: 'set_merchant_limit',
    text: `
      update merchants set requests_per_minute = $2, request_burst = $3
      where id = $1 returning requests_per_minute, request_burst`,
    values: [merchant, limit.requests_per_minute, limit.request_burst],
  };
}

/** Not for a revoked credential, and not for the operator's, which no request has. */
export function setCredentialLimit(
  merchant: MerchantId,
  id: string,
  limit: LimitRow,
): Statement<LimitRow> {
  return {
    name: 'set_credential_limit',
    text: `
      update credentials set requests_per_minute = $3, request_burst = $4
      where merchant_id = $1 and id = $2 and revoked_at is null and not is_operator
      returning requests_per_minute, request_burst`,
    values: [merchant, lookupId(id), limit.requests_per_minute, limit.request_burst],
  };
}

/**
 * A bucket means nothing under another limit, so it is deleted. Nodes make it again from what each
 * of them has admitted.
 */
export function forgetBucket(merchant: MerchantId, credentialId: string): Statement {
  return {
    name: 'forget_bucket',
    text: 'delete from rate_buckets where merchant_id = $1 and credential_id = $2',
    values: [merchant, credentialId],
  };
}
