/** `banksman completions SHELL` and `banksman man`: both made of the commands' records. */

import { catalog } from '#app/catalog';
import { mcpClients } from '#app/clients/mcp-clients';
import { version } from '#app/version';
import { hookAgents } from '#hosts/hook/agents';
import { badUsage, type CommandRecord, type CommandRun, everywhere, knownOptions, operands, optionsOf } from './command-line.ts';
import { printText } from './output.ts';

/** @param commands the table, which this cannot import: it is loaded from there */
export function completionsOf(commands: readonly CommandRecord[]): CommandRun {
  return (words) => {
    const [shell = ''] = operands(words, ['SHELL']);
    const script = new Map(Object.entries(shells)).get(shell);
    if (script === undefined)
      throw badUsage(
        `there are completions for ${Object.keys(shells)
          .map((name) => `\`${name}\``)
          .join(', ')}, not for \`${shell}\``,
      );
    printText(script(commands));
    return 0;
  };
}

export function manOf(commands: readonly CommandRecord[]): CommandRun {
  return (words) => {
    operands(words, []);
    printText(manPage(commands));
    return 0;
  };
}

/** In man(7)'s macros. */
function manPage(commands: readonly CommandRecord[]): string {
  const title = `.TH BANKSMAN 1 "" "banksman ${version}" "Banksman"`;
  const name = [
    '.SH NAME',
    'banksman \\- the agent tool layer for Proxmox VE clusters and code',
    '.SH SYNOPSIS',
    '.B banksman',
    '.I COMMAND',
    '\\&...',
  ];
  const options = Object.entries(knownOptions).flatMap(([option, { help }]) => ['.TP', `.B \\-\\-${roff(option)}`, roff(help)]);
  const status = ['.SH EXIT STATUS', '0 ok, 1 error, 2 denied or refused, 3 pending.'];
  return [title, ...name, '.SH COMMANDS', ...commands.flatMap(manSection), '.SH OPTIONS', ...options, ...status].join('\n');
}

function manSection({ name, summary, usage, notes = '' }: CommandRecord): readonly string[] {
  const lines = usage.flatMap((line) => ['.br', `.B banksman ${roff(line)}`]);
  return [`.SS ${roff(name)}`, roff(summary), '.PP', ...lines.slice(1), ...(notes === '' ? [] : ['.PP', roff(notes.replaceAll('`', ''))])];
}

