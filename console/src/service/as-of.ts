// The moment that stock is shown of. It stands in the address, so that it can be sent to somebody.

import { useAddress } from './address.ts';

export interface AsOf {
  /** Undefined: now. */
  readonly moment: string | undefined;
  /** For the query of a list. */
  readonly query: { readonly as_of?: string };
  show(moment: string | undefined): void;
}

export function useAsOf(): AsOf {
  const address = useAddress();
  const moment = address.get('as_of');
  const isOne = moment !== null && !Number.isNaN(Date.parse(moment));
  return {
    moment: isOne ? moment : undefined,
    query: isOne ? { as_of: moment } : {},
    show: (next) => address.set('as_of', next ?? null),
  };
}
