// Rate limits on the wire (draft-ietf-httpapi-ratelimit-headers). Every answer to a caller under a
// limit says how many requests are left and when all of them will be available again.

import type { LimitLeft, RateLimiter, Verdict } from '../access/rate/limiter.ts';
import type { Principal } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';

/** What an answer says about the caller's limits. */
export type LimitHeaders = Readonly<Record<'RateLimit-Policy' | 'RateLimit', string>>;

export interface RateCheck {
  /** Undefined when the credential has no limit, and the merchant's does not refuse. */
  readonly headers: LimitHeaders | undefined;
  readonly refusal: Problem | undefined;
}

/** A promise only when the database has to be asked. */
export function checkRate(
  limiter: RateLimiter,
  principal: Principal,
  requests: number,
): RateCheck | Promise<RateCheck> {
  const verdict = limiter.admit(principal, requests);
  return verdict instanceof Promise ? verdict.then(checked) : checked(verdict);
}

function checked({ credential, merchant, retryAfter }: Verdict): RateCheck {
  const headers = headersOf(credential, merchant);
  if (retryAfter === undefined) return { headers, refusal: undefined };
  const whose = merchant === undefined ? 'credential' : 'merchant';
  const refusal = new Problem('rate_limited', {
    message: `Too many requests: the limit of the ${whose} is reached.`,
    headers: { 'Retry-After': String(retryAfter) },
  });
  return { headers, refusal };
}

function headersOf(
  credential: LimitLeft | undefined,
  merchant: LimitLeft | undefined,
): LimitHeaders | undefined {
  if (merchant === undefined) {
    return (
      credential && {
        'RateLimit-Policy': policyOf('credential', credential),
        RateLimit: stateOf('credential', credential),
      }
    );
  }
  const both = (text: typeof policyOf) =>
    [credential && text('credential', credential), text('merchant', merchant)]
      .filter((item) => item !== undefined)
      .join(', ');
  return { 'RateLimit-Policy': both(policyOf), RateLimit: both(stateOf) };
}

function policyOf(name: string, { limit }: LimitLeft): string {
  return `"${name}";q=${limit.perMinute};w=60`;
}

/** `t`: the seconds until all requests are available again. */
function stateOf(name: string, { limit, remaining }: LimitLeft): string {
  const reset = Math.ceil(((limit.burst - remaining) * 60) / limit.perMinute);
  return `"${name}";r=${remaining};t=${reset}`;
}
