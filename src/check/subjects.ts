// All subjects, in the order in which they are told: what lies between first.

import type { Subject } from './check.ts';
import { access } from './subjects/access.ts';
import { bodies } from './subjects/bodies.ts';
import { events } from './subjects/events.ts';
import { headers } from './subjects/headers.ts';
import { keys } from './subjects/keys.ts';
import { levels } from './subjects/levels.ts';
import { limitsAndClocks } from './subjects/limits-and-clocks.ts';
import { lists } from './subjects/lists.ts';
import { messages } from './subjects/messages.ts';
import { oauth } from './subjects/oauth.ts';
import { races } from './subjects/races.ts';
import { records } from './subjects/records.ts';
import { reservations } from './subjects/reservations.ts';
import { stock } from './subjects/stock.ts';
import { tokensAndPeople } from './subjects/tokens-and-people.ts';
import { transfersAndCounts } from './subjects/transfers-and-counts.ts';
import { upsertsAndBatches } from './subjects/upserts-and-batches.ts';
import { webhooks } from './subjects/webhooks.ts';

export const subjects: readonly Subject[] = [
  headers,
  messages,
  limitsAndClocks,
  access,
  tokensAndPeople,
  oauth,
  keys,
  races,
  bodies,
  lists,
  records,
  upsertsAndBatches,
  levels,
  transfersAndCounts,
  reservations,
  events,
  webhooks,
  stock,
];
