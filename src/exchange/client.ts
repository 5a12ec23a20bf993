// The client, with the patience of a command that somebody started and left.

import { Tallybook } from '@tallybook/client';

/** Long enough for a restart of the service; then the same command goes on. */
const budgetMs = 120_000;

/** Who is there at first: a wrong address is told at once. */
export const firstBudgetMs = 5_000;

export const connect = (service: { readonly baseUrl: string; readonly token: string }): Tallybook =>
  new Tallybook({ ...service, budgetMs });
