// `tallybook limit`: how many requests a credential, or a merchant as a whole, may send.

import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Limited, NewLimit, ShownLimit } from '../access/operator/limits.ts';
import { UsageError } from '../config.ts';
import { limits } from '../core/limits.ts';
import { type CommonFlags, define, group, idOf, withStore } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { members, show } from './output.ts';

interface LimitFlags extends CommonFlags {
  readonly credential?: string;
  readonly merchant?: string;
}

interface SetFlags extends LimitFlags {
  readonly perMinute?: number;
  readonly burst?: number;
  readonly default?: boolean;
}

const credentialExample = '--credential cred_01k9x3v7c2e4r8t1m5n6p0q9sa';

export function defineLimit(program: DocumentedCommand): void {
  const limit = group(program, {
    name: 'limit',
    description: 'Show and set how fast a credential or a merchant may ask.',
    example: `tallybook limit show ${credentialExample}`,
  });
  addLimited(
    define(limit, {
      name: 'show',
      description: 'Show the rate limit of a credential, or of a merchant as a whole.',
      example: `tallybook limit show ${credentialExample}`,
    }),
  ).action(showLimit);
  addLimited(
    define(limit, {
      name: 'set',
      description:
        'Set the rate limit of a credential, or of a merchant as a whole. It counts from the ' +
        'next request on.',
      example: `tallybook limit set ${credentialExample} --per-minute 600 --burst 100`,
    }),
  )
    .option('--per-minute <requests>', 'how many requests a minute; 0: no limit', perMinuteOf)
    .option('--burst <requests>', 'how many at once (default: a sixth of a minute’s)', burstOf)
    .addOption(
      new Option('--default', 'what holds where nothing is set').conflicts(['perMinute', 'burst']),
    )
    .action(set);
}

function addLimited(command: Command): Command {
  return command
    .addOption(
      new Option('--credential <credential>', 'the credential, cred_…')
        .argParser(idOf('cred_'))
        .conflicts('merchant'),
    )
    .option('--merchant <merchant>', 'the merchant as a whole, mer_…', idOf('mer_'));
}

function perMinuteOf(text: string): number {
  return numberOf(text, 0, limits.requestsPerMinuteMax);
}

function burstOf(text: string): number {
  return numberOf(text, 1, limits.requestBurstMax);
}

function numberOf(text: string, least: number, most: number): number {
  const number = /^[0-9]{1,9}$/.test(text) ? Number(text) : -1;
  if (number >= least && number <= most) return number;
  throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
}

async function showLimit(flags: LimitFlags): Promise<void> {
  const limited = limitedOf(flags);
  const limit = await withStore(flags, async ({ database }) => {
    const { findLimit } = await import('../access/operator/limits.ts');
    return findLimit(database.reader, limited);
  });
  await show(flags, limit, describe);
}

async function set(flags: SetFlags): Promise<void> {
  const limited = limitedOf(flags);
  const wanted = newLimitOf(flags);
  const limit = await withStore(flags, async ({ database }) => {
    const { setLimit } = await import('../access/operator/limits.ts');
    return setLimit(database, limited, wanted);
  });
  await show(flags, limit, describe);
}

function limitedOf({ credential, merchant }: LimitFlags): Limited {
  if (credential !== undefined) return { credential };
  if (merchant !== undefined) return { merchant };
  throw new UsageError('name whose limit it is with --credential or --merchant');
}

function newLimitOf(flags: SetFlags): NewLimit {
  if (flags.default === true) return { perMinute: null, burst: null };
  if (flags.perMinute === undefined) throw new UsageError('give --per-minute, or --default');
  if (flags.perMinute === 0 && flags.burst !== undefined) {
    throw new UsageError('--burst means nothing without a limit');
  }
  return { perMinute: flags.perMinute, burst: flags.burst ?? null };
}

function describe({ merchant_id, credential_id, rate_limit, is_default }: ShownLimit): string {
  const limit =
    rate_limit === null
      ? 'none'
      : `${rate_limit.requests_per_minute} a minute, ${rate_limit.burst} at once`;
  return members([
    ['Merchant', merchant_id],
    ...(credential_id === null ? [] : ([['Credential', credential_id]] as const)),
    ['Limit', `${limit}${is_default ? ' (the default)' : ''}`],
  ]);
}
