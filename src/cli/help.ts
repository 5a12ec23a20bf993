// Commands that say everything at once: help marks what is required, names the variables that
// matter and shows an example, and an error names all that is missing, each with what it must be.

import { Command, type ErrorOptions, Help, type Option } from 'commander';
import { type SettingName, settings } from '../config.ts';

/** One command of the tree, and those below it. */
export class DocumentedCommand extends Command {
  /** As one would type it. */
  example = '';
  /** The settings whose variables matter for it. */
  variables: readonly SettingName[] = [];

  override createCommand(name?: string): DocumentedCommand {
    return new DocumentedCommand(name);
  }

  override createHelp(): Help {
    return Object.assign(new DocumentedHelp(), this.configureHelp());
  }

  /** Commander would name the first of what is missing. */
  override error(message: string, options?: ErrorOptions): never {
    const isMissing = /^commander\.missing(Argument|MandatoryOptionValue)$/.test(
      options?.code ?? '',
    );
    super.error(isMissing ? this.#missingText() : inOurWords(message), options);
  }

  #missingText(): string {
    const help = this.createHelp();
    const items = [
      ...this.registeredArguments
        .filter((argument, place) => argument.required && this.args[place] === undefined)
        .map((argument) => [`<${argument.name()}>`, argument.description]),
      ...this.options
        .filter((option) => option.mandatory && isUnset(this, option))
        .map((option) => [option.flags, option.description]),
    ];
    const width = Math.max(...items.map(([term = '']) => term.length));
    const lines = items.map(([term = '', text = '']) => help.formatItem(term, width, text, help));
    return [`error: this is missing:`, ...lines, ...exampleLines(this)].join('\n');
  }
}

function isUnset(command: Command, option: Option): boolean {
  return command.getOptionValue(option.attributeName()) === undefined;
}

/** An invalid value, as commander says it, with the name that the caller typed first. */
function inOurWords(message: string): string {
  return message
    .replace(
      /^error: option '(--[a-z-]+)[^']*' argument '(.*)' is invalid\. /s,
      'error: $1 is "$2". ',
    )
    .replace(
      /^error: command-argument value '(.*)' is invalid for argument '(.*)'\. /s,
      'error: <$2> is "$1". ',
    );
}

class DocumentedHelp extends Help {
  override commandUsage(command: Command): string {
    const required = command.options.filter(({ mandatory }) => mandatory);
    const usage = super.commandUsage(command);
    return usage.replace(
      '[options]',
      [...required.map(({ flags }) => flags), '[options]'].join(' '),
    );
  }

  override visibleOptions(command: Command): Option[] {
    const options = super.visibleOptions(command);
    return [
      ...options.filter(({ mandatory }) => mandatory),
      ...options.filter(({ mandatory }) => !mandatory),
    ];
  }

  override optionDescription(option: Option): string {
    return `${option.mandatory ? '(required) ' : ''}${super.optionDescription(option)}`;
  }

  override formatHelp(command: Command, helper: Help): string {
    const text = super.formatHelp(command, helper);
    if (!(command instanceof DocumentedCommand)) return text;
    return [text.trimEnd(), ...variableLines(command, helper), ...exampleLines(command), ''].join(
      '\n',
    );
  }
}

/** Every setting that the service reads, or some. */
function variableLines({ variables }: DocumentedCommand, helper: Help): string[] {
  if (variables.length === 0) return [];
  const names = variables.map((name) => settings[name].variable);
  const width = Math.max(...names.map((name) => name.length));
  const items = variables.map((name) => {
    const { variable, default: value, meaning } = settings[name];
    const text = `${meaning} Default: ${value}.`.replaceAll('`', '');
    return helper.formatItem(variable, width, text, helper);
  });
  return ['', 'Variables, where no option says otherwise:', ...items];
}

/** What shows the IDs of each kind. */
export const sources = {
  mer_: '"tallybook merchant list"',
  cred_: '"tallybook token list"',
  app_: '"tallybook app list"',
  loc_: '"tallybook location list"',
  cus_: 'GET /api/v1/customers',
} as const;

function exampleLines({ example }: DocumentedCommand): string[] {
  if (example === '') return [];
  const found = Object.entries(sources).filter(([prefix]) => example.includes(` ${prefix}`));
  const people = '"tallybook person list"';
  const sourceOf = (prefix: string, source: string) =>
    prefix === 'cred_' && example.startsWith('tallybook person ') ? people : source;
  const hint = found
    .map(([prefix, source]) => `${sourceOf(prefix, source)} shows yours (${prefix}…)`)
    .join(', ');
  return ['', 'Example:', `  $ ${example}`, ...(hint === '' ? [] : [`  ${hint}.`])];
}
