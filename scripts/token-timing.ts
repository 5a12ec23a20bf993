// `npm run token-timing`: whether the time of a refusal tells how near a wrong token was to a right
// one. Kinds of wrong tokens take turns on one connection; Welch's t compares those that must not
// be told apart. What the checksum refuses and what is looked up do differ: it is no secret.

import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { pino } from 'pino';
import { createCredential } from '../src/access/operator/credentials.ts';
import { createMerchant } from '../src/access/operator/merchants.ts';
import { mintToken } from '../src/access/token.ts';
import { readConfig } from '../src/config.ts';
import type { MerchantId } from '../src/core/principal.ts';
import { type Running, start } from '../src/main.ts';

const samplesPerKind = 20_000;
/** The usual bound of dudect: beyond it there is a difference. */
const tMax = 4.5;
/** The slowest are interruptions: of the machine, not of the comparison. */
const keptShare = 0.9;

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Wrong tokens by what is wrong with them. */
function kindsOf(valid: string): Readonly<Record<string, () => string>> {
  const random = (length: number) =>
    Array.from({ length }, () => alphabet.charAt(randomInt(62))).join('');
  const near = () => valid.slice(0, 40) + random(valid.length - 40);
  return {
    'begins as a valid one, wrong checksum': near,
    'random, wrong checksum': () => `tb_pat_${random(46)}`,
    'one character short': () => `tb_pat_${random(45)}`,
    'begins as a valid one, right checksum': () => withChecksum(near().slice(0, -6)),
    'random, right checksum': () => mintToken('pat'),
  };
}

function withChecksum(body: string): string {
  let rest = crc32(body);
  let checksum = '';
  for (let i = 0; i < 6; i += 1) {
    checksum = alphabet.charAt(rest % 62) + checksum;
    rest = Math.floor(rest / 62);
  }
  return body + checksum;
}

const compared: readonly (readonly [string, string])[] = [
  ['begins as a valid one, wrong checksum', 'random, wrong checksum'],
  ['random, wrong checksum', 'one character short'],
  ['begins as a valid one, right checksum', 'random, right checksum'],
];

let addresses = 0;

/** How long a refusal takes (ms). Each comes from another address, so that none is 429. */
function refusalTime(running: Running, agent: Agent, token: string): Promise<number> {
  addresses += 1;
  const address = `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
  const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': address };
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
  const merchant = await createMerchant(database.writer, 'Corner Shop');
  const { token } = await createCredential(
    { reader: database.reader, writer: database.writer },
    {
      merchant: merchant.id as MerchantId,
      name: 'valid',
      scopes: [],
      locations: [],
      lifeSeconds: 86_400,
    },
  );
  const kinds = Object.entries(kindsOf(token)).map(([name, make]) => {
    const times: number[] = [];
    return { name, make, times };
  });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let round = -500; round < samplesPerKind; round += 1) {
    const first = randomInt(kinds.length);
    for (const kind of [...kinds.slice(first), ...kinds.slice(0, first)]) {
      const time = await refusalTime(running, agent, kind.make());
      if (round >= 0) kind.times.push(time);
    }
  }
  agent.destroy();
  const found = new Map(kinds.map(({ name, times }) => [name, summary(times)]));
  for (const [name, { mean }] of found) {
    process.stdout.write(`${(mean * 1_000).toFixed(1).padStart(8)} µs  ${name}\n`);
  }
  for (const [one, other] of compared) {
    const [a, b] = [found.get(one), found.get(other)];
    if (a === undefined || b === undefined) throw new Error(`there is no ${one} or ${other}`);
    const t = (a.mean - b.mean) / Math.sqrt(a.variance + b.variance);
    const isAlike = Math.abs(t) < tMax;
    process.stdout.write(`${isAlike ? 'ok  ' : 'FAIL'} t = ${t.toFixed(2)}: ${one} | ${other}\n`);
    if (!isAlike) process.exitCode = 1;
  }
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
