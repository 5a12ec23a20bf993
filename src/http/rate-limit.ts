// Rate limits on the wire (draft-ietf-httpapi-ratelimit-headers). A caller under a limit learns
// with every answer, whatever it is, how much is left and when all of it will be there again.

import type { LimitState, RateLimiter, Verdict } from '../access/rate/limiter.ts';
import type { Principal } from '../core/principal.ts';
import { Problem } from '../core/problem.ts';

/** What the caller is to be told of its limits. */
export type LimitHeaders = Readonly<Record<'RateLimit-Policy' | 'RateLimit', string>>;

export interface Judged {
  /** Undefined when the credential has no limit, and the merchant's does not refuse. */
  readonly headers: LimitHeaders | undefined;
  readonly refusal: Problem | undefined;
}

/** A promise only where the database has to be asked. */
export function judgeRate(limiter: RateLimiter, principal: Principal): Judged | Promise<Judged> {
  const verdict = limiter.admit(principal);
  return verdict instanceof Promise ? verdict.then(judged) : judged(verdict);
}

function judged({ credential, merchant, retryAfter }: Verdict): Judged {
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
  credential: LimitState | undefined,
  merchant: LimitState | undefined,
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

function policyOf(name: string, { limit }: LimitState): string {
  return `"${name}";q=${limit.perMinute};w=60`;
}

/** `t`: the seconds until everything is there again. */
function stateOf(name: string, { limit, remaining }: LimitState): string {
  const reset = Math.ceil(((limit.burst - remaining) * 60) / limit.perMinute);
  return `"${name}";r=${remaining};t=${reset}`;
}
