// The whole of a run: what is asked for, the merchant, the checks.

import { randomBytes } from 'node:crypto';
import type { Subject } from './check.ts';
import { Unusable } from './endings.ts';
import { type Group, runChecks } from './run.ts';
import { requireOwn, Shop, type ShopOptions } from './shop.ts';
import { subjects } from './subjects.ts';

export interface CheckOptions extends Omit<ShopOptions, 'base'> {
  /** With or without the version behind it. */
  readonly url: string;
  /** Only checks whose sentence or subject has this text. */
  readonly only: string | undefined;
}

export interface CheckRun {
  readonly base: string;
  readonly merchant: string;
  readonly run: string;
  readonly groups: AsyncGenerator<Group, void, undefined>;
}

/** @throws Unusable before anything was written. */
export async function startChecks({ url, only, ...options }: CheckOptions): Promise<CheckRun> {
  const base = baseOf(url);
  const chosen = chosenOf(only);
  const run = randomBytes(4).toString('hex');
  const shop = await Shop.open({ ...options, base }, run);
  await requireOwn(shop.wide);
  await requireOwn(shop.other);
  return { base, merchant: shop.merchant, run, groups: runChecks(shop, chosen) };
}

function baseOf(url: string): string {
  const { origin, pathname } = new URL(url);
  const path = pathname.replace(/\/+$/, '');
  return origin + (path === '' ? '/api/v1' : path);
}

function chosenOf(only: string | undefined): readonly Subject[] {
  if (only === undefined) return subjects;
  const words = only.toLowerCase();
  const has = (text: string) => text.toLowerCase().includes(words);
  const chosen = subjects
    .map(({ title, checks }) => {
      return { title, checks: has(title) ? checks : checks.filter(({ name }) => has(name)) };
    })
    .filter(({ checks }) => checks.length > 0);
  if (chosen.length === 0) throw new Unusable(`no check is called like "${only}"`);
  return chosen;
}
