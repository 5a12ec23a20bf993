// Builds the page of the console into the package of the service.

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: pathOf('.'),
  base: '/console/',
  // The service puts a nonce there, a new one into each page (src/http/console-pages.ts).
  html: { cspNonce: '__NONCE__' },
  resolve: {
    alias: {
      '@tallybook/client': pathOf('../sdk/main.ts'),
      // The same without Node's Buffer.
      'csv-stringify/sync': 'csv-stringify/browser/esm/sync',
    },
  },
  esbuild: { jsx: 'automatic' },
  build: {
    outDir: pathOf('../dist/console'),
    emptyOutDir: true,
    // Everything has an address: the policy allows no data but images.
    assetsInlineLimit: 0,
    target: 'es2022',
    rollupOptions: {
      onwarn(warning, warn) {
        // Mantine marks its files for servers that render.
        if (warning.code !== 'MODULE_LEVEL_DIRECTIVE') warn(warning);
      },
    },
    chunkSizeWarningLimit: 1_000,
  },
});
