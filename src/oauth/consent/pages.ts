// The pages a person sees: sign in or show a token, choose what the application may do, and errors.
// The form may lead to us and to the one origin of the application.

import { limits } from '../../core/limits.ts';
import { escapeHtml, type HtmlPage, htmlPage } from '../../http/html.ts';
import { scopeWords } from './scope-words.ts';

/** What the application asks for, as every page of one request shows it. */
export interface ConsentRequest {
  /** Where the form goes. */
  readonly action: string;
  /** Where one signs in, and comes back from. */
  readonly signIn: string;
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
  readonly code: string | null;
  readonly isChosen: boolean;
}

export interface Choices {
  readonly merchant: string;
  readonly choices: readonly Choice[];
  /** Undefined: not all of them can be granted. */
  readonly all: { readonly isChosen: boolean } | undefined;
  /** Who is signed in; undefined: a token was shown. */
  readonly person: { readonly name: string; readonly binding: string } | undefined;
}

/**
 * Asks once more, from our own page: the cookie of a session does not come along with a browser
 * that another site has sent.
 */
export function onwardPage(asked: ConsentRequest, next: string): HtmlPage {
  const link = `<p><a href="${escapeHtml(next)}">Continue</a></p>`;
  return page(titleOf(asked), link, asked.redirectUri, next);
}

/** Asks who it is: a person signs in, or somebody has a personal access token. */
export function provePage(asked: ConsentRequest, isOpen = false): HtmlPage {
  return page(
    titleOf(asked),
    `${askedText(asked, placesAsked(asked))}
<p><a class="main" href="${escapeHtml(asked.signIn)}">Sign in</a></p>
<form method="post" action="${escapeHtml(asked.action)}">
<details${isOpen ? ' open' : ''}><summary>With a personal access token</summary>
<p><label for="token">Your personal access token</label></p>
<p>It shows that you may grant this. It is checked and not stored.</p>
<input id="token" name="token" type="password" autocomplete="off" required maxlength="200">
<p><button name="decision" value="prove">Continue</button></p>
</details>
<p><button name="decision" value="refuse" formnovalidate>Refuse</button></p>
</form>`,
    asked.redirectUri,
  );
}

const titleOf = ({ application }: ConsentRequest) => `Allow ${application}?`;

/** Lets the person choose the locations, and decide. */
export function choosePage(
  asked: ConsentRequest,
  { merchant, choices, all, person }: Choices,
): HtmlPage {
  const boxes = [
    ...(all === undefined ? [] : [box('all', 'All locations, future ones too', all.isChosen)]),
    ...choices.map((one) => box(one.id, labelOf(one), one.isChosen)),
  ];
  const who =
    person === undefined
      ? ''
      : `<p>You are signed in as <strong>${escapeHtml(person.name)}</strong>.</p>
<input type="hidden" name="person" value="${escapeHtml(person.binding)}">\n`;
  return page(
    `Allow ${asked.application} at ${merchant}?`,
    `${askedText(asked, placesFound(asked, choices, all))}
<form method="post" action="${escapeHtml(asked.action)}">
${who}<fieldset><legend>Locations at ${escapeHtml(merchant)}</legend>
${boxes.length === 0 ? '<p>There is no location that you may grant.</p>' : boxes.join('\n')}
</fieldset>
<p>Without a location it cannot read or change stock. ${endOf(person)}</p>
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

/** Two locations may have the same name. */
function labelOf({ name, code }: Choice): string {
  return code === null ? name : `${name} (${code})`;
}

function endOf(person: Choices['person']): string {
  if (person === undefined) return 'What you allow ends when your token ends.';
  return `What you allow ends after ${limits.tokenDaysMax} days, when you are invited again, or when
it is withdrawn under “People and access”.`;
}

/** Before we know who asks, the names of locations are nobody's. */
function placesAsked({ locations }: ConsentRequest): string {
  if (locations === undefined) return 'It names no locations.';
  if (locations === 'all') return 'It asks for all locations.';
  const { length: count } = locations.split(' ');
  return `It asks for ${count === 1 ? 'one location' : `${count} locations`}.`;
}

function placesFound(
  asked: ConsentRequest,
  choices: readonly Choice[],
  all: Choices['all'],
): string {
  const { locations } = asked;
  if (locations === undefined || locations === 'all') return placesAsked(asked);
  const names = choices.filter(({ isChosen }) => isChosen).map(labelOf);
  const lacking = all === undefined && names.length < new Set(locations.split(' ')).size;
  const rest = lacking ? ' It asks for others as well, which you cannot grant.' : '';
  return names.length === 0 ? placesAsked(asked) + rest : `It asks for ${names.join(', ')}.${rest}`;
}

function askedText({ application, scopes, fault }: ConsentRequest, where: string): string {
  const wanted = scopes.map(scopeItem).join('');
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
a.main{display:inline-block;padding:.5rem 1.25rem;border-radius:.5rem;text-decoration:none}
a.main{font-weight:600}summary{cursor:pointer}
button.main,a.main{background:var(--main);border-color:var(--main);color:#fff}
label{font-weight:600}.box{display:block;font-weight:400}
fieldset{border:1px solid var(--line);border-radius:.5rem}
[role=alert]{border-left:.25rem solid var(--fault);padding-left:.75rem}`;

function page(title: string, body: string, redirectUri?: string, next?: string): HtmlPage {
  // Browsers apply the policy of forms to the redirect after the form as well.
  const back = redirectUri === undefined ? '' : ` ${new URL(redirectUri).origin}`;
  return htmlPage({
    title,
    style,
    body: `<main>\n<h1>${escapeHtml(title)}</h1>\n${body}\n</main>`,
    formAction: `'self'${back}`,
    ...(next === undefined ? {} : { next }),
  });
}
