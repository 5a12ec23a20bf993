// The moment that stock is shown of. It stands in the address, so that it can be sent to somebody.

import { useSearchParams } from 'react-router';

export interface AsOf {
  /** Undefined: now. */
  readonly moment: string | undefined;
  /** For the query of a list. */
  readonly query: { readonly as_of?: string };
  show(moment: string | undefined): void;
}

export function useAsOf(): AsOf {
  const [search, setSearch] = useSearchParams();
  const moment = search.get('as_of') ?? undefined;
  const isOne = moment !== undefined && !Number.isNaN(Date.parse(moment));
  return {
    moment: isOne ? moment : undefined,
    query: isOne ? { as_of: moment } : {},
    show: (next) =>
      setSearch((before) => {
        const after = new URLSearchParams(before);
        if (next === undefined) after.delete('as_of');
        else after.set('as_of', next);
        return after;
      }),
  };
}
