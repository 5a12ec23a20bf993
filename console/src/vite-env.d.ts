// Set by bundlers for libraries that write styles into the page.
declare var __webpack_nonce__: string | undefined;
