// `tallybook person`: lets people in, lists and revokes them. It takes the write path of the
// interface: what a command does, an owner can do in the console.

import { Option } from 'commander';
import { roles } from '../access/roles.ts';
import { readConfig, UsageError } from '../config.ts';
import type { JsonObject } from '../contract/json.ts';
import type { OperationType } from '../contract/resource.ts';
import { locationsCounted, locationsShown, locationsText } from './access.ts';
import {
  type CommonFlags,
  define,
  group,
  idOf,
  locationsOf,
  nameOf,
  withStore,
} from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { everyPage } from './listing.ts';
import { members, show, table, timeText } from './output.ts';
import { urlOf } from './status.ts';

interface ListFlags extends CommonFlags {
  readonly merchant: string;
}

interface InviteFlags extends ListFlags {
  readonly name: string;
  readonly role: string;
  readonly locations: 'all' | readonly string[];
  readonly url?: string;
}

type AgainFlags = CommonFlags & Pick<InviteFlags, 'url'>;

interface Person {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly all_locations: boolean;
  readonly location_ids: readonly string[];
  readonly status: string;
  readonly invitation: string | null;
  readonly invitation_expires_at: string | null;
  readonly last_used_at: string | null;
}

const urlOption = ['--url <url>', 'where people reach the service (default: its own URL)'] as const;

export function definePerson(program: DocumentedCommand): void {
  const person = group(program, {
    name: 'person',
    description: 'Invite, list and revoke the people who work at a merchant.',
    example: 'tallybook person list --merchant mer_01k9x3v7c2e4r8t1m5n6p0q9sa',
  });
  define(person, {
    name: 'invite',
    description:
      'Let somebody in: prints a link, and a QR code of it, that is good once, for ten minutes.',
    example:
      'tallybook person invite --merchant mer_01k9x3v7c2e4r8t1m5n6p0q9sa ' +
      '--name "Ada Lovelace" --role owner',
    variables: ['host', 'port', 'publicUrl', 'tlsCert', 'tlsKey'],
  })
    .requiredOption('--merchant <merchant>', 'where the person works, mer_…', idOf('mer_'))
    .requiredOption('--name <name>', 'what to call the person', nameOf)
    .addOption(
      new Option('--role <role>', 'what the person may do').choices(roles).makeOptionMandatory(),
    )
    .option('--locations <locations>', '"all", "none", or IDs, by comma', locationsOf, 'all')
    .option(...urlOption)
    .action(invite);
  define(person, {
    name: 'reinvite',
    description:
      'The same for a person who has lost a device, or was revoked. What they signed in with ends.',
    example: 'tallybook person reinvite cred_01k9x3v7c2e4r8t1m5n6p0q9sa',
    variables: ['host', 'port', 'publicUrl', 'tlsCert', 'tlsKey'],
  })
    .argument('<person>', 'the person, cred_…', idOf('cred_'))
    .option(...urlOption)
    .action(reinvite);
  define(person, {
    name: 'list',
    description: 'List the people of a merchant, those who are revoked among them.',
    example: 'tallybook person list --merchant mer_01k9x3v7c2e4r8t1m5n6p0q9sa --json',
  })
    .requiredOption('--merchant <merchant>', 'where they work, mer_…', idOf('mer_'))
    .action(list);
  define(person, {
    name: 'revoke',
    description:
      'End what a person may do, from the next request on. The last owner of a merchant stays.',
    example: 'tallybook person revoke cred_01k9x3v7c2e4r8t1m5n6p0q9sa',
  })
    .argument('<person>', 'the person, cred_…', idOf('cred_'))
    .action(revoke);
}

async function invite(flags: InviteFlags): Promise<void> {
  const { merchant, name, role, locations } = flags;
  const where = locations === 'all' ? { all_locations: true } : { location_ids: [...locations] };
  const origin = originFor(flags);
  const person = await perform(flags, merchant, 'people.invite', { name, role, ...where });
  await showInvited(flags, person, origin);
}

async function reinvite(id: string, flags: AgainFlags): Promise<void> {
  const origin = originFor(flags);
  await showInvited(flags, await performOn(flags, id, 'people.invite_again', {}), origin);
}

async function revoke(id: string, flags: CommonFlags): Promise<void> {
  const person = await performOn(flags, id, 'people.update', { status: 'revoked' });
  await show(flags, person, ({ name }) => `${name} is revoked.`);
}

function perform(
  flags: CommonFlags,
  merchant: string,
  type: OperationType,
  body: JsonObject,
  id?: string,
): Promise<Person> {
  return withStore(flags, async ({ database, secret }) => {
    const { createService } = await import('../app.ts');
    const service = createService({ database, secret });
    const options = id === undefined ? {} : { id };
    return (await service.performAsOperator(merchant, type, body, options)).data as Person;
  });
}

async function performOn(
  flags: CommonFlags,
  id: string,
  type: OperationType,
  body: JsonObject,
): Promise<Person> {
  const merchant = await withStore(flags, async ({ database }) => {
    const { credentialById } = await import('../access/operator/credentials.ts');
    return (await credentialById(database.reader, id)).merchant_id;
  });
  return perform(flags, merchant, type, body, id);
}

/** Read before anything is done: a link that leads nowhere would have to be made again. */
function originFor({ url, ...flags }: AgainFlags): string {
  const config = readConfig(flags);
  const origin = url ?? config.publicUrl ?? urlOf(config);
  if (/^https?:\/\/[^/]+$/.test(origin)) return origin;
  throw new UsageError('--url must be an origin such as https://shop.example.com');
}

async function showInvited(flags: CommonFlags, person: Person, origin: string): Promise<void> {
  const { id, name, role, invitation, invitation_expires_at: expires_at } = person;
  // Behind the #: no server and no proxy sees it there.
  const link = `${origin}/console/invitation#${invitation}`;
  const { renderUnicodeCompact } = await import('uqr');
  await show(flags, { id, name, role, link, expires_at }, () =>
    [
      members([
        ['Person', id],
        ['Name', name],
        ['Role', role],
        ['Locations', locationsText(locationsShown(person))],
        ['Link', link],
        ['Valid', `once, until ${expires_at}`],
      ]),
      renderUnicodeCompact(link),
    ].join('\n\n'),
  );
}

async function list(flags: ListFlags): Promise<void> {
  const people = await withStore(flags, ({ database }) =>
    everyPage<Person>(database, flags.merchant, 'people.list'),
  );
  await show(flags, people, (all) =>
    all.length === 0
      ? 'Nobody works there yet: let somebody in with "tallybook person invite".'
      : table(
          ['Person', 'Name', 'Role', 'Locations', 'Status', 'Last used'],
          all.map((one) => [
            one.id,
            one.name,
            one.role,
            locationsCounted(locationsShown(one)),
            one.status,
            one.last_used_at === null ? 'never' : timeText(one.last_used_at),
          ]),
        ),
  );
}
