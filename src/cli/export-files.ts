// `tallybook export`: writes what a merchant has to files, over HTTP, with the rights of a token.

import { InvalidArgumentError, Option } from 'commander';
import { UsageError } from '../config.ts';
import type { Exportable } from '../exchange/export.ts';
import type { FileFormat } from '../exchange/sheet.ts';
import { group } from './command.ts';
import type { DocumentedCommand } from './help.ts';
import { count, show } from './output.ts';
import { clientOf, defineOverHttp, type HttpFlags, untilInterrupted } from './over-http.ts';

interface ExportFlags extends HttpFlags {
  readonly format?: FileFormat;
  readonly output: string;
  readonly asOf?: string;
  readonly location?: string;
}

/** With what each may be asked for. */
const descriptions: Readonly<Record<Exportable, string>> = {
  products: 'Write all products, archived ones among them. They can be imported as they are.',
  customers: 'Write all customers, archived ones among them. They can be imported as they are.',
  locations: 'Write all granted locations. They can be imported as they are.',
  levels:
    'Write what is at each location, all of one moment: now, unless told. Those of one ' +
    'location can be imported as counts.',
  movements: 'Write all movements, the oldest first.',
  events: 'Write all events, the oldest first.',
};

export function defineExport(program: DocumentedCommand): void {
  const parent = group(program, {
    name: 'export',
    description: 'Write records, levels, movements or events to a file, over HTTP.',
    example: 'tallybook export products --output products.csv',
  });
  for (const [what, description] of Object.entries(descriptions)) {
    const command = defineOverHttp(parent, {
      name: what,
      description,
      example: `tallybook export ${what} --output ${what}.csv`,
    })
      .addOption(
        new Option('--format <format>', 'otherwise what the name of the file says, or csv').choices(
          ['csv', 'ndjson'],
        ),
      )
      .option('--output <file>', 'the file; otherwise standard output', '-')
      .action((flags: ExportFlags) => run(what as Exportable, flags));
    const hasMoments = ['levels', 'movements', 'events'].includes(what);
    if (!hasMoments) continue;
    command
      .option('--as-of <time>', 'as it was at this time, such as 2026-01-31T12:00:00Z', timeOf)
      .option('--location <code>', 'only of this location, by its code');
  }
}

function timeOf(text: string): string {
  if (/^\d{4}-\d{2}-\d{2}T.*(Z|[+-]\d{2}:\d{2})$/i.test(text) && !Number.isNaN(Date.parse(text))) {
    return text;
  }
  throw new InvalidArgumentError('It must be a time such as 2026-01-31T12:00:00Z.');
}

async function run(what: Exportable, flags: ExportFlags): Promise<void> {
  const { output, asOf } = flags;
  const tb = await clientOf(flags);
  const { textsOf } = await import('../exchange/export.ts');
  const { locationByCode } = await import('../exchange/find.ts');
  const { writeOut } = await import('./write-out.ts');
  const format = flags.format ?? formatOf(output);
  const done = await untilInterrupted(async (signal) => {
    const location =
      flags.location === undefined ? undefined : await locationByCode(tb, flags.location, signal);
    let records = 0;
    async function* texts() {
      for await (const part of textsOf(tb, what, { format, asOf, location }, signal)) {
        records += part.records;
        yield part.text;
      }
    }
    await writeOut(texts(), output);
    return records;
  });
  if (done === 'interrupted') throw new Error('interrupted: nothing was kept');
  if (output === '-') return;
  await show(flags, { file: output, records: done }, ({ file, records }) => {
    return `${file} has ${count(records, 'record')}.`;
  });
}

function formatOf(output: string): FileFormat {
  if (output === '-' || /\.csv$/i.test(output)) return 'csv';
  if (/\.(ndjson|jsonl)$/i.test(output)) return 'ndjson';
  throw new UsageError(`${output} ends neither with .csv nor with .ndjson: add --format`);
}
