// `tallybook app`: the life of OAuth applications. Only the operator makes them. A secret is
// printed once, by the command that made it.

import type { KeySet } from '../access/operator/application-store.ts';
import type { Application, Approval, IssuedApplication } from '../access/operator/applications.ts';
import type { Scope } from '../core/principal.ts';
import { scopes as allScopes } from '../resources.ts';
import { accessBy, locationsCounted, locationsShown, merchantOf, overlapOption } from './access.ts';
import { keySetOf, redirectsOf } from './app-flags.ts';
import { type CommonFlags, define, group, idOf, locationsOf, nameOf, scopesOf } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { members, show, table, timeText } from './output.ts';

interface CreateFlags extends CommonFlags {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly redirectUri: readonly string[];
  readonly jwks?: KeySet;
}

interface ApproveFlags extends CommonFlags {
  readonly merchant: string;
  readonly scopes: readonly Scope[];
  readonly locations: 'all' | readonly string[];
}

const applicationExample = 'app_01k9x3v7c2e4r8t1m5n6p0q9sa';
const merchantExample = 'mer_01k9x3v7c2e4r8t1m5n6p0q9sa';

export function defineApp(program: DocumentedCommand): void {
  const app = group(program, {
    name: 'app',
    description: 'Make OAuth applications, and approve them at merchants.',
    example: 'tallybook app list',
  });
  defineCreate(app);
  define(app, {
    name: 'list',
    description: 'List all applications, the oldest first, disabled ones among them.',
    example: 'tallybook app list --json',
  }).action(list);
  const one = (name: string, description: string, options: string) =>
    define(app, {
      name,
      description,
      example: `tallybook app ${name} ${applicationExample}${options}`,
    }).argument('<application>', 'the application, app_…', idOf('app_'));
  one('show', 'Show an application and where it is approved.', '').action(showOne);
  one('rotate', 'Make a new secret; the one before it ends after the overlap.', ' --overlap 24h')
    .addOption(overlapOption())
    .action(rotate);
  one('disable', 'End an application for good, with all of its tokens everywhere.', '').action(
    disable,
  );
  one(
    'approve',
    'Let an application act at a merchant, or change what it may do there.',
    ` --merchant ${merchantExample} --scopes inventory.read --locations all`,
  )
    .requiredOption('--merchant <merchant>', 'where, mer_…', idOf('mer_'))
    .requiredOption('--scopes <scopes>', 'some of those it was made for, by comma', scopesOf)
    .requiredOption('--locations <locations>', '"all", "none", or IDs, by comma', locationsOf)
    .action(approve);
  one(
    'revoke',
    'End what an application may do at a merchant, from the next request on.',
    ` --merchant ${merchantExample}`,
  )
    .requiredOption('--merchant <merchant>', 'where, mer_…', idOf('mer_'))
    .action(revoke);
}

function defineCreate(app: DocumentedCommand): void {
  define(app, {
    name: 'create',
    description:
      'Make an application and its secret, which is shown this once. With redirect URIs it may ' +
      'act for people who consent; with a key set it signs its requests and has no secret.',
    example:
      'tallybook app create --name "Stock Sync" --scopes inventory.read,inventory.write ' +
      '--redirect-uri https://sync.example.com/callback',
  })
    .requiredOption('--name <name>', 'what people will see', nameOf)
    .requiredOption('--scopes <scopes>', `"all", or some of ${allScopes.join(', ')}`, scopesOf)
    .option('--redirect-uri <uri>', 'where people come back to; may be repeated', redirectsOf, [])
    .option('--jwks <file>', 'its public keys, a JSON Web Key Set, for private_key_jwt', keySetOf)
    .action(create);
}

async function create(flags: CreateFlags): Promise<void> {
  const { name, scopes, redirectUri: redirectUris, jwks } = flags;
  const issued = await withAccess(
    flags,
    (access, { createApplication }) =>
      createApplication(access, { name, scopes, redirectUris, jwks }),
    { mustExist: false },
  );
  await showIssued(flags, issued);
}

async function list(flags: CommonFlags): Promise<void> {
  const applications = await withAccess(flags, async ({ reader }, { allApplications }) => {
    const found: Application[] = [];
    for await (const one of allApplications(reader)) found.push(one);
    return found;
  });
  await show(flags, applications.map(shown), (all) =>
    all.length === 0
      ? 'There is no application yet: make one with "tallybook app create".'
      : table(
          ['Application', 'Name', 'Scopes', 'Redirects', 'Proves itself with', 'Disabled'],
          all.map((one) => [
            one.id,
            one.name,
            one.scopes.length === allScopes.length ? 'all' : one.scopes.join('\n'),
            one.redirect_uris.join('\n'),
            proofText(one),
            one.disabled_at === null ? '' : timeText(one.disabled_at),
          ]),
        ),
  );
}

