/** `parallel -j4 'cmd {}' ::: a b`: the words are a command line, run once for each value (GNU parallel). */
import type { Decision } from '#kernel/decision';
import { askFor } from './findings.ts';
import type { Invocation, Recursion } from './invocation.ts';
import { judgePath } from './judge-path.ts';
import { givenPositionals, unknownPositionals } from './positional.ts';
import { knownWord, type ShellWord, scriptText, single } from './shell-word.ts';

const flags =
  /^(?:-j(?:\d+%?|[+-]\d+)?|--jobs(?:=\S+)?|-[kqtu0mX]+|--(?:keep-order|bar|progress|eta|tag|lb|line-buffer|will-cite|dry-run|dryrun|verbose|ungroup|group|null|quote|no-notice|halt(?:=\S+)?|colsep(?:=\S+)?|timeout(?:=\S+)?|retries(?:=\d+)?|max-args(?:=\d+)?|no-run-if-empty|link|joblog=[\w.-]+)|-[nNL]\d*|-r|-d\S?|-C\S*)$/;
const valued = /^(?:-j|--jobs|--halt|--colsep|--timeout|--retries|--max-args|-[nNL]|-d|-C|--delay)$/;
const mark = /\{(?:\d*|[.#%]|\/{1,2}|\/\.|\d+(?:\.|\/{1,2}|\/\.))\}/g;

/** More are not judged one by one. */
const most = 32;

export function judgeParallel(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { args, offset } = invocation;
  const start = commandStart(args);
  if (start === undefined) return [askFor('unclear', offset, 'an option of `parallel` that is not known')];
  const lists = args.findIndex((word, index) => index >= start && single(word)?.startsWith(':::'));
  const command = args.slice(start, lists < 0 ? undefined : lists);
  const sources = lists < 0 ? [] : args.slice(lists);
  const values = args.slice(0, start).some(cuts) || cutsPaths(command, sources) ? undefined : valuesOf(sources, invocation);
  return [
    ...judgeSources(sources, invocation),
    ...(command.length === 0 ? runEach(values, { invocation, recursion }) : runOn(command, values, { invocation, recursion })),
  ];
}

/** An option that makes several values of one. */
function cuts(word: ShellWord): boolean {
  return /^(?:-[dC]|--(?:colsep|delimiter))/.test(single(word) ?? '');
}

/** `{/}` of `a/..` is `..`. */
function cutsPaths(command: readonly ShellWord[], sources: readonly ShellWord[]): boolean {
  return command.some((word) => /\{\d*\//.test(single(word) ?? '')) && sources.some((word) => /\.\./.test(single(word) ?? '..'));
}

function commandStart(args: readonly ShellWord[]): number | undefined {
  let index = 0;
  for (; index < args.length; index += 1) {
    const text = single(args[index]);
    if (!text?.startsWith('-')) break;
    if (valued.test(text)) index += 1;
    else if (!flags.test(text)) return undefined;
  }
  return index;
}

/** The words behind `:::`; undefined where they come from elsewhere. */
function valuesOf(sources: readonly ShellWord[], { listed, offset }: Invocation): readonly ShellWord[] | undefined {
  if (sources.length === 0) return listed?.map((name) => knownWord(name, { offset, source: name }));
  if (sources.some((word) => single(word)?.startsWith('::::'))) return undefined;
  return sources.filter((word) => !/^:::\+?$/.test(single(word) ?? ''));
}

/** `:::: names.txt` reads a file. */
function judgeSources(sources: readonly ShellWord[], { scope }: Invocation): readonly Decision[] {
  const at = sources.findIndex((word) => single(word)?.startsWith('::::'));
  const files = at < 0 ? [] : sources.slice(at + 1);
  return files.flatMap(({ values = [], glob, offset }) => values.flatMap((text) => judgePath({ text, glob, offset }, 'read', scope)));
}

interface Run {
  readonly invocation: Invocation;
  readonly recursion: Recursion;
}

/** Without a command each value is one. */
function runEach(values: readonly ShellWord[] | undefined, { invocation, recursion }: Run): readonly Decision[] {
  const texts = values?.map(scriptText) ?? [undefined];
  if (texts.length > most || !texts.every((text) => text !== undefined))
    return [askFor('runs_other_code', invocation.offset, 'commands for `parallel` that are not known before it runs')];
  return texts.flatMap((text) => recursion.script(text, invocation, unknownPositionals));
}

/** What is put in for a mark is one word of the script, which `parallel` quotes. */
function runOn(
  command: readonly ShellWord[],
  values: readonly ShellWord[] | undefined,
  { invocation, recursion }: Run,
): readonly Decision[] {
  const { offset } = invocation;
  const texts = command.map(scriptText);
  const line = texts.every((text) => text !== undefined) ? texts.join(' ') : undefined;
  const script = line === undefined ? undefined : withMarks(line);
  if (script === undefined || (values?.length ?? 0) > most)
    return [askFor('unclear', offset, 'a command that is not known before it runs')];
  const name = knownWord('sh', { offset, source: 'sh' });
  const unknown: ShellWord = { glob: false, quoted: true, offset, source: '{}' };
  return (values ?? [unknown]).flatMap((word) => recursion.script(script, invocation, givenPositionals([name, word])));
}

/** The command with `$1` for each mark; undefined where one stands in single quotes, whose text another program reads. */
function withMarks(line: string): string | undefined {
  if (line.search(mark) < 0) return `${line} "$1"`;
  let isText = false;
  const script = line.replace(mark, (_mark, index: number) => {
    const before = line.slice(0, index).replace(/\\./g, '');
    const inSingle = /^(?:[^'"]|'[^']*'|"[^"]*")*'[^']*$/.test(before);
    isText ||= inSingle;
    return /^(?:[^'"]|'[^']*'|"[^"]*")*"[^"]*$/.test(before) ? '$1' : '"$1"';
  });
  return isText ? undefined : script;
}