/** As text and nothing else: no line begins with a control character, a hyphen is one, and all is ASCII. */
function roff(text: string): string {
  const plain = text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^(?=[.'])/gm, '\\&');
  return plain.replaceAll(/[^\n -~]/g, (character) => `\\[u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`);
}

// What can be typed next, by the commands' records, as scripts for three shells.

/** A word that can be typed, and what it is for where that is known. */
interface Choice {
  readonly word: string;
  readonly help: string;
}

/** One way to call a command, taken apart. */
interface Form {
  /** `approvals show`, or `call`. */
  readonly verb: string | undefined;
  /** What may stand where the first operand does; empty where it is a person's own word. */
  readonly operand: readonly Choice[];
  /** By option: `json|mcp`, `FILE`, …; undefined: it takes no value. */
  readonly values: ReadonlyMap<string, string | undefined>;
}

const optionInUsage = /--([a-z-]+)(?:\s+(?![-|])(\S+))?/g;

function formOf(line: string): Form {
  const text = line.replace(/\s+\(.*$/, '').replaceAll(/[[\]…]/g, '');
  const values = new Map(Array.from(text.matchAll(optionInUsage), ([, name = '', value]) => [name, value] as const));
  const [, first = '', second] = text
    .replaceAll(optionInUsage, '')
    .split(/\s+/)
    .filter((word) => word !== '|');
  const verb = /^[a-z-]+$/.test(first) ? first : undefined;
  return { verb, operand: choicesOf(verb === undefined ? first : second), values };
}

/** Words in capitals that stand for names which are known. */
const named: Readonly<Record<string, readonly Choice[]>> = {
  TOOL: catalog.map(({ name, title }) => ({ word: name, help: title })),
  AGENT: hookAgents.map(({ name, title }) => ({ word: name, help: title })),
  CLIENT: mcpClients.map(({ id, name }) => ({ word: id, help: name })),
};

/** `relaxed|strict` → both; another word in capitals than those above is a person's own. */
function choicesOf(word = ''): readonly Choice[] {
  return named[word] ?? withoutHelp(word.split('|').filter((choice) => /^[a-z][a-z-]*$/.test(choice)));
}

function withoutHelp(words: readonly string[]): readonly Choice[] {
  return words.map((word) => ({ word, help: '' }));
}

/** What can follow the words (not options) that were typed. */
interface Offer {
  readonly typed: string;
  /** Whether it is about more words behind those, too. */
  readonly further?: true;
  readonly words: readonly Choice[];
  readonly options: readonly Choice[];
}

function offers(commands: readonly CommandRecord[]): readonly Offer[] {
  const first = commands.map(({ name, summary }) => ({ word: name, help: summary.replace(/\.$/, '') }));
  return [{ typed: '', words: first, options: optionChoices(everywhere) }, ...commands.flatMap(offersOf)];
}

/** After a command, and after a command and its verb. */
function offersOf(command: CommandRecord): readonly Offer[] {
  const forms = command.usage.map(formOf);
  const verbs = [...new Set(forms.flatMap(({ verb }) => verb ?? []))];
  const deeper = verbs.flatMap((verb) => {
    const same = forms.filter((form) => form.verb === verb);
    const options = optionChoices([...same.flatMap(({ values }) => [...values.keys()]), ...everywhere]);
    const words = same.flatMap(({ operand }) => operand);
    return afterWords(`${command.name} ${verb}`, words, options);
  });
  const first = forms.flatMap(({ verb, operand }) => (verb === undefined ? operand : withoutHelp([verb])));
  return [...deeper, ...afterWords(command.name, first, optionChoices([...optionsOf(command)]))];
}

function afterWords(typed: string, words: readonly Choice[], options: readonly Choice[]): readonly Offer[] {
  const once = [...new Map(words.map((choice) => [choice.word, choice])).values()];
  return [
    { typed, words: once, options },
    { typed, further: true, words: [], options },
  ];
}

function optionChoices(names: readonly string[]): readonly Choice[] {
  const help: ReadonlyMap<string, string> = new Map(Object.entries(knownOptions).map(([name, option]) => [name, option.help]));
  return [...new Set(names)].map((name) => ({ word: `--${name}`, help: help.get(name) ?? '' }));
}

/** What an option of one command takes: a file, a folder, or one of some words. */
interface ValueOffer {
  readonly command: string;
  readonly option: string;
  readonly takes: 'file' | 'folder' | readonly Choice[];
}

function valueOffers({ name, usage }: CommandRecord): readonly ValueOffer[] {
  const values = new Map(usage.flatMap((line) => [...formOf(line).values]));
  return [...values].flatMap(([option, value = '']) => {
    const choices = choicesOf(value);
    const takes = value === 'FILE' ? 'file' : value === 'DIR' ? 'folder' : choices.length > 1 ? choices : undefined;
    return takes === undefined ? [] : [{ command: name, option, takes }];
  });
}

/** Options that take a value. */
function valued(): readonly string[] {
  return Object.entries(knownOptions).flatMap(([name, { type }]) => (type === 'string' ? [`--${name}`] : []));
}

function onlyWords(choices: readonly Choice[]): string {
  return choices.map(({ word }) => word).join(' ');
}

function bash(commands: readonly CommandRecord[]): string {
  const value = ({ command, option, takes }: ValueOffer) =>
    `    '${command} --${option}') COMPREPLY=($(compgen ${takes === 'file' ? '-f' : takes === 'folder' ? '-d' : `-W '${onlyWords(takes)}'`} -- "$current")); return ;;`;
  const offer = ({ typed, further, words, options }: Offer) =>
    `    ${further ? `'${typed} '*` : `'${typed}'`}) _banksman_offer '${onlyWords(words)}' '${onlyWords(options)}' ;;`;
  return `# Completions of banksman ${version} for bash: source this, or keep it as /usr/share/bash-completion/completions/banksman.
_banksman_offer() {
  local offered=$1
  [[ $current == -* ]] && offered=$2
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
}
_banksman() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words=() i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case \${COMP_WORDS[i]} in
      ${valued().join('|')}) [[ \${COMP_WORDS[++i]} == = ]] && ((i++)) ;;
      -*) ;;
      *) words+=("\${COMP_WORDS[i]}") ;;
    esac
  done
  [[ $previous == = ]] && previous=\${COMP_WORDS[COMP_CWORD-2]}
  [[ $current == = ]] && current=
  COMPREPLY=()
  case "\${words[0]} $previous" in
${commands.flatMap(valueOffers).map(value).join('\n')}
    *' --config' | *' --output') COMPREPLY=($(compgen -f -- "$current")); return ;;
    *' --state') COMPREPLY=($(compgen -d -- "$current")); return ;;
  esac
  case $previous in
    ${valued().join('|')}) return ;;
  esac
  case "\${words[*]}" in
${offers(commands).map(offer).join('\n')}
  esac
}
complete -o filenames -F _banksman banksman`;
}

/** For `_describe`: the word, a colon, what it is for. */
function described(choices: readonly Choice[]): string {
  const one = ({ word, help }: Choice) => (help === '' ? word : `${word.replaceAll(':', '\\:')}:${help}`);
  return choices.map((choice) => `'${one(choice).replaceAll("'", "'\\''")}'`).join(' ');
}

function zsh(commands: readonly CommandRecord[]): string {
  const value = ({ command, option, takes }: ValueOffer) =>
    `    '${command} --${option}') ${takes === 'file' ? '_files' : takes === 'folder' ? '_files -/' : `offered=(${described(takes)}); _describe value offered`}; return ;;`;
  const offer = ({ typed, further, words, options }: Offer) =>
    `    ${further ? `'${typed} '*` : `'${typed}'`}) offered=(${described(words)}) options=(${described(options)}) ;;`;
  return `#compdef banksman
# Completions of banksman ${version} for zsh: source this behind compinit, or keep it as _banksman in a folder of $fpath.
_banksman() {
  local -a typed offered options
  local previous=$words[CURRENT-1] current=$words[CURRENT] i
  for ((i = 2; i < CURRENT; i++)); do
    case $words[i] in
      ${valued().join('|')}) ((i++)) ;;
      -*) ;;
      *) typed+=("$words[i]") ;;
    esac
  done
  if [[ $current == --*=* ]]; then
    previous=\${current%%=*}
    compset -P 1 '*='
  fi
  case "$typed[1] $previous" in
${commands.flatMap(valueOffers).map(value).join('\n')}
    *' --config' | *' --output') _files; return ;;
    *' --state') _files -/; return ;;
  esac
  case $previous in
    ${valued().join('|')}) return ;;
  esac
  case "$typed" in
${offers(commands).map(offer).join('\n')}
  esac
  if [[ $current == -* ]]; then
    _describe -o option options
  else
    _describe word offered
  fi
}
if [[ $funcstack[1] == _banksman ]]; then
  _banksman "$@"
else
  compdef _banksman banksman
fi`;
}

/** A word a line, a tab, what it is for. */
function listed(choices: readonly Choice[]): string {
  if (choices.length === 0) return 'true';
  const words = choices.map(({ word, help }) => `'${`${word}${help === '' ? '' : `\t${help}`}`.replaceAll(/[\\']/g, '\\$&')}'`);
  return `printf '%s\\n' ${words.join(' ')}`;
}

/** What an option of a command takes, by both: fish has a line's last word whole, as `--format=j`. */
function fishValues(commands: readonly CommandRecord[]): string {
  const value = ({ command, option, takes }: ValueOffer) =>
    `    case '${command} --${option}'\n      ${takes === 'file' ? '__fish_complete_path $argv[2]' : takes === 'folder' ? '__fish_complete_directories $argv[2]' : listed(takes)}`;
  return `function __banksman_values
  switch $argv[1]
${commands.flatMap(valueOffers).map(value).join('\n')}
    case '* --config' '* --output'
      __fish_complete_path $argv[2]
    case '* --state'
      __fish_complete_directories $argv[2]
    case '*'
      return 1
  end
  return 0
end`;
}

function fish(commands: readonly CommandRecord[]): string {
  const offer = ({ typed, further, words, options }: Offer) =>
    `    case '${typed}${further ? ' *' : ''}'\n      if test $dash = yes\n        ${listed(options)}\n      else\n        ${listed(words)}\n      end`;
  return `# Completions of banksman ${version} for fish: source this, or keep it as ~/.config/fish/completions/banksman.fish.
${fishValues(commands)}
function __banksman_offer
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l previous $words[-1]
  set -e words[1]
  set -l typed
  set -l skip no
  for word in $words
    if test $skip = yes
      set skip no
      continue
    end
    switch $word
      case ${valued().join(' ')}
        set skip yes
      case '-*'
      case '*'
        set -a typed $word
    end
  end
  set -l value $current
  set -l before ''
  if string match -q -- '--*=*' $current
    set previous (string split -m 1 = -- $current)[1]
    set before $previous=
    set value (string replace -- $before '' $current)
  end
  if set -l values (__banksman_values "$typed[1] $previous" $value)
    for one in $values
      echo $before$one
    end
    return
  end
  if contains -- $previous ${valued().join(' ')}
    return
  end
  set -l dash no
  string match -q -- '-*' $current; and set dash yes
  switch "$typed"
${offers(commands).map(offer).join('\n')}
  end
end
complete -c banksman -f -a '(__banksman_offer)'`;
}

export const shells: Readonly<Record<'bash' | 'zsh' | 'fish', (commands: readonly CommandRecord[]) => string>> = { bash, zsh, fish };
