// The pages of docs/integrate under /docs. The build makes HTML of their Markdown, so that the
// service needs nothing from outside; here they get their frame.

import { escapeHtml, type HtmlPage, htmlPage } from '../html.ts';
import { pageStyle } from './page-style.ts';

/** By name: /docs/<name>, docs/integrate/<name>.md and dist/http/docs/<name>.html. */
export const guidePages: Readonly<Record<string, string>> = {
  guide: 'Guide',
  writes: 'Write',
  stock: 'Stock',
  reads: 'Read',
  events: 'Events',
  webhooks: 'Webhooks',
  'import-export': 'Import and export',
  access: 'Tokens, limits, OAuth',
};

/** What leads from each page to all others. */
export const navigation = [
  ['/docs', 'Reference'],
  ...Object.entries(guidePages).map(([name, title]) => [`/docs/${name}`, title]),
  ['/docs/errors', 'Errors'],
]
  .map(([path = '', title = '']) => `<a href="${path}">${escapeHtml(title)}</a>`)
  .join(' · ');

/** @param content HTML, as the build made it */
export function guidePage(name: string, content: string): HtmlPage {
  const body = `<nav>${navigation}</nav>\n${content}`;
  return htmlPage({ title: `${guidePages[name]} · Tallybook`, style: pageStyle, body });
}
