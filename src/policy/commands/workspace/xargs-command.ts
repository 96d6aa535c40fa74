/** `xargs`: a command on the words that are piped in, on names where they tell that. */
import type { Decision } from '#kernel/decision';
import { askFor } from './findings.ts';
import type { Invocation, Recursion } from './invocation.ts';
import { judgePath } from './judge-path.ts';
import { runOn } from './run-on-names.ts';
import { knownWord, single } from './shell-word.ts';

/** `xargs X`: X on the words that are piped in. */
export function judgeXargs(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { args, offset, listed } = invocation;
  const texts = args.map((word) => single(word) ?? '-');
  const start = texts.findIndex((text, index) => !text.startsWith('-') && !/^-(?:n|P|I|L|d|s|E|a)$/.test(texts[index - 1] ?? ''));
  const options = start < 0 ? texts : texts.slice(0, start);
  // A word that is not known could be the command.
  const known = options.every((text) => text !== '-' && (!text.startsWith('-') || xargsOptions.test(text)));
  const program = start < 0 ? '' : (texts[start] ?? '');
  if (!known) return [askFor('unclear', offset, '`xargs` with an option that is not known')];
  if (options.includes('-a')) return judgeSource(invocation, recursion);
  // Without a command it prints.
  if (program === '') return [];
  const inner: Invocation = { ...invocation, program, args: args.slice(start + 1), input: 'none', listed: undefined };
  return runOnListed(inner, { listed: listed ?? [undefined], options }, recursion);
}

interface Given {
  readonly listed: readonly (string | undefined)[];
  readonly options: readonly string[];
}

function runOnListed(inner: Invocation, { listed, options }: Given, recursion: Recursion): readonly Decision[] {
  const mark = markOf(options);
  const names = listed.map((name) => (name !== undefined && isTaken(name, options.join(' ')) ? name : undefined));
  if (mark !== undefined) return runOn(inner, { names, mark }, recursion);
  const each = runOn(inner, { names }, recursion);
  if (names.length < 2) return each;
  // Beside each other an option and its value.
  const together = names.flatMap((name) => (name === undefined ? [] : [knownWord(name, { offset: inner.offset, source: name })]));
  return [...each, ...recursion.invocation({ ...inner, args: [...inner.args, ...together] })];
}

/** SECURITY: it takes quotes and backslashes away itself, and cuts names where `-d` says. */
function isTaken(name: string, options: string): boolean {
  if (/(?:^| )-d/.test(options)) return /(?:^| )-d ?(?:\n|\\n|\\0)(?: |$)/.test(options);
  return /(?:^| )-(?:\w*0|-null)/.test(options) || !/['"\\]/.test(name);
}

/** `xargs -a FILE X`: X on words that nobody knows. */
function judgeSource(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { args, scope, offset } = invocation;
  const at = args.findIndex((word) => single(word) === '-a');
  const source = single(args[at + 1]);
  if (source === undefined) return [askFor('unclear', offset, '`xargs -a` without a file')];
  const rest = { ...invocation, args: args.filter((_word, index) => index !== at && index !== at + 1), listed: undefined };
  return [...judgePath({ text: source, glob: false, offset }, 'read', scope), ...judgeXargs(rest, recursion)];
}

const xargsOptions = /^-(?:0|r|t|x|a|n\d*|P\d*|I\S*|L\d*|d\S*|s\d*|0?r?n?\d*|-null|-no-run-if-empty|-max-args=\d+|-max-procs=\d+)$/;

/** What stands for the name with `-I`. */
function markOf(options: readonly string[]): string | undefined {
  const index = options.findIndex((text) => text.startsWith('-I'));
  return index < 0 ? undefined : options[index]?.slice(2) || (options[index + 1] ?? '{}');
}
