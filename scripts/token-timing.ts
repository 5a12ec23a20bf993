// `npm run token-timing`: whether the time of a refusal tells how near a wrong token was to a right
// one. Kinds of wrong tokens take turns on one connection; Welch's t compares those that must not
// be told apart. Form and checksum are public: what they refuse is refused sooner than what is
// looked up, and a wrong length 2 µs sooner than a wrong checksum.

import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { createCredential } from '../src/access/operator/credentials.ts';
import { createMerchant } from '../src/access/operator/merchants.ts';
import { checksum, mintToken } from '../src/access/token.ts';
import { readConfig } from '../src/config.ts';
import type { MerchantId } from '../src/core/principal.ts';
import { start } from '../src/main.ts';
import type { Running } from '../src/node/running.ts';

const samplesPerKind = 20_000;
/** The usual bound of dudect: beyond it there is a difference. */
const tMax = 4.5;
/** The slowest are interruptions: of the machine, not of the comparison. */
const keptShare = 0.9;

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

type Kinds = Readonly<Record<string, () => string>>;

/** Wrong tokens that must not be told apart: refused by their form, and looked up. */
function groupsOf(valid: string): readonly Kinds[] {
  const random = (length: number) =>
    Array.from({ length }, () => alphabet.charAt(randomInt(62))).join('');
  const near = () => valid.slice(0, 40) + random(valid.length - 40);
  return [
    {
      'random, wrong checksum': () => `tb_pat_${random(46)}`,
      'begins as a valid one, wrong checksum': near,
    },
    {
      'random, right checksum': () => mintToken('pat'),
      'begins as a valid one, right checksum': () => {
        const body = near().slice(0, -6);
        return body + checksum(body);
      },
    },
  ];
}

let addresses = 0;

/** How long a refusal takes (ms). Each comes from another address, so that none is 429. */
function refusalTime(running: Running, agent: Agent, token: string): Promise<number> {
  addresses += 1;
  const address = `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
  // In one piece, however it was put together: joining it must not be part of what is measured.
  const authorization = Buffer.from(`Bearer ${token}`).toString('latin1');
  const headers = { authorization, 'x-forwarded-for': address };
  const startedAt = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request(`${running.url}/api/v1/credential`, { agent, headers }, (response) => {
      response.resume();
      response.on('end', () => {
        if (response.statusCode !== 401) reject(new Error(`${response.statusCode} to ${token}`));
        resolve(performance.now() - startedAt);
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** The mean and its variance, without the slowest. */
function summary(times: readonly number[]): { mean: number; variance: number } {
  const kept = [...times].sort((a, b) => a - b).slice(0, Math.floor(times.length * keptShare));
  const mean = kept.reduce((sum, time) => sum + time, 0) / kept.length;
  const squares = kept.reduce((sum, time) => sum + (time - mean) ** 2, 0);
  return { mean, variance: squares / (kept.length - 1) / kept.length };
}

async function measure(running: Running): Promise<void> {
  const { database } = running.store;
  const { id } = await createMerchant(database, 'Corner Shop');
  const credential = { merchant: id as MerchantId, name: 'valid', scopes: [], locations: [] };
  const { token } = await createCredential(database, { ...credential, lifeSeconds: 86_400 });
  for (const kinds of groupsOf(token)) await compare(running, kinds);
}

async function compare(running: Running, makers: Kinds): Promise<void> {
  const kinds = Object.entries(makers).map(([name, make]) => {
    const times: number[] = [];
    return { name, make, times };
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let round = -500; round < samplesPerKind; round += 1) {
    // In a new order each time: whoever comes after a slow one is slower itself.
    for (const kind of shuffled(kinds)) {
      const time = await refusalTime(running, agent, kind.make());
      if (round >= 0) kind.times.push(time);
    }
  }
  agent.destroy();
  const [first, ...others] = kinds.map(({ name, times }) => ({ name, ...summary(times) }));
  if (first === undefined) return;
  process.stdout.write(`${microseconds(first.mean)}  ${first.name}\n`);
  for (const { name, mean, variance } of others) {
    const t = (mean - first.mean) / Math.sqrt(variance + first.variance);
    const isAlike = Math.abs(t) < tMax;
    if (!isAlike) process.exitCode = 1;
    const verdict = `${isAlike ? 'ok' : 'FAIL'}, t = ${t.toFixed(2)}`;
    process.stdout.write(`${microseconds(mean)}  ${name}: ${verdict}\n`);
  }
}

function microseconds(time: number): string {
  return `${(time * 1_000).toFixed(1).padStart(8)} µs`;
}

function shuffled<T>(items: readonly T[]): T[] {
  const left = [...items];
  return items.flatMap(() => left.splice(randomInt(left.length), 1));
}

const directory = await mkdtemp(join(tmpdir(), 'tallybook-timing-'));
const config = readConfig(
  { data: directory, port: '0' },
  { TALLYBOOK_TRUSTED_PROXIES: '127.0.0.1' },
);
const running = await start(config, pino({ level: 'silent' }));
try {
  await measure(running);
} finally {
  await running.stop();
  await rm(directory, { recursive: true, force: true });
}
