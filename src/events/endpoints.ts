// The feed.

import type { CollectionEndpoint } from '../contract/endpoint.ts';
import { requireKnown } from '../journal/known.ts';
import { listEvents } from './contract.ts';
import type { EventPages } from './pages.ts';
import { concernOf, reachOf } from './reach.ts';

export function eventEndpoints(pages: EventPages): readonly CollectionEndpoint[] {
  const feed: CollectionEndpoint<typeof listEvents> = {
    contract: listEvents,
    async run(reads, call) {
      const { principal, query, page } = call;
      const [position, named] = page.after?.split('.') ?? [];
      const after = Number(position ?? query.after_position ?? 0);
      const found = await pages.read(reads, principal.merchant, {
        ...{ reach: reachOf(call), after, limit: page.limit },
      });
      const { events, through, journal, last } = found;
      requireKnown(
        { id: journal, last },
        position === undefined
          ? { parameter: 'after_position', position: query.after_position, journal: query.journal }
          : { parameter: 'cursor', position, journal: named },
      );
      const key = `${through}.${journal}`;
      return {
        items: events,
        next: through < last ? key : undefined,
        meta: { through_position: String(through), journal },
        end: { position: through, key },
      };
    },
    waiting: { seconds: ({ wait }) => wait ?? 0, concern: concernOf },
  };
  return [feed];
}
