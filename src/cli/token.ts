// `tallybook token`: the life of credentials. A token is printed once, by the command that made it;
// afterwards only its last four characters tell it from others. Approvals and consents of OAuth
// applications are credentials, too: their applications get the tokens.

import { InvalidArgumentError, Option } from 'commander';
import type { Credential, IssuedCredential } from '../access/operator/credentials.ts';
import type { Connections } from '../access/transact.ts';
import { UsageError } from '../config.ts';
import { limits } from '../core/limits.ts';
import type { Scope } from '../core/principal.ts';
import { scopes as allScopes } from '../resources.ts';
import {
  accessBy,
  daySeconds,
  locationsCounted,
  locationsShown,
  locationsText,
  merchantOf,
  overlapOption,
} from './access.ts';
import {
  type CommonFlags,
  define,
  durationOf,
  group,
  idOf,
  locationsOf,
  nameOf,
  scopesOf,
} from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { members, show, table, timeText } from './output.ts';
import { definePrune, kindText } from './prune.ts';

type Locations = 'all' | readonly string[];

interface CreateFlags extends CommonFlags {
  readonly merchant: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly locations: Locations;
  readonly expiresIn: number;
}

const merchantExample = 'mer_01k9x3v7c2e4r8t1m5n6p0q9sa';
const credentialExample = 'cred_01k9x3v7c2e4r8t1m5n6p0q9sa';

export function defineToken(program: DocumentedCommand): void {
  const token = group(program, {
    name: 'token',
    description: 'Make, show, rotate, change, revoke and prune tokens and their credentials.',
    example: `tallybook token list --merchant ${merchantExample}`,
  });
  defineCreate(token);
  define(token, {
    name: 'list',
    description: 'List the credentials of a merchant, the oldest first, revoked ones among them.',
    example: `tallybook token list --merchant ${merchantExample} --json`,
  })
    .option(
      '--merchant <merchant>',
      'whose they are, mer_… (required but with --expiring)',
      idOf('mer_'),
    )
    .option('--expiring <time>', 'only tokens that end within such a time, as 14d', durationOf)
    .action(list);
  define(token, {
    name: 'show',
    description: 'Show a credential.',
    example: `tallybook token show ${credentialExample}`,
  })
    .argument('<credential>', 'the credential, cred_…', idOf('cred_'))
    .action(showOne);
  defineChanges(token);
  definePrune(token);
}

function defineCreate(token: DocumentedCommand): void {
  define(token, {
    name: 'create',
    description: 'Make a credential and its token, which is shown this once.',
    example:
      `tallybook token create --merchant ${merchantExample} --name till \\\n` +
      '      --scopes inventory.read,inventory.write --locations all --expires-in 30d',
  })
    .requiredOption('--merchant <merchant>', 'whose records it reaches, mer_…', idOf('mer_'))
    .requiredOption('--name <name>', 'what to call it', nameOf)
    .requiredOption('--scopes <scopes>', `"all", or some of ${allScopes.join(', ')}`, scopesOf)
    .requiredOption('--locations <locations>', '"all", "none", or IDs, by comma', locationsOf)
    .addOption(
      new Option('--expires-in <time>', `how long it is valid, at most ${limits.tokenDaysMax}d`)
        .argParser(lifeOf)
        .default(limits.tokenDaysDefault * daySeconds, `${limits.tokenDaysDefault}d`),
    )
    .action(create);
}

function defineChanges(token: DocumentedCommand): void {
  const change = (name: string, description: string, options: string) =>
    define(token, {
      name,
      description,
      example: `tallybook token ${name} ${credentialExample}${options}`,
    }).argument('<credential>', 'the credential, cred_…', idOf('cred_'));
  change(
    'rotate',
    'Make a new token for the same credential. It is valid for as long as the one before it ' +
      'was; that one ends after the overlap.',
    ' --overlap 24h',
  )
    .addOption(overlapOption())
    .action(rotate);
  change('revoke', 'End a credential for good, from the next request on.', '').action(revoke);
  change('grant', 'Set the locations that a credential reaches.', ' --locations all')
    .requiredOption('--locations <locations>', '"all", "none", or IDs, by comma', locationsOf)
    .action(grant);
  change('scope', 'Set the scopes of a credential.', ' --scopes products.read,inventory.read')
    .requiredOption('--scopes <scopes>', `"all", or some of ${allScopes.join(', ')}`, scopesOf)
    .action(scope);
}

function lifeOf(text: string): number {
  const seconds = durationOf(text);
  if (seconds >= 60 && seconds <= limits.tokenDaysMax * daySeconds) return seconds;
  throw new InvalidArgumentError(`It must be at least 1m and at most ${limits.tokenDaysMax}d.`);
}

async function create(flags: CreateFlags): Promise<void> {
  const { name, scopes, locations, expiresIn } = flags;
  const issued = await withAccess(flags, async (access, { createCredential }) => {
    const merchant = await merchantOf(access, flags.merchant);
    const lifeSeconds = expiresIn;
    return createCredential(access, { merchant, name, scopes, locations, lifeSeconds });
  });
  await showIssued(flags, issued);
}

interface ListFlags extends CommonFlags {
  readonly merchant?: string;
  readonly expiring?: number;
}

