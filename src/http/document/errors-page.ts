// The pages that `doc_url` of an error leads to: docs/integrate/errors.md for the repository and
// HTML for /docs/errors, both from the one list of sections below. Each code is a heading and its
// own anchor.

import {
  adviceOf,
  detailKinds,
  isRetryable,
  type ProblemCode,
  problemKinds,
} from '../../core/problem.ts';
import { resources } from '../../resources.ts';
import { escapeHtml, type HtmlPage, htmlPage } from '../html.ts';
import { navigation } from './guide-pages.ts';
import { pageStyle } from './page-style.ts';
import { exampleAnswer } from './problems.ts';

/** Texts may have `code` and [links](#code), as Markdown writes them. */
type Block =
  | { readonly text: string }
  | { readonly code: string }
  | { readonly list: readonly string[] }
  | { readonly head: readonly string[]; readonly rows: readonly (readonly string[])[] };

interface Section {
  readonly id: string;
  readonly title: string;
  readonly blocks: readonly Block[];
}

const introduction =
  'Every error answer has this form. `code` is stable: branch on it, and treat one you do not ' +
  'know by its status. `details` names all fields that are wrong, at once. ' +
  '`meta.operation_id` is there when the refusal is bound to the Idempotency-Key: a new attempt ' +
  'then needs a new key. A 410 names the operation that once made the resource: do not make it ' +
  'again.';

/** Of a refusal that a resource declares: it has details, and is bound to its key. */
const [sampleCode] = resources.flatMap(
  ({ refusalDetails = {} }) => Object.keys(refusalDetails) as ProblemCode[],
);

const sample = {
  ...(sampleCode === undefined ? {} : exampleAnswer(sampleCode)),
  meta: { request_id: 'req_…', operation_id: 'op_…' },
};

const kinds = Object.entries(problemKinds) as [ProblemCode, { status: number; title: string }][];

const overview: readonly Block[] = [
  { text: introduction },
  { code: JSON.stringify(sample, undefined, 2) },
  {
    head: ['Status', 'Code', 'Meaning'],
    rows: kinds.map(([code, { status, title }]) => [`${status}`, `[\`${code}\`](#${code})`, title]),
  },
];

const sections: readonly Section[] = [
  ...kinds.map(([code, { status, title }]) => ({
    id: code,
    title: code,
    blocks: [{ text: title }, { list: factsOf(status, adviceOf(code)) }],
  })),
  {
    id: 'details',
    title: 'Codes in details',
    blocks: [
      {
        text:
          'The codes of single entries in `details`, besides the codes above. A client that does ' +
          'not know one shows its `message`.',
      },
      {
        head: ['Code', 'Meaning'],
        rows: Object.entries(detailKinds).map(([code, meaning]) => [`\`${code}\``, meaning]),
      },
    ],
  },
];

function factsOf(status: number, advice: string): string[] {
  const retry = isRetryable(status) ? 'Yes, the same request with the same key.' : 'No.';
  return [`Status: ${status}`, `What to do: ${advice}`, `Retry: ${retry}`];
}

/** The text of docs/integrate/errors.md. */
export function errorsMarkdown(): string {
  const parts = [
    '<!-- Generated from src/core/problem.ts. Do not edit. -->',
    '# Errors',
    ...overview.map(markdownOf),
    ...sections.flatMap(({ title, blocks }) => [`## ${title}`, ...blocks.map(markdownOf)]),
  ];
  return `${parts.join('\n\n')}\n`;
}

function markdownOf(block: Block): string {
  if ('text' in block) return block.text;
  if ('code' in block) return `\`\`\`json\n${block.code}\n\`\`\``;
  if ('list' in block) return block.list.map((item) => `- ${item}`).join('\n');
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [block.head, block.head.map(() => '---'), ...block.rows].map(line).join('\n');
}

/** The page /docs/errors. */
export function errorsPage(): HtmlPage {
  const body = [
    `<nav>${navigation}</nav>`,
    '<h1>Errors</h1>',
    ...overview.map(blockHtml),
    ...sections.map(sectionHtml),
  ].join('\n');
  return htmlPage({ title: 'Errors · Tallybook', style: pageStyle, body });
}

function sectionHtml({ id, title, blocks }: Section): string {
  const heading = id === title ? `<code>${id}</code>` : title;
  return `
<section id="${id}">
<h2>${heading}</h2>
${blocks.map(blockHtml).join('\n')}
</section>`;
}

function blockHtml(block: Block): string {
  if ('text' in block) return `<p>${textHtml(block.text)}</p>`;
  if ('code' in block) return `<pre>${escapeHtml(block.code)}</pre>`;
  if ('list' in block) {
    return `<ul>\n${block.list.map((item) => `<li>${textHtml(item)}</li>`).join('\n')}\n</ul>`;
  }
  const head = block.head.map((cell) => `<th>${cell}</th>`).join('');
  const rows = block.rows.map(
    (cells) => `<tr>${cells.map((cell) => `<td>${textHtml(cell)}</td>`).join('')}</tr>`,
  );
  return `<table><thead><tr>${head}</tr></thead>\n<tbody>${rows.join('\n')}</tbody></table>`;
}

function textHtml(text: string): string {
  return escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\[(.+?)\]\((#\w+)\)/g, '<a href="$2">$1</a>');
}
