// The pages a person sees: show a token, choose what the application may do, and errors. They work
// without scripts, load nothing, and may not be framed. The policy names the one style by its hash
// and the one origin besides ours that the form may lead to.

import { createHash } from 'node:crypto';

export interface HtmlPage {
  readonly html: string;
  readonly policy: string;
}

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
<form method="post" action="${html(asked.action)}">
<label for="token">Your personal access token</label>
<p>It shows that you may grant this. It is checked and not stored.</p>
<input id="token" name="token" type="password" autocomplete="off" required maxlength="200">
<p><button name="decision" value="prove">Continue</button>
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
<form method="post" action="${html(asked.action)}">
<fieldset><legend>Locations at ${html(merchant)}</legend>
${boxes.length === 0 ? '<p>There is no location that you may grant.</p>' : boxes.join('\n')}
</fieldset>
<p>Without a location it cannot read or change stock. What you allow ends when your token ends.</p>
<p><button name="decision" value="allow">Allow</button>
<button name="decision" value="refuse">Refuse</button></p>
</form>`,
    asked.redirectUri,
  );
}

/** For errors that cannot be sent to the application, because its request cannot be trusted. */
export function errorPage(error: string, description: string): HtmlPage {
  return page('This request cannot continue', `<p>${html(description)}</p><p>(${html(error)})</p>`);
}

function askedText({ application, scopes, locations, fault }: ConsentRequest): string {
  const wanted = scopes.map((scope) => `<li>${html(scope)}</li>`).join('');
  const where = locations === undefined ? 'It names no locations.' : `Locations: ${locations}.`;
  return `${fault === undefined ? '' : `<p role="alert">${html(fault)}</p>\n`}<p><strong>${html(
    application,
  )}</strong> asks to act for you with these scopes:</p>
<ul>${wanted}</ul>
<p>${html(where)}</p>`;
}

function box(value: string, label: string, isChosen: boolean): string {
  const checked = isChosen ? ' checked' : '';
  const input = `<input type="checkbox" name="location" value="${html(value)}"${checked}>`;
  return `<label class="box">${input} ${html(label)}</label>`;
}

const style = `body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:3rem auto}
body{padding:0 1rem}
input[type=password]{width:100%;padding:.5rem;font:inherit;box-sizing:border-box}
button{font:inherit;padding:.5rem 1.25rem;margin-right:.5rem}
label{font-weight:600}.box{display:block;font-weight:400}fieldset{border:1px solid #999}
[role=alert]{border-left:.25rem solid #b00020;padding-left:.75rem}`;

const styleHash = createHash('sha256').update(style).digest('base64');

function page(title: string, body: string, redirectUri?: string): HtmlPage {
  const back = redirectUri === undefined ? '' : ` ${new URL(redirectUri).origin}`;
  return {
    html: `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${html(title)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<h1>${html(title)}</h1>
${body}
</body>
</html>
`,
    policy: [
      "default-src 'none'",
      `style-src 'sha256-${styleHash}'`,
      'img-src data:',
      // Browsers apply this to the redirect after the form as well.
      `form-action 'self'${back}`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
  };
}

function html(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
