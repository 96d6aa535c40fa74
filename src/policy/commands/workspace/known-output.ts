/** Command substitutions whose output the words tell well enough: names of files, numbers, dates, commits. */
import { madePlaces } from './fresh-place.ts';
import { everyName, filtered, listedNames, wordsOf } from './listed-names.ts';
import type { ShellWord } from './shell-word.ts';
import type { SyntaxNode } from './syntax-node.ts';

type Decode = (node: SyntaxNode) => ShellWord;

/** Texts that stand for what `$(…)` becomes, or undefined. */
export function knownOutput(node: SyntaxNode, decode: Decode): readonly string[] | undefined {
  const [only, ...more] = node.namedChildren;
  return only === undefined || more.length > 0 ? undefined : outputOf(only, decode);
}

/** Whether it may be nothing at all: no file was found, no commit has a name. */
export function mayPrintNothing({ namedChildren: [only] }: SyntaxNode): boolean {
  return only?.type !== 'command' || !alwaysPrints.test(only.text) || cutsMatched.test(only.text);
}

/** Whether it is one word at most: no names that were listed. */
export function printsOneWord({ namedChildren: [only] }: SyntaxNode): boolean {
  return (
    only?.type === 'command' &&
    /^(?:basename|dirname|nproc|getconf|whoami|hostname|uuidgen|arch|uname|id|date|mktemp|which|command|git (?!ls-files|grep|diff|status|branch(?! --show-current)|tag))/.test(
      only.text,
    )
  );
}

/** Of many names, or of one that is an option. */
const cutsMatched = /^(?:base|dir)name [^'"]*[*?[]/;
const alwaysPrints = /^(?:echo|basename|dirname|nproc|getconf|whoami|hostname|uuidgen|arch|uname|id|date|mktemp)(?:\s|$)/;

function outputOf(only: SyntaxNode, decode: Decode): readonly string[] | undefined {
  const first = withoutFallback(only);
  const parts = first.type === 'pipeline' ? first.namedChildren : [first];
  const names = listedNames(parts, (word) => [decode(word)]);
  if (names !== undefined) return names;
  const lines = parts.map((part) => wordsOf(part, (word) => [decode(word)]));
  const [line, ...filters] = lines;
  if (line === undefined || !lines.every((words) => words !== undefined)) return undefined;
  return filtered(
    printed(line),
    filters.filter((words) => words !== undefined),
  );
}

function printed(line: readonly string[]): readonly string[] | undefined {
  const made = line[0] === 'mktemp' ? madePlaces(line.slice(1)) : undefined;
  return made ?? installedProgram(line) ?? cutName(line) ?? (isToken(line) ? ['1'] : undefined);
}

/** `… || true` only keeps the script from stopping. */
function withoutFallback(node: SyntaxNode): SyntaxNode {
  const [left, right, ...more] = node.namedChildren;
  const isFallback = node.type === 'list' && more.length === 0 && /^(?:true|:)$/.test(right?.text ?? '');
  return isFallback && left !== undefined && node.children.some((child) => child.type === '||') ? left : node;
}

/** `which node`, `command -v node`: where it is installed. */
function installedProgram([program, ...args]: readonly string[]): readonly string[] | undefined {
  const [name = '', ...more] = program === 'command' && args[0] === '-v' ? args.slice(1) : args;
  const isAsked = program === 'which' || (program === 'command' && args[0] === '-v');
  return isAsked && more.length === 0 && /^[\w.+-]+$/.test(name) && !name.startsWith('-') ? [`/usr/bin/${name}`] : undefined;
}

/** `basename x .ts`, `dirname x`: computed. */
function cutName([program, path, suffix, ...more]: readonly string[]): readonly string[] | undefined {
  if (path === undefined || path.startsWith('-') || path.includes(everyName) || more.length > 0) return undefined;
  const plain = path.replace(/(?<=.)\/+$/, '');
  if (program === 'dirname') return suffix === undefined ? [directoryName(plain)] : undefined;
  return program === 'basename' ? [baseName(plain, suffix ?? '')] : undefined;
}

function directoryName(path: string): string {
  return /^(.*[^/])\/+[^/]*$/s.exec(path)?.[1] ?? (path.startsWith('/') ? '/' : '.');
}

function baseName(path: string, suffix: string): string {
  const base = path.slice(path.lastIndexOf('/') + 1);
  return base !== suffix && base.endsWith(suffix) ? base.slice(0, base.length - suffix.length) : base;
}

/** A commit by a name that is no path. */
const revision =
  /^(?:HEAD|@|main|master|develop|trunk|origin\/(?:HEAD|main|master|develop)|v?\d+(?:\.\d+)*|[0-9a-f]{6,40})(?:[~^@]\w*|\{[\w-]*\})*$/;

/** SECURITY: none of these prints text that the command line chose; `date +-delete` and `git rev-parse --x` do, and are not among them. */
const tokens: readonly (readonly [RegExp, RegExp])[] = [
  [/^nproc$/, /^(?:--all)?$/],
  [/^go$/, /^list(?: \.\/\.\.\.)?$/],
  [/^getconf$/, /^_NPROCESSORS_(?:ONLN|CONF)$/],
  [/^(?:whoami|hostname|uuidgen|arch)$/, /^(?:-s)?$/],
  [/^uname$/, /^-[a-z]$/],
  [/^id$/, /^-(?:u|g|un|gn)$/],
  [/^date$/, /^(?:-u |-I |--utc )?(?:\+%-?[A-Za-z](?:%-?[A-Za-z]|[-_:.T])*|-I)$/],
];
const gitTokens: readonly RegExp[] = [
  /^branch --show-current$/,
  /^merge-base \S+ \S+$/,
  /^describe(?: --(?:tags|always|dirty|abbrev=\d+|exact-match))*$/,
  /^rev-list --count \S+$/,
  /^rev-list (?:-n ?1|-1|--max-count=1) (?!-)\S+(?: -- [\w./-]+)?$/,
  /^log -(?:n ?)?1 --(?:format|pretty)=(?:format:)?%[hHtT](?: -- [\w./-]+)?$/,
];

/** It prints one word: a number, a date, a commit, a name of the machine. */
function isToken([program = '', ...args]: readonly string[]): boolean {
  const rest = args.join(' ');
  if (program !== 'git') return tokens.some(([name, words]) => name.test(program) && words.test(rest));
  if (gitTokens.some((words) => words.test(rest))) return true;
  const [verb, ...more] = args;
  return verb === 'rev-parse' && more.every((word) => /^--(?:short(?:=\d+)?|abbrev-ref|verify)$/.test(word) || revision.test(word));
}
