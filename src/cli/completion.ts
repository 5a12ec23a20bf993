// `tallybook completion`: prints what makes a shell complete commands, options and the values that
// can be listed. Both scripts are made of the tree of commands, so they cannot drift from it.

import { Argument, type Command, type Option } from 'commander';
import { scopes } from '../resources.ts';
import { quoted } from './call.ts';
import { group, locationsOf, scopesOf } from './command.ts';
import type { DocumentedCommand } from './help.ts';

const shells = { bash: bashScript, zsh: zshScript } as const;

export function defineCompletion(program: DocumentedCommand): void {
  group(program, {
    name: 'completion',
    description:
      'Print a script that completes commands, options and their values. For bash put ' +
      'eval "$(tallybook completion bash)" into ~/.bashrc, for zsh the same with zsh into ' +
      '~/.zshrc.',
    example: 'eval "$(tallybook completion bash)"',
  })
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(shells)))
    .action((shell: keyof typeof shells) => {
      process.stdout.write(shells[shell](placesOf(program)));
    });
}

/** A command, with what may follow it. */
interface Place {
  /** Such as ` token create`; empty: the program itself. */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly Word[];
  /** What may follow an option that takes a value; empty: anything, such as a file. */
  readonly values: readonly { readonly option: string; readonly words: readonly string[] }[];
}

interface Word {
  readonly text: string;
  readonly description: string;
}

function placesOf(command: Command, path = ''): Place[] {
  const own: Place = {
    path,
    commands: [
      ...command.commands.map((below) => ({
        text: below.name(),
        description: below.description(),
      })),
      ...(command.commands.length === 0
        ? []
        : [{ text: 'help', description: 'display help for command' }]),
      ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
        argChoices.map((text) => ({ text, description })),
      ),
    ],
    options: [
      ...command.options.map((option) => ({
        text: `--${option.name()}`,
        description: option.description,
      })),
      { text: '--help', description: 'display help for command' },
    ],
    values: command.options
      .filter((option) => option.required)
      .map((option) => ({ option: `--${option.name()}`, words: valuesOf(option) })),
  };
  const below = command.commands.flatMap((one) => placesOf(one, `${path} ${one.name()}`));
  return [own, ...below];
}

function valuesOf({ argChoices, parseArg }: Option): readonly string[] {
  const parse: unknown = parseArg;
  if (parse === scopesOf) return ['all', ...scopes];
  if (parse === locationsOf) return ['all', 'none'];
  return argChoices ?? [];
}

const pathsOf = (places: readonly Place[]) =>
  places
    .filter(({ path }) => path !== '')
    .map(({ path }) => `'${path}'`)
    .join('|');

const casesOf = (places: readonly Place[], line: (place: Place) => string) =>
  places.map((place) => `    '${place.path}') ${line(place)} ;;`).join('\n');

/** The options that take a value, by their command, with what may follow. */
const valueCasesOf = (places: readonly Place[]) =>
  places
    .flatMap(({ path, values }) => values.map((value) => ({ path, ...value })))
    .map(({ path, option, words }) => `    '${path} ${option}') values='${words.join(' ')}' ;;`)
    .join('\n');

/** An option of `--name=value` is three words to bash. Without words of ours it offers files. */
function bashScript(places: readonly Place[]): string {
  const textsOf = (words: readonly Word[]) => words.map(({ text }) => text).join(' ');
  return `# Completion of tallybook for bash.
_tallybook() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} path= word values
  if [[ $before == = ]]; then before=\${COMP_WORDS[COMP_CWORD-2]}; fi
  if [[ $current == = ]]; then before=\${COMP_WORDS[COMP_CWORD-1]} current=; fi
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$path $word" in
    ${pathsOf(places)}) path="$path $word" ;;
    esac
  done
  COMPREPLY=()
  case "$path $before" in
${valueCasesOf(places)}
    *) unset values ;;
  esac
  if [[ -z \${values+set} ]]; then
    case "$path" in
${casesOf(places, ({ commands }) => `values='${textsOf(commands)}'`)}
    esac
    if [[ $current == -* ]]; then
      case "$path" in
${casesOf(places, ({ options }) => `values='${textsOf(options)}'`)}
      esac
    fi
  fi
  COMPREPLY=($(compgen -W "$values" -- "$current"))
}
complete -o default -F _tallybook tallybook
`;
}

function zshScript(places: readonly Place[]): string {
  const describedOf = (words: readonly Word[]) => {
    const items = words.map(({ text, description }) => `${text}:${firstPart(description)}`);
    return `words_=(${items.map(quoted).join(' ')})`;
  };
  return `#compdef tallybook
# Completion of tallybook for zsh.
_tallybook() {
  local path_= word values before=\${words[CURRENT-1]}
  local -a words_
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$path_ $word" in
    ${pathsOf(places)}) path_="$path_ $word" ;;
    esac
  done
  case "$path_ $before" in
${valueCasesOf(places)}
    *) unset values ;;
  esac
  if (( \${+values} )); then
    if [[ -n $values ]]; then compadd -- \${=values}; else _files; fi
    return
  fi
  if [[ $PREFIX == -* ]]; then
    case "$path_" in
${casesOf(places, ({ options }) => describedOf(options))}
    esac
  else
    case "$path_" in
${casesOf(places, ({ commands }) => describedOf(commands))}
    esac
  fi
  if (( $#words_ )); then _describe tallybook words_; else _files; fi
}
if [[ $funcstack[1] == _tallybook ]]; then
  _tallybook "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
  compdef _tallybook tallybook
fi
`;
}

/** As much of a description as fits a line. */
function firstPart(description: string): string {
  const [part = ''] = description.split(/[.;:]/);
  return part.length <= 72 ? part : `${part.slice(0, 71)}…`;
}
