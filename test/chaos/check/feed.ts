// Whether the feed shows what happened: each page exactly what lies between the place it was asked
// from and the place that it says it has judged up to, and nothing that a right was taken from.

import type { Attempt, Ban } from '../history.ts';
import { covers } from './answers.ts';
import type { CheckedDatabase } from './ledger.ts';
import type { Finding } from './verdict.ts';

/** What no answer shows without a grant. */
const isElsewhere = (type: string) => type.startsWith('inventory.') || type.startsWith('location.');

export async function checkFeed(
  database: CheckedDatabase,
  attempts: readonly Attempt[],
  bans: readonly Ban[],
  merchant: string,
): Promise<Finding[]> {
  const rows = await database.query<{ id: string; position: number }>(
    `select id, position::int from operations
     where merchant_id = $1 and position is not null order by position`,
    [merchant],
  );
  const pages = attempts.filter(({ kind, status }) => kind === 'events' && status === 200);
  const whole = pages.filter(({ credential }) => credential === 'steady');
  const wrong = whole.filter(({ after = 0, through, events = [] }) => {
    const expected = rows.slice(after, through?.position ?? 0);
    return (
      events.length !== expected.length ||
      events.some((event, index) => {
        const { id, position } = expected[index] ?? {};
        return event.operation !== id || event.position !== position;
      })
    );
  });
  const unseen = consumersOf(whole).flatMap(({ client, seen, end }) => {
    const missing = rows.filter(({ position }) => position <= end && !seen.has(position));
    return missing.length === 0 ? [] : [`client ${client}: ${JSON.stringify(missing)}`];
  });
  const despite = pages.filter((page) =>
    bans.some(
      (ban) =>
        covers(ban, page) &&
        (ban.kind !== 'grant' || page.events?.some(({ type }) => isElsewhere(type)) === true),
    ),
  );
  return [
    { what: 'pages of events that are not their part of the journal', faults: wrong.map(lineOf) },
    { what: 'events that a consumer has missed', faults: unseen },
    { what: 'events seen after a right was revoked', faults: despite.map(lineOf) },
  ];
}

const lineOf = (attempt: Attempt) => JSON.stringify(attempt).slice(0, 2_000);

function consumersOf(pages: readonly Attempt[]) {
  return [...new Set(pages.map(({ client }) => client))].map((client) => {
    const own = pages.filter((page) => page.client === client);
    const seen = own.flatMap(({ events = [] }) => events.map(({ position }) => position));
    // Others may write on when this one has done its work.
    const end = Math.max(...own.map(({ through }) => through?.position ?? 0));
    return { client, seen: new Set(seen), end };
  });
}
