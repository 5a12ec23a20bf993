// The form that every answer has, whatever was sent: said without a test's matchers, because it is
// also asked a hundred thousand times in a row.

import { isRetryable, problemKinds } from '../../src/core/problem.ts';
import type { RawAnswer } from '../kit/raw.ts';

const kinds: Readonly<Record<string, { readonly status: number }>> = problemKinds;

/** How an answer departs from the form; nothing when it does not. */
export function faultsOf(answer: RawAnswer, isHead = false): string[] {
  const { status, headers, json } = answer;
  const requestId = headers['x-request-id'] ?? '';
  const faults: string[] = [];
  if (!/^req_[0-9a-z]{26}$/.test(requestId)) faults.push(`X-Request-Id is "${requestId}"`);
  if (headers['cache-control'] !== 'no-store') faults.push('Cache-Control is not no-store');
  if (isHead) return faults;
  if (headers['content-type'] !== 'application/json; charset=utf-8') faults.push('it is not JSON');
  if (json?.meta?.request_id !== requestId) faults.push('meta.request_id is another');
  if (status < 400) {
    if (json?.data === undefined || 'error' in json) faults.push('it is no success');
  } else if (!isProblem(json?.error, status)) {
    faults.push('it is no problem of that status');
  }
  return faults;
}

function isProblem(error: RawAnswer['json'], status: number): boolean {
  return (
    kinds[error?.code]?.status === status &&
    typeof error.message === 'string' &&
    error.retryable === isRetryable(status) &&
    error.doc_url === `/docs/errors#${error.code}` &&
    Array.isArray(error.details)
  );
}
