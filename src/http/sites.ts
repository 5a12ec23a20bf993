// What is served outside the version: the document, its pages and the health checks. The pages come
// from here alone: no font, script or telemetry of anyone else, and a policy that would refuse one.

import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Endpoint } from '../core/endpoint.ts';
import { Problem } from '../core/problem.ts';
import { errorsHtml, errorsPolicy } from './document/errors-page.ts';
import { documentText, openApiDocument } from './document/openapi.ts';
import { jsonType } from './respond.ts';
import type { Site } from './server.ts';

export interface SitesOptions {
  readonly endpoints: readonly Endpoint[];
  /** Whether the database answers, its migrations are current, and nobody is draining. */
  isReady(): Promise<boolean>;
}

export function sitesOf(options: SitesOptions): readonly Site[] {
  const document = documentText(openApiDocument(options.endpoints, programVersion()));
  return [
    page('/openapi.json', jsonType, document),
    page('/docs', htmlType, referencePage, referencePolicy),
    page('/docs/start.js', scriptType, startScript),
    scalarSite(),
    page('/docs/errors', htmlType, errorsHtml(), errorsPolicy),
    page('/healthz', jsonType, '{"status":"ok"}'),
    { path: '/readyz', answer: () => readiness(options) },
  ];
}

/** The version of this program, as its package states it. */
export function programVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

const htmlType = 'text/html; charset=utf-8';
const scriptType = 'text/javascript; charset=utf-8';

function page(path: string, type: string, body: string, policy?: string): Site {
  const answer = { status: 200, type, body, ...(policy === undefined ? {} : { policy }) };
  return { path, answer: async () => answer };
}

async function readiness({ isReady }: SitesOptions) {
  const ready = await isReady().catch(() => false);
  if (!ready) throw new Problem('service_unavailable', { headers: { 'Retry-After': '1' } });
  return { status: 200, type: jsonType, body: '{"status":"ready"}' };
}

const referencePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tallybook</title>
<link rel="icon" href="data:,">
</head>
<body>
<div id="reference"></div>
<script src="/docs/scalar.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const startScript = `Scalar.createApiReference('#reference', {
  url: '/openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
});
`;

/**
 * Scalar styles its elements inline, which is why styles may be; scripts may not, and nothing is
 * evaluated from text.
 */
const referencePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Beside the built program; run from its sources, where the package manager put it. */
const scalarFiles = [
  new URL('./site/scalar.js', import.meta.url),
  new URL('../../node_modules/@scalar/api-reference/dist/browser/standalone.js', import.meta.url),
];

/**
 * Read once, when somebody first asks, and shared: it is 3.5 MB, and clients that do not read would
 * each hold a copy.
 */
function scalarSite(): Site {
  let script: Promise<Buffer> | undefined;
  return {
    path: '/docs/scalar.js',
    answer: async () => {
      script ??= readScalar().catch((error: unknown) => {
        script = undefined;
        throw error;
      });
      return { status: 200, type: scriptType, body: await script };
    },
  };
}

async function readScalar(): Promise<Buffer> {
  const file = scalarFiles.find((one) => existsSync(one));
  if (file === undefined) throw new Problem('not_found');
  return readFile(file);
}
