/** `banksman completions SHELL` and `banksman man`: both made of the commands' records. */
import { version } from '#app/version';
import { badUsage, type CommandRecord, type CommandRun, knownOptions, operands } from './command-line.ts';
import { printText } from './output.ts';
import { shells } from './shell-completions.ts';

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
