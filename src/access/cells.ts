// Which cell a merchant's data is in. A merchant stays in its cell, so what a row has said once is
// true for ever.

import { firstCell } from '../core/cells.ts';
import type { MerchantId } from '../core/principal.ts';
import type { Authenticated, Authenticator } from './authenticator.ts';
import type { KeyQuestion, TokenCell } from './store.ts';
import { hashToken } from './token.ts';

/** About 20 MB. */
const tokensMax = 100_000;

/** The cells of tokens, as far as somebody has asked with them. */
export class TokenCells {
  readonly #find: (hash: string) => Promise<TokenCell | undefined>;
  readonly #cells = new Map<string, string>();

  constructor(find: (hash: string) => Promise<TokenCell | undefined>) {
    this.#find = find;
  }

  /** Undefined: nobody holds this token. That is not remembered, because it may be made later. */
  async of(token: string): Promise<string | undefined> {
    const hash = hashToken(token).toString('hex');
    const known = this.#cells.get(hash);
    if (known !== undefined) return known;
    const found = await this.#find(hash);
    if (found === undefined) return undefined;
    const [oldest] = this.#cells.keys();
    if (this.#cells.size >= tokensMax && oldest !== undefined) this.#cells.delete(oldest);
    this.#cells.set(hash, found.cell);
    return found.cell;
  }
}

interface Asking {
  /** Who asks in a cell. */
  in(cell: string): Pick<Authenticator, 'authenticate'>;
  /** Undefined: as far as is known there is one cell. */
  tokens(): TokenCells | undefined;
  /** Told where each caller's merchant is. */
  note(merchant: MerchantId, cell: string): void;
}

/** Finds callers in the cells of their merchants. */
export class Callers {
  readonly #asking: Asking;

  constructor(asking: Asking) {
    this.#asking = asking;
  }

  /** Undefined for every token that is not valid now, whatever the reason. */
  async authenticate(
    token: string,
    locationId: string | undefined,
    key?: KeyQuestion,
  ): Promise<Authenticated | undefined> {
    const tokens = this.#asking.tokens();
    let cell = tokens === undefined ? firstCell : await tokens.of(token);
    while (cell !== undefined) {
      const found = await this.#asking.in(cell).authenticate(token, locationId, key);
      if (found === undefined) return undefined;
      this.#asking.note(found.principal.merchant, found.cell);
      if (found.cell === cell) return found;
      // Of a cell that this process had not heard of.
      cell = found.cell;
    }
    return undefined;
  }
}
