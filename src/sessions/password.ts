// Passwords: scrypt, with a salt for each. A text says how it was made, so that a later cost can be
// another one. Few at once: each takes a thread that files and names need as well, and 32 MB.

import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** As OWASP asks for, 2025: N = 2^15, r = 8, p = 3. About 0.2 s of a processor. */
const cost = { log: 15, block: 8, parallel: 3 } as const;
const keyBytes = 32;
const atOnceMax = 2;

let running = 0;
const waiting: (() => void)[] = [];

/** What is kept of a password. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt, cost.log, cost.block, cost.parallel);
  const { log, block, parallel } = cost;
  return ['scrypt', log, block, parallel, text(salt), text(key)].join('$');
}

/** Of nobody: compared with where there is no password, so that this takes as long. */
const ofNobody = hashPassword(randomBytes(32).toString('hex'));

/** Whether it is the password. Undefined: there is none, and it is not. */
export async function isPassword(password: string, kept: string | undefined): Promise<boolean> {
  const [, log, block, parallel, salt = '', key = ''] = (kept ?? (await ofNobody)).split('$');
  const expected = Buffer.from(key, 'base64url');
  const given = await derive(
    password,
    Buffer.from(salt, 'base64url'),
    Number(log),
    Number(block),
    Number(parallel),
  );
  return timingSafeEqual(given, expected) && kept !== undefined;
}

const text = (bytes: Buffer) => bytes.toString('base64url');

/** The same password may be typed in several forms of the same letters. */
async function derive(
  password: string,
  salt: Buffer,
  log: number,
  block: number,
  parallel: number,
): Promise<Buffer> {
  if (running >= atOnceMax) await new Promise<void>((resolve) => waiting.push(resolve));
  else running += 1;
  try {
    return await new Promise((resolve, reject) => {
      const options = { N: 2 ** log, r: block, p: parallel, maxmem: 64 * 1024 * 1024 };
      scrypt(password.normalize('NFKC'), salt, keyBytes, options, (error, key) =>
        error === null ? resolve(key) : reject(error),
      );
    });
  } finally {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }
}
