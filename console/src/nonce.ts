// The nonce of this page: styles that its parts write must carry it.

declare global {
  /** Read by libraries that write styles into the page. */
  var __webpack_nonce__: string | undefined;
}

const place = document.querySelector<HTMLElement>('meta[property="csp-nonce"]');

export const nonce = place?.nonce ?? '';

globalThis.__webpack_nonce__ = nonce;