async function list(flags: ListFlags): Promise<void> {
  const { merchant: id, expiring } = flags;
  if (id === undefined && expiring === undefined) {
    throw new UsageError(
      'name whose tokens with --merchant mer_…, or those of all that end soon with --expiring 14d',
    );
  }
  const credentials = await withAccess(flags, async (access, functions) => {
    const { reader } = access;
    const found: Credential[] = [];
    for await (const merchant of id === undefined
      ? idsOfMerchants(reader)
      : [await merchantOf(access, id)]) {
      if (expiring === undefined) {
        for await (const one of functions.allCredentials(reader, merchant)) found.push(one);
      } else found.push(...(await functions.endingCredentials(reader, merchant, expiring)));
    }
    return found.map(shown);
  });
  await show(flags, credentials, (all) =>
    all.length === 0
      ? nothingText(flags)
      : table(
          ['Credential', 'Name', 'Scopes', 'Locations', 'Newest token'],
          all.map((one) => [
            one.id,
            [
              one.name,
              kindText(one),
              ...(flags.merchant === undefined ? [one.merchant_id] : []),
            ].join('\n'),
            scopesText(one),
            locationsCounted(one.locations),
            newestText(one),
          ]),
        ),
  );
}

function nothingText({ expiring }: ListFlags): string {
  if (expiring !== undefined) return 'No token ends within that time.';
  return 'The merchant has no token yet: make one with "tallybook token create".';
}

async function* idsOfMerchants(reader: Connections['reader']) {
  const { allMerchants } = await import('../access/operator/merchants.ts');
  for await (const { id } of allMerchants(reader)) yield id;
}

function newestText(one: Shown): string {
  const { last_four, last_used_at, revoked_at, expires_at } = one;
  const end = revoked_at ?? expires_at;
  const used = last_used_at === null ? 'never used' : `used    ${timeText(last_used_at)}`;
  return [
    ...(last_four === null ? [] : [`…${last_four}`]),
    end === null
      ? validity(one)
      : `${validity(one).replace(end, '').trim().padEnd(7)} ${timeText(end)}`,
    used,
  ].join('\n');
}

async function showOne(id: string, flags: CommonFlags): Promise<void> {
  const credential = await withAccess(flags, ({ reader }, access) =>
    access.credentialById(reader, id),
  );
  await show(flags, shown(credential), describe);
}

async function rotate(
  id: string,
  flags: CommonFlags & { readonly overlap: number },
): Promise<void> {
  const issued = await withAccess(flags, (access, { rotateToken }) =>
    rotateToken(access, id, flags.overlap),
  );
  await showIssued(flags, issued);
}

async function revoke(id: string, flags: CommonFlags): Promise<void> {
  const credential = await withAccess(flags, (access, functions) => functions.revoke(access, id));
  await show(flags, shown(credential), (one) => `${one.id} is revoked since ${one.revoked_at}.`);
}

async function grant(
  id: string,
  flags: CommonFlags & { readonly locations: Locations },
): Promise<void> {
  const credential = await withAccess(flags, (access, { changeLocations }) =>
    changeLocations(access, id, flags.locations),
  );
  await show(flags, shown(credential), describe);
}

async function scope(
  id: string,
  flags: CommonFlags & { readonly scopes: readonly Scope[] },
): Promise<void> {
  const credential = await withAccess(flags, (access, { changeScopes }) =>
    changeScopes(access, id, flags.scopes),
  );
  await show(flags, shown(credential), describe);
}

const withAccess = accessBy(() => import('../access/operator/credentials.ts'));

type Shown = ReturnType<typeof shown>;

/** A credential as --json shows it. The token that ends in `last_four` is its newest. */
function shown(credential: Credential) {
  return {
    id: credential.id,
    merchant_id: credential.merchant_id,
    name: credential.name,
    kind: credential.kind,
    application: credential.application,
    approval_id: credential.approval_id,
    scopes: credential.scopes,
    locations: locationsShown(credential),
    created_at: credential.created_at,
    expires_at: credential.expires_at,
    revoked_at: credential.revoked_at,
    last_used_at: credential.last_used_at,
    last_four: credential.last_four,
    valid_tokens: credential.tokens,
  };
}

async function showIssued(flags: CommonFlags, issued: IssuedCredential): Promise<void> {
  const { id, ...rest } = shown(issued.credential);
  await show(flags, { id, token: issued.token, ...rest }, (one) =>
    [
      members([
        ['Credential', id],
        ['Token', one.token],
      ]),
      'Keep the token now: it cannot be shown again.',
      describe(one),
    ].join('\n\n'),
  );
}

function describe(one: Shown): string {
  const tokens = one.valid_tokens.map(
    ({ last_four, expires_at }) => `…${last_four} until ${expires_at}`,
  );
  return members([
    ['Credential', one.id],
    ['Name', one.name],
    ['Kind', kindText(one)],
    ['Merchant', one.merchant_id],
    ['Scopes', scopesText(one)],
    ['Locations', locationsText(one.locations)],
    ['Created', one.created_at],
    ['Last used', one.last_used_at ?? 'never'],
    ['Valid', validity(one)],
    ['Tokens', tokens.length === 0 ? 'none' : tokens.join('\n')],
  ]);
}

function validity({ revoked_at, expires_at, valid_tokens }: Shown): string {
  if (revoked_at !== null) return `revoked ${revoked_at}`;
  if (expires_at === null) return 'without a token';
  return `${valid_tokens.length === 0 ? 'expired' : 'until'} ${expires_at}`;
}

function scopesText({ scopes }: Shown): string {
  return scopes.length === allScopes.length ? 'all' : scopes.join('\n');
}
