// Pages for people. They work without scripts, load nothing, and may not be framed. The policy
// names the one style by its hash, and where the page's form may lead to. Other sites learn no
// address; our own do, because a form says its Origin only where it may say its address.

import { createHash } from 'node:crypto';

export interface HtmlPage {
  readonly html: string;
  readonly policy: string;
}

interface Content {
  readonly title: string;
  /** HTML. */
  readonly body: string;
  readonly style: string;
  /** The sources that its form may lead to, as a policy names them. */
  readonly formAction?: string;
  /** Where the browser goes on by itself, at once. */
  readonly next?: string;
}

export function htmlPage({ title, body, style, formAction = "'none'", next }: Content): HtmlPage {
  const refresh =
    next === undefined ? '' : `\n<meta http-equiv="refresh" content="0; url=${escapeHtml(next)}">`;
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="same-origin">${refresh}
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
${body}
</body>
</html>
`;
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    'img-src data:',
    `form-action ${formAction}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return { html, policy };
}

/** A text as HTML shows it, also within an attribute. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
