/** What a command in a pipeline knows of the others: the text that is piped to it, and what becomes of what it prints. */
import { hidesSecrets } from './listed-environment.ts';
import { listedNames, wordsOf } from './listed-names.ts';
import { isSmallAmount } from './machine-facts.ts';
import type { ShellWord } from './shell-word.ts';
import type { SyntaxNode } from './syntax-node.ts';
import type { Place } from './walk-state.ts';

type Decode = (node: SyntaxNode) => readonly ShellWord[];

/** For the command at `index`. */
export function neighbours(commands: readonly SyntaxNode[], index: number, decode: Decode): Partial<Place> {
  const before = commands.slice(0, index);
  const behind = commands.slice(index + 1).map((command) => wordsOf(command, decode));
  const listed = index === 0 ? undefined : listedNames(before, decode);
  const text = index === 1 ? printedText(wordsOf(commands[0] as SyntaxNode, decode)) : undefined;
  return {
    ...(index === 0 ? {} : { input: 'pipe' as const, inputText: text, listed }),
    takesPart: behind.some((words) => words !== undefined && takesPart(words)),
    hidesSecrets: hidesSecrets(behind),
  };
}

/** `echo TEXT`, `printf 'TEXT\n'`, `printf '%s\n' TEXT…`. */
function printedText(words: readonly string[] | undefined): string | undefined {
  const [program, ...args] = words ?? [];
  if (program === 'echo') {
    const shown = args[0] === '-n' ? args.slice(1) : args;
    return shown.some((word) => word.includes('\\') || /^-[neE]+$/.test(word)) ? undefined : shown.join(' ');
  }
  const [format = '', ...more] = args;
  if (program !== 'printf' || /^-/.test(format)) return undefined;
  if (/^%s(?:\\n)?$/.test(format)) return more.join('\n');
  return more.length > 0 || /%|\\(?!n)/.test(format) ? undefined : format.replaceAll('\\n', '\n');
}

/** `head -n 5`, `head -c 16`: whatever prints to it ends soon. */
function takesPart([program, ...args]: readonly string[]): boolean {
  if (program !== 'head') return false;
  return args.length === 0 || /^(?:-[nc] ?|--(?:lines|bytes)=|-)(\S+)$/.test(args.join(' ')) && isSmallAmount(args.join('').replace(/^(?:-[nc]|--\w+=|-)/, ''));
}
