// What is served outside the version: the document, its pages and the health checks. The pages load
// nothing from elsewhere: no font, script or telemetry, and their policy forbids it.

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Endpoint } from '../contract/endpoint.ts';
import { Problem } from '../core/problem.ts';
import { errorsPage } from './document/errors-page.ts';
import { guidePage, guidePages, navigation } from './document/guide-pages.ts';
import { documentText, openApiDocument } from './document/openapi.ts';
import { jsonType } from './respond.ts';
import type { Site } from './site.ts';

export interface SitesOptions {
  readonly endpoints: readonly Endpoint[];
  /** Whether the database answers, its migrations are current, and the service is not stopping. */
  isReady(): Promise<boolean>;
  /** What else `/readyz` says; anybody may read it. */
  details?(): object;
}

export function sitesOf(options: SitesOptions): readonly Site[] {
  const document = documentText(openApiDocument(options.endpoints, programVersion()));
  const errors = errorsPage();
  return [
    page('/openapi.json', jsonType, document),
    page('/docs', htmlType, referencePage, referencePolicy),
    page('/docs/start.js', scriptType, startScript),
    built('/docs/redoc.js', 'redoc.js', async (body) => ({ type: scriptType, body })),
    ...Object.keys(guidePages).map(builtPage),
    page('/docs/errors', htmlType, errors.html, errors.policy),
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
  const answer = {
    status: 200,
    type,
    body: Buffer.from(body),
    ...(policy === undefined ? {} : { policy }),
  };
  return { path, answer: async () => answer };
}

async function readiness({ isReady, details }: SitesOptions) {
  const ready = await isReady().catch(() => false);
  if (!ready) throw new Problem('service_unavailable', { headers: { 'Retry-After': '1' } });
  return { status: 200, type: jsonType, body: JSON.stringify({ status: 'ready', ...details?.() }) };
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
<div id="reference">
<p>A script draws the reference of the interface here. It is made of
<a href="/openapi.json">openapi.json</a>.</p>
<nav>${navigation}</nav>
</div>
<script type="module" src="/docs/start.js"></script>
</body>
</html>
`;

/**
 * Each route has up to 20 statuses. The page shows those that a caller has to handle, and one line
 * for the others, which are the same everywhere.
 */
const startScript = `import { init } from '/docs/redoc.js';

const rare = ['400', '405', '406', '408', '413', '414', '415', '417', '431', '500', '503', '504'];
const reference = await (await fetch('/openapi.json')).json();
for (const methods of Object.values(reference.paths)) {
  for (const { responses } of Object.values(methods)) {
    const found = rare.filter((status) => status in responses);
    for (const status of found) delete responses[status];
    responses.default = {
      description: \`Any other error has the same form, with the status \${found.join(', ')}.
        [Every code is explained](/docs/errors).\`,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    };
  }
}
const options = { disableTelemetry: true, hideSchemaPattern: true };
init(reference, options, document.getElementById('reference'));
`;

/**
 * Redoc writes styles into the page, so styles may be inline. Scripts may not, nor text that is
 * evaluated.
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

/** `npm run build` puts them there. */
const builtFolder = new URL('../../dist/http/', import.meta.url);

type Shown = Omit<Awaited<ReturnType<Site['answer']>>, 'status'>;

/**
 * Read at the first request for it, and shared: Redoc has 2.3 MB, and each client that does not
 * read its answer would hold a copy.
 */
function built(path: string, file: string, show: (bytes: Buffer) => Promise<Shown>): Site {
  let shown: Promise<Shown> | undefined;
  return {
    path,
    answer: async () => {
      shown ??= readFile(new URL(file, builtFolder))
        .then(show)
        .catch((error: unknown) => {
          shown = undefined;
          throw error;
        });
      return { status: 200, ...(await shown) };
    },
  };
}

function builtPage(name: string): Site {
  return built(`/docs/${name}`, `docs/${name}.html`, async (content) => {
    const { html, policy } = guidePage(name, content.toString());
    return { type: htmlType, body: Buffer.from(html), policy };
  });
}
