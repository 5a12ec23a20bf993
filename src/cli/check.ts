// `tallybook check`: checks any deployment from outside, on a merchant made for it. It opens no
// database and knows nothing but an address and what `merchant create --for-check` printed.

import { readFileSync, writeFileSync } from 'node:fs';
import { InvalidArgumentError, Option } from 'commander';
import type { Group, Outcome } from '../check/run.ts';
import { UsageError } from '../config.ts';
import { systemReason } from '../core/system-failure.ts';
import { group } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { count } from './output.ts';

interface CheckFlags {
  readonly url: string;
  readonly tokens: string;
  readonly webhookUrl?: string;
  readonly webhookPort: number;
  readonly only?: string;
  readonly junit?: string;
  readonly json?: boolean;
}

export function defineCheck(program: DocumentedCommand): void {
  group(program, {
    name: 'check',
    description:
      'Check a deployment from outside, also behind a proxy: whether it does what the interface ' +
      'says, sentence by sentence. It writes at a merchant made for it, and exits with 1 when ' +
      'something is not so.',
    example: 'tallybook check --url https://books.example.com --tokens check.json',
  })
    .requiredOption('--url <url>', 'the address that merchants use', urlOf)
    .requiredOption('--tokens <file>', 'what "merchant create --for-check" printed; -: stdin')
    .addOption(
      new Option(
        '--webhook-url <url>',
        'an address that leads to this machine, for webhooks; otherwise a port of 127.0.0.1',
      ).argParser(urlOf),
    )
    .addOption(
      new Option('--webhook-port <port>', 'where to listen for them; 0: any port')
        .argParser(portOf)
        .default(0),
    )
    .option('--only <text>', 'only checks whose sentence or subject has this text')
    .option('--junit <file>', 'write the results for a build server, too')
    .option('--json', 'print one JSON value and nothing else')
    .action(checkDeployment);
}

function urlOf(text: string): string {
  const isAddress = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
  if (isAddress) return text;
  throw new InvalidArgumentError('It must be an address such as https://books.example.com.');
}

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text);
  throw new InvalidArgumentError('It must be a port, 0 to 65535.');
}

async function checkDeployment(flags: CheckFlags): Promise<void> {
  const { url, only, webhookUrl, webhookPort, junit, json } = flags;
  const { startChecks } = await import('../check/start.ts');
  const { Unusable } = await import('../check/endings.ts');
  const { tokensOf } = await import('../check/tokens.ts');
  const { groupText, junitOf } = await import('../check/report.ts');
  const print = (text: string) => {
    if (json !== true) process.stdout.write(`${text}\n`);
  };
  const usable = <Value>(work: () => Value): Value => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Unusable)) throw error;
      throw new UsageError(`--tokens ${flags.tokens}: ${error.message}`);
    }
  };
  const tokens = usable(() => tokensOf(textOf(flags.tokens)));
  const options = { url, only, tokens, webhookUrl, webhookPort };
  const started = performance.now();
  const run = await startChecks(options).catch((error: unknown) => {
    throw error instanceof Unusable ? new UsageError(error.message) : error;
  });
  print(`Checking ${run.base} at ${run.merchant} (run ${run.run}).\n`);
  const groups: Group[] = [];
  for await (const one of run.groups) {
    print(groupText(one));
    groups.push(one);
  }
  if (junit !== undefined) writeFileSync(junit, junitOf(groups));
  const outcomes = groups.flatMap((one) => one.outcomes);
  const seconds = Math.round(performance.now() - started) / 1_000;
  const isGood = outcomes.every(({ result }) => result === 'passed' || result === 'left out');
  print(`\n${summaryOf(outcomes, seconds)}\n${leftText(run)}`);
  const value = { ok: isGood, url: run.base, merchant_id: run.merchant, run: run.run, seconds };
  if (json === true) process.stdout.write(`${JSON.stringify({ ...value, checks: outcomes })}\n`);
  if (!isGood) process.exitCode = 1;
}

function textOf(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new UsageError(`--tokens ${file}: ${systemReason(error)}`);
  }
}

function summaryOf(outcomes: readonly Outcome[], seconds: number): string {
  const of = (result: Outcome['result']) => outcomes.filter((one) => one.result === result).length;
  const others = (['not tried', 'left out'] as const)
    .filter((result) => of(result) > 0)
    .map((result) => `, ${of(result)} ${result}`);
  const passed = `${of('passed')} of ${count(outcomes.length, 'check')} passed`;
  return `${passed}, ${of('failed')} failed${others.join('')}, in ${seconds.toFixed(1)} s.`;
}

function leftText({ merchant, run }: { readonly merchant: string; readonly run: string }): string {
  return (
    `It leaves its records at ${merchant}, each with "${run}" in its name, because nothing can ` +
    `be deleted.\n"tallybook merchant disable ${merchant}" ends its tokens.`
  );
}
