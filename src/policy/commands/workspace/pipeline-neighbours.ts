/** What a command in a pipeline knows of the others: the text that is piped to it, and what becomes of what it prints. */
import { hidesSecrets } from './listed-environment.ts';
import { listedNames, wordsOf } from './listed-names.ts';
import { isSmallAmount } from './machine-facts.ts';
import type { ShellWord } from './shell-word.ts';
import { childOf, type SyntaxNode } from './syntax-node.ts';
import type { Place } from './walk-state.ts';

type Decode = (node: SyntaxNode) => readonly ShellWord[];

/** For the command at `index`. Only what its words could make use of is worked out. */
export function neighbours(commands: readonly SyntaxNode[], index: number, decode: Decode): Partial<Place> {
  const text = commands[index]?.text ?? '';
  const decodeBehind = () => commands.slice(index + 1).map((command) => wordsOf(withoutOutput(command), decode));
  return {
    ...(index === 0 ? {} : fed(commands, index, decode)),
    takesPart:
      /\/dev\/|\b(?:yes|top|vmstat|iostat)\b/.test(text) && decodeBehind().some((words) => words !== undefined && takesPart(words)),
    hidesSecrets: /\b(?:env|printenv)\b/.test(text) && hidesSecrets(decodeBehind()),
  };
}

/** The command whose output goes to a file, which changes nothing of what it takes. */
function withoutOutput(node: SyntaxNode): SyntaxNode {
  const onlyWrites = node.namedChildren.every((child) => !child.type.endsWith('_redirect') || /^(?:\d|&)?>/.test(child.text));
  return node.type === 'redirected_statement' && onlyWrites ? (childOf(node, 'body') ?? node) : node;
}

function fed(commands: readonly SyntaxNode[], index: number, decode: Decode): Pick<Place, 'input' | 'inputText' | 'listed'> {
  const [first] = commands;
  const isText = index === 1 && /^(?:echo|printf)\b/.test(first?.text ?? '');
  const takesNames = /\b(?:xargs|parallel)\b/.test(commands[index]?.text ?? '');
  return {
    input: 'pipe',
    inputText: isText && first !== undefined ? printedText(wordsOf(first, decode)) : undefined,
    listed: takesNames ? listedNames(commands.slice(0, index), decode) : undefined,
  };
}

/** `echo TEXT`, `printf 'TEXT\n'`, `printf '%s\n' TEXT…`. */
export function printedText(words: readonly string[] | undefined): string | undefined {
  const [program, ...args] = words ?? [];
  if (program === 'echo') return echoed(args[0] === '-n' ? args.slice(1) : args);
  const [format = '', ...more] = args;
  if (program !== 'printf' || format.startsWith('-')) return undefined;
  if (/^%s(?:\\n)?$/.test(format)) return more.join('\n');
  return more.length > 0 || /%|\\(?![nt])/.test(format) ? undefined : format.replaceAll('\\n', '\n').replaceAll('\\t', '\t');
}

function echoed(words: readonly string[]): string | undefined {
  return words.some((word) => word.includes('\\') || /^-[neE]+$/.test(word)) ? undefined : words.join(' ');
}

/** `head -n 5`, `head -c 16`: whatever prints to it ends soon. */
function takesPart([program, ...args]: readonly string[]): boolean {
  if (program !== 'head') return false;
  return (
    args.length === 0 ||
    (/^(?:-[nc] ?|--(?:lines|bytes)=|-)(\S+)$/.test(args.join(' ')) && isSmallAmount(args.join('').replace(/^(?:-[nc]|--\w+=|-)/, '')))
  );
}
