// Token strings: a prefix that secret scanners can find, 40 random base-62 characters (238 bits),
// and a CRC-32 of all that, so that a mistyped token is refused without asking the database.
// Secrets of OAuth applications and refresh tokens have the same form.

import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 40;
const checksumLength = 6;

const tokenShape = /^tb_(?:pat|oat)_[0-9A-Za-z]{46}$/;
const secretShape = /^tb_ocs_[0-9A-Za-z]{46}$/;

/** Personal and OAuth access token, client secret, refresh token, invitation, session. */
export function mintToken(kind: 'pat' | 'oat' | 'ocs' | 'ort' | 'inv' | 'ses'): string {
  const body = `tb_${kind}_${randomText(randomLength)}`;
  return body + checksum(body);
}

/** Whether a string can be a token at all. */
export function isToken(text: string): boolean {
  return tokenShape.test(text) && text.endsWith(checksum(text.slice(0, -checksumLength)));
}

/** Whether a string can be an invitation at all. */
export function isInvitation(text: string): boolean {
  return /^tb_inv_[0-9A-Za-z]{46}$/.test(text) && text.endsWith(checksum(text.slice(0, -6)));
}

/** Whether a string can be the token of a session at all. No header may carry one. */
export function isSessionToken(text: string): boolean {
  return /^tb_ses_[0-9A-Za-z]{46}$/.test(text) && text.endsWith(checksum(text.slice(0, -6)));
}

/** Whether a token is one of an application. */
export function isOAuthToken(token: string): boolean {
  return token.startsWith('tb_oat_');
}

/** Whether a string can be the secret of an application at all. */
export function isSecret(text: string): boolean {
  return secretShape.test(text) && text.endsWith(checksum(text.slice(0, -checksumLength)));
}

/** What is stored of a token or secret: what it is found by, and what a person knows it by. */
export interface KeptToken {
  readonly tokenHash: Buffer;
  readonly lastFour: string;
}

export function kept(token: string): KeptToken {
  return { tokenHash: hashToken(token), lastFour: token.slice(-4) };
}

/** What is stored of a token, and what it is found by. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token, 'latin1').digest();
}

/** The six characters at the end of a token that begins with this text. */
export function checksum(text: string): string {
  let rest = crc32(Buffer.from(text, 'latin1'));
  let digits = '';
  for (let i = 0; i < checksumLength; i += 1) {
    digits = alphabet.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

/** Uniform characters: bytes from 248 on are drawn again, because 256 is no multiple of 62. */
function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < 248 && text.length < length) text += alphabet.charAt(byte % 62);
    }
  }
  return text;
}
