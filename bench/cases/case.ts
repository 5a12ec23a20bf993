// What a case is: requests to the service, and the same work as statements for the raw figure.

import type { Caller, LoadPlan, Numbers, RequestTemplate } from '../load/template.ts';
import type { RawStatement, RawWork } from '../raw/statement.ts';
import type { MerchantGroup } from '../setup/merchants.ts';

/** One kind of request. */
export interface Part {
  readonly request: RequestTemplate;
  readonly raw: RawStatement | undefined;
}

export interface Case {
  /** As it is named on the command line. */
  readonly name: string;
  readonly title: string;
  /** The bare route is a server of its own, that knows nothing of Tallybook. */
  readonly server: 'service' | 'bare';
  /** Each as often as its weight says. */
  readonly parts: readonly (Part & { readonly weight: number })[];
  readonly callers: readonly Caller[];
  readonly numbers: Numbers;
}

/** A group that the service works on, and one like it for the raw statements. */
export interface Pair {
  readonly served: MerchantGroup;
  readonly raw: MerchantGroup;
}

const usedKeysMax = 10_000;

export function numbersOf({ products, movements }: MerchantGroup): Numbers {
  return { products, movements, usedKeys: Math.min(products, usedKeysMax) };
}

export function planOf({ parts, callers, numbers }: Case): LoadPlan {
  const requests = parts.map(({ weight, request }) => ({ weight, template: request }));
  return { requests, callers, numbers };
}

/** Undefined: there is nothing to compare with. */
export function rawOf({ parts }: Case): RawWork | undefined {
  const work = parts.flatMap(({ weight, raw }) =>
    raw === undefined ? [] : [{ weight, statement: raw }],
  );
  return work.length === parts.length ? work : undefined;
}
