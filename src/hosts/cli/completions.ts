/** `banksman completions bash` and `banksman man`: both made of the commands' records. */
import { catalog } from '#app/catalog';
import { version } from '#app/version';
import { badUsage, type CommandRecord, type CommandRun, everywhere, knownOptions, operands, optionsOf } from './command-line.ts';
import { printText } from './output.ts';

/** @param commands the table, which this cannot import: it is loaded from there */
export function completionsOf(commands: readonly CommandRecord[]): CommandRun {
  return (words) => {
    const [shell = ''] = operands(words, ['SHELL']);
    if (shell !== 'bash') throw badUsage(`there are completions for \`bash\`, not for \`${shell}\``);
    printText(bashCompletions(commands));
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

/** One way to call a command, taken apart. */
interface Form {
  /** `approvals show`, or `call`. */
  readonly verb: string | undefined;
  /** What may stand where the first operand does; empty where it is a person's own word. */
  readonly operand: readonly string[];
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

/** `relaxed|strict` → both; `TOOL` → their names; another word in capitals is a person's own. */
function choicesOf(word: string | undefined): readonly string[] {
  if (word === 'TOOL') return catalog.map(({ name }) => name);
  return (word ?? '').split('|').filter((choice) => /^[a-z][a-z-]*$/.test(choice));
}

function bashCompletions(commands: readonly CommandRecord[]): string {
  const valued = Object.entries(knownOptions).flatMap(([name, { type }]) => (type === 'string' ? [`--${name}`] : []));
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
      ${valued.join('|')}) ((i++)) ;;
      -*) ;;
      *) words+=("\${COMP_WORDS[i]}") ;;
    esac
  done
  COMPREPLY=()
  case "\${words[0]} $previous" in
${commands.flatMap(valueCases).join('\n')}
    *' --config' | *' --output') COMPREPLY=($(compgen -f -- "$current")); return ;;
    *' --state') COMPREPLY=($(compgen -d -- "$current")); return ;;
  esac
  case $previous in
    ${valued.join('|')}) return ;;
  esac
  case "\${words[*]}" in
${offerCase(
  "''",
  commands.map(({ name }) => name),
  everywhere,
)}
${commands.flatMap(wordCases).join('\n')}
  esac
}
complete -o filenames -F _banksman banksman`;
}

/** After an option whose value is one of a few words, or a file. */
function valueCases({ name, usage }: CommandRecord): readonly string[] {
  const values = new Map(usage.flatMap((line) => [...formOf(line).values]));
  return [...values].flatMap(([option, value = '']) => {
    const choices = choicesOf(value);
    const reply = value === 'FILE' ? '-f' : value === 'DIR' ? '-d' : choices.length > 1 ? `-W '${choices.join(' ')}'` : undefined;
    return reply === undefined ? [] : [`    '${name} --${option}') COMPREPLY=($(compgen ${reply} -- "$current")); return ;;`];
  });
}

/** After a command, and after a command and its verb. */
function wordCases(command: CommandRecord): readonly string[] {
  const forms = command.usage.map(formOf);
  const verbs = [...new Set(forms.flatMap(({ verb }) => verb ?? []))];
  const deeper = verbs.flatMap((verb) => {
    const same = forms.filter((form) => form.verb === verb);
    const options = [...same.flatMap(({ values }) => [...values.keys()]), ...everywhere];
    const typed = `${command.name} ${verb}`;
    return [
      offerCase(
        `'${typed}'`,
        same.flatMap(({ operand }) => operand),
        options,
      ),
      offerCase(`'${typed} '*`, [], options),
    ];
  });
  const first = forms.flatMap(({ verb, operand }) => verb ?? operand);
  return [
    ...deeper,
    offerCase(`'${command.name}'`, first, [...optionsOf(command)]),
    offerCase(`'${command.name} '*`, [], [...optionsOf(command)]),
  ];
}

function offerCase(typed: string, words: readonly string[], options: readonly string[]): string {
  return `    ${typed}) _banksman_offer '${[...new Set(words)].join(' ')}' '${[...new Set(options)].map((option) => `--${option}`).join(' ')}' ;;`;
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
