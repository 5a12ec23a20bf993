// The pages a person sees: show a token, choose what the application may do, and errors. The form
// may lead to us and to the one origin of the application.

import { escapeHtml, type HtmlPage, htmlPage } from '../../http/html.ts';
import { scopeWords } from './scope-words.ts';

/** What the application asks for, as every page of one request shows it. */
export interface ConsentRequest {
  /** Where the form goes. */
  readonly action: string;
  readonly application: string;
  readonly scopes: readonly string[];
  /** As the application asked: `all`, IDs with blanks between them, or nothing. */
  readonly locations: string | undefined;
  /** Where the browser returns to. */
  readonly redirectUri: string;
  /** What was wrong with what the person sent. */
  readonly fault?: string;
}

export interface Choice {
  readonly id: string;
  readonly name: string;
  readonly isChosen: boolean;
}

/** Asks for a personal access token. */
export function provePage(asked: ConsentRequest): HtmlPage {
  return page(
    `Allow ${asked.application}?`,
    `${askedText(asked)}
<form method="post" action="${escapeHtml(asked.action)}">
<label for="token">Your personal access token</label>
<p>It shows that you may grant this. It is checked and not stored.</p>
<input id="token" name="token" type="password" autocomplete="off" required maxlength="200">
<p><button class="main" name="decision" value="prove">Continue</button>
<button name="decision" value="refuse" formnovalidate>Refuse</button></p>
</form>`,
    asked.redirectUri,
  );
}

/** Lets the person choose the locations, and decide. */
export function choosePage(
  asked: ConsentRequest,
  merchant: string,
  choices: readonly Choice[],
  all: { readonly isChosen: boolean } | undefined,
): HtmlPage {
  const boxes = [
    ...(all === undefined ? [] : [box('all', 'All locations, future ones too', all.isChosen)]),
    ...choices.map(({ id, name, isChosen }) => box(id, `${name} (${id})`, isChosen)),
  ];
  return page(
    `Allow ${asked.application} at ${merchant}?`,
    `${askedText(asked)}
<form method="post" action="${escapeHtml(asked.action)}">
<fieldset><legend>Locations at ${escapeHtml(merchant)}</legend>
${boxes.length === 0 ? '<p>There is no location that you may grant.</p>' : boxes.join('\n')}
</fieldset>
<p>Without a location it cannot read or change stock. What you allow ends when your token ends.</p>
<p><button class="main" name="decision" value="allow">Allow</button>
<button name="decision" value="refuse">Refuse</button></p>
</form>`,
    asked.redirectUri,
  );
}

/** For errors that cannot be sent to the application, because its request cannot be trusted. */
export function errorPage(error: string, description: string): HtmlPage {
  return page(
    'This request cannot continue',
    `<p>${escapeHtml(description)}</p><p>(${escapeHtml(error)})</p>`,
  );
}

function askedText({ application, scopes, locations, fault }: ConsentRequest): string {
  const wanted = scopes.map(scopeItem).join('');
  const where = locations === undefined ? 'It names no locations.' : `Locations: ${locations}.`;
  const alert = fault === undefined ? '' : `<p role="alert">${escapeHtml(fault)}</p>\n`;
  return `${alert}<p><strong>${escapeHtml(application)}</strong> asks to act for you.
It could:</p>
<ul>${wanted}</ul>
<p>${escapeHtml(where)}</p>`;
}

/** In words, and as the application asked for it. */
function scopeItem(scope: string): string {
  const words = new Map(Object.entries(scopeWords)).get(scope);
  const asked = `<code>${escapeHtml(scope)}</code>`;
  return words === undefined ? `<li>${asked}</li>` : `<li>${escapeHtml(words)} ${asked}</li>`;
}

function box(value: string, label: string, isChosen: boolean): string {
  const checked = isChosen ? ' checked' : '';
  const input = `<input type="checkbox" name="location" value="${escapeHtml(value)}"${checked}>`;
  return `<label class="box">${input} ${escapeHtml(label)}</label>`;
}

/** The colours are those of the console. */
const style = `:root{color-scheme:light dark;--text:#1f2529;--page:#fbfcfd;--card:#fff}
:root{--line:#ced4da;--soft:#4d555d;--main:#0b7285;--fault:#b42318}
@media(prefers-color-scheme:dark){:root{--text:#e9ecef;--page:#1f1f1f;--card:#262626;--line:#4a4a4a}
:root{--soft:#b4b9be;--main:#0b7285;--fault:#ff9d94}}
body{font:1rem/1.5 system-ui,sans-serif;background:var(--page);color:var(--text);margin:0}
body{padding:2.5rem 1rem}
main{max-width:34rem;margin:auto;padding:1.5rem 2rem;background:var(--card)}
main{border:1px solid var(--line);border-radius:.75rem}
h1{font-size:1.5rem;margin-top:0}code{color:var(--soft);font-size:.85em}
input[type=password]{width:100%;padding:.5rem;font:inherit;box-sizing:border-box}
input[type=password]{border:1px solid var(--line);border-radius:.5rem}
button{font:inherit;font-weight:600;padding:.5rem 1.25rem;margin-right:.5rem;cursor:pointer}
button{border:1px solid var(--line);border-radius:.5rem;background:var(--card);color:var(--text)}
button.main{background:var(--main);border-color:var(--main);color:#fff}
label{font-weight:600}.box{display:block;font-weight:400}
fieldset{border:1px solid var(--line);border-radius:.5rem}
[role=alert]{border-left:.25rem solid var(--fault);padding-left:.75rem}`;

function page(title: string, body: string, redirectUri?: string): HtmlPage {
  // Browsers apply the policy of forms to the redirect after the form as well.
  const back = redirectUri === undefined ? '' : ` ${new URL(redirectUri).origin}`;
  return htmlPage({
    title,
    style,
    body: `<main>\n<h1>${escapeHtml(title)}</h1>\n${body}\n</main>`,
    formAction: `'self'${back}`,
  });
}
