// Tokens and invitations that a write makes: shown by its first answer, and kept as a hash only. A
// write may be decided several times before it is known to be committed: it is always the same one.

import type { Write } from '../contract/endpoint.ts';
import { mintToken } from './token.ts';

const minted = new WeakMap<Write, string>();

export function mintedFor(write: Write, kind: 'pat' | 'inv'): string {
  const known = minted.get(write);
  if (known !== undefined) return known;
  const made = mintToken(kind);
  minted.set(write, made);
  return made;
}
