// The pages that `doc_url` of an error leads to, made from the problem table: docs/errors.md for
// the repository and HTML for /docs/errors. Each code is a heading, its anchor the code itself.

import { createHash } from 'node:crypto';
import { detailKinds, isRetryable, type ProblemCode, problemKinds } from '../../core/problem.ts';

interface ErrorRow {
  readonly code: string;
  readonly status: number;
  readonly meaning: string;
  readonly advice: string;
  readonly retryable: boolean;
}

const rows: readonly ErrorRow[] = (Object.keys(problemKinds) as ProblemCode[]).map((code) => {
  const { status, title, advice } = problemKinds[code];
  return { code, status, meaning: title, advice, retryable: isRetryable(status) };
});

const detailRows = Object.entries(detailKinds).map(([code, meaning]) => ({ code, meaning }));

const introduction =
  'Every error answer has this form. `code` is stable: branch on it, and treat one you do not ' +
  'know by its status. `details` names everything that is wrong, at once. `meta.operation_id` is ' +
  'there when the refusal is bound to the Idempotency-Key: a new attempt then needs a new key.';

const sample = `{
  "error": {
    "code": "inventory_no_change",
    "message": "The target equals the current quantity.",
    "retryable": false,
    "doc_url": "/docs/errors#inventory_no_change",
    "details": [
      {
        "field": "target_quantity",
        "code": "inventory_no_change",
        "message": "equals the current quantity",
        "current_quantity": "12.5"
      }
    ]
  },
  "meta": { "request_id": "req_…", "operation_id": "op_…" }
}`;

const retrySentence = (isRetry: boolean): string =>
  isRetry ? 'Yes, the same request with the same key.' : 'No.';

const detailsSentence =
  'The codes of single entries in `details`, besides the codes above. A client that does not ' +
  'know one shows its `message`.';

/** The text of docs/errors.md. */
export function errorsMarkdown(): string {
  const parts = [
    '<!-- Generated from src/core/problem.ts. Do not edit. -->',
    '# Errors',
    introduction,
    `\`\`\`json\n${sample}\n\`\`\``,
    table(
      ['Status', 'Code', 'Meaning'],
      rows.map(({ status, code, meaning }) => [`${status}`, `[\`${code}\`](#${code})`, meaning]),
    ),
    ...rows.map(({ code, status, meaning, advice, retryable }) =>
      [
        `## ${code}`,
        meaning,
        `- Status: ${status}\n- What to do: ${advice}\n- Retry: ${retrySentence(retryable)}`,
      ].join('\n\n'),
    ),
    '## Codes in details',
    detailsSentence,
    table(
      ['Code', 'Meaning'],
      detailRows.map(({ code, meaning }) => [`\`${code}\``, meaning]),
    ),
  ];
  return `${parts.join('\n\n')}\n`;
}

function table(head: readonly string[], body: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...body.map(line)].join('\n');
}

const style = `
  :root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
  body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
  code, pre { font: 0.9em ui-monospace, monospace; }
  pre { padding: 1rem; overflow-x: auto; border: 1px solid #8886; border-radius: 6px; }
  table { border-collapse: collapse; }
  td, th { padding: 0.25rem 0.75rem 0.25rem 0; text-align: left; vertical-align: top; }
  section { border-top: 1px solid #8886; margin-top: 1.5rem; }
  section:target h2 { text-decoration: underline; }
`;

/** Only this page's own style is let in, by its hash. */
export const errorsPolicy = [
  "default-src 'none'",
  'img-src data:',
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The page /docs/errors. */
export function errorsHtml(): string {
  const sections = rows.map(
    ({ code, status, meaning, advice, retryable }) => `
<section id="${code}">
<h2><code>${code}</code></h2>
<p>${htmlOf(meaning)}</p>
<ul>
<li>Status: ${status}</li>
<li>What to do: ${htmlOf(advice)}</li>
<li>Retry: ${retrySentence(retryable)}</li>
</ul>
</section>`,
  );
  const overview = rows.map(
    ({ code, status, meaning }) =>
      `<tr><td>${status}</td><td><a href="#${code}"><code>${code}</code></a></td>` +
      `<td>${htmlOf(meaning)}</td></tr>`,
  );
  const details = detailRows.map(
    ({ code, meaning }) => `<tr><td><code>${code}</code></td><td>${htmlOf(meaning)}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Errors · Tallybook</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<h1>Errors</h1>
<p>${marked(introduction)}</p>
<pre>${htmlOf(sample)}</pre>
<table><thead><tr><th>Status</th><th>Code</th><th>Meaning</th></tr></thead>
<tbody>${overview.join('\n')}</tbody></table>
${sections.join('\n')}
<section id="details">
<h2>Codes in details</h2>
<p>${marked(detailsSentence)}</p>
<table><thead><tr><th>Code</th><th>Meaning</th></tr></thead>
<tbody>${details.join('\n')}</tbody></table>
</section>
</body>
</html>
`;
}

function marked(text: string): string {
  return htmlOf(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

function htmlOf(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