async function showOne(id: string, flags: CommonFlags): Promise<void> {
  const application = await withAccess(flags, async ({ reader }, access) => ({
    ...shown(await access.applicationById(reader, id)),
    approvals: (await access.approvalsOf(reader, id)).map(shownApproval),
  }));
  await show(flags, application, async (one) =>
    one.approvals.length === 0
      ? `${describe(one)}\n\nIt is approved nowhere: "tallybook app approve" does that.`
      : `${describe(one)}\n\n${await approvalTable(one.approvals)}`,
  );
}

async function rotate(
  id: string,
  flags: CommonFlags & { readonly overlap: number },
): Promise<void> {
  const issued = await withAccess(flags, (access, { rotateSecret }) =>
    rotateSecret(access, id, flags.overlap),
  );
  await showIssued(flags, issued);
}

async function disable(id: string, flags: CommonFlags): Promise<void> {
  const application = await withAccess(flags, (access, functions) => functions.disable(access, id));
  await show(flags, shown(application), (one) => `${one.id} is disabled since ${one.disabled_at}.`);
}

async function approve(id: string, flags: ApproveFlags): Promise<void> {
  const { scopes, locations } = flags;
  const approval = await withAccess(flags, async (access, functions) => {
    const merchant = await merchantOf(access, flags.merchant);
    return functions.approve(access, id, { merchant, scopes, locations });
  });
  await show(flags, shownApproval(approval), (one) => approvalTable([one]));
}

async function revoke(
  id: string,
  flags: CommonFlags & { readonly merchant: string },
): Promise<void> {
  const approval = await withAccess(flags, async (access, functions) => {
    const merchant = await merchantOf(access, flags.merchant);
    return functions.revokeAt(access, id, merchant);
  });
  await show(
    flags,
    shownApproval(approval),
    (one) => `${one.application_id} may do nothing at ${one.merchant_id} since ${one.revoked_at}.`,
  );
}

const withAccess = accessBy(() => import('../access/operator/applications.ts'));

type Shown = ReturnType<typeof shown>;

function shown({ uses_keys, ...application }: Application) {
  return { ...application, client_id: application.id, uses_keys };
}

function shownApproval({ all_locations, location_ids, ...approval }: Approval) {
  return { ...approval, locations: locationsShown({ all_locations, location_ids }) };
}

async function showIssued(flags: CommonFlags, issued: IssuedApplication): Promise<void> {
  const { id, client_id, ...rest } = shown(issued.application);
  const secret = issued.secret ?? null;
  await show(flags, { id, client_id, client_secret: secret, ...rest }, (one) =>
    [
      ...(secret === null
        ? []
        : [
            members([
              ['Client ID', client_id],
              ['Client secret', secret],
            ]),
            'Keep the secret now: it cannot be shown again.',
          ]),
      describe(one),
    ].join('\n\n'),
  );
}

function describe(one: Shown): string {
  return members([
    ['Application', one.id],
    ['Name', one.name],
    ['Scopes', one.scopes.join('\n')],
    ['Redirects', one.redirect_uris.length === 0 ? 'none' : one.redirect_uris.join('\n')],
    ['Proves itself', `with ${proofText(one).replaceAll('\n', '\nwith ')}`],
    ['Created', one.created_at],
    ['Disabled', one.disabled_at ?? 'no'],
  ]);
}

function proofText({ uses_keys, secrets }: Shown): string {
  if (uses_keys) return 'its own key';
  if (secrets.length === 0) return 'nothing any more';
  return secrets
    .map(
      ({ last_four, expires_at }) =>
        `secret …${last_four}${expires_at === null ? '' : ` until ${timeText(expires_at)}`}`,
    )
    .join('\n');
}

function approvalTable(approvals: readonly ReturnType<typeof shownApproval>[]): Promise<string> {
  return table(
    ['Merchant', 'Credential', 'Scopes', 'Locations', 'Revoked'],
    approvals.map((one) => [
      `${one.merchant_id}\n${one.merchant_name}`,
      one.credential_id,
      one.scopes.join('\n'),
      locationsCounted(one.locations),
      one.revoked_at === null ? '' : timeText(one.revoked_at),
    ]),
  );
}
