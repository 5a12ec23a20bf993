// The nonce of this page: styles that its parts write must carry it.

const place = document.querySelector<HTMLElement>('meta[property="csp-nonce"]');

export const nonce = place?.nonce ?? '';

globalThis.__webpack_nonce__ = nonce;
