// All subjects, in the order in which they are told: what lies between first.

import type { Subject } from './check.ts';
import { access } from './subjects/access.ts';
import { bodies } from './subjects/bodies.ts';
import { headers } from './subjects/headers.ts';
import { keys } from './subjects/keys.ts';
import { limitsAndClocks } from './subjects/limits-and-clocks.ts';
import { lists } from './subjects/lists.ts';
import { messages } from './subjects/messages.ts';
import { races } from './subjects/races.ts';

export const subjects: readonly Subject[] = [
  headers,
  messages,
  limitsAndClocks,
  access,
  keys,
  races,
  bodies,
  lists,
];
