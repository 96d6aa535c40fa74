/**
 * Names of files that a command prints, as far as its words tell: `find src -name '*.ts'`, `git ls-files`, and filters behind them that
 * only choose lines. What stands for the names is judged as they would be; the tree itself is not looked at.
 */
import { commonSecrets, hintsAtSecret } from '../../paths/secret-files.ts';
import { listedByGit } from './listed-by-git.ts';
import { type ShellWord, single } from './shell-word.ts';
import { childOf, childrenOf, type SyntaxNode } from './syntax-node.ts';

type Decode = (node: SyntaxNode) => readonly ShellWord[];

/** Stands for all names in a directory, when nothing in the words chooses among them. */
export const everyName = '*every listed name*';
const secretName = '.env';
/** Before a name in a list of changes; what is behind it is the file. */
const changed = 'M ';

/** What a pipeline of plain commands lists, or undefined. */
export function listedNames(commands: readonly SyntaxNode[], decode: Decode): readonly string[] | undefined {
  const lines = commands.map((command) => wordsOf(command, decode));
  const [first, ...filters] = lines;
  if (first === undefined || !lines.every((line) => line !== undefined)) return undefined;
  return filtered(
    namesFrom(first),
    filters.filter((line) => line !== undefined),
  );
}

/** The words of a simple command; undefined for anything else. */
export function wordsOf(node: SyntaxNode, decode: Decode): readonly string[] | undefined {
  if (node.type !== 'command' || node.namedChildren.some((child) => /^(?:variable_assignment|.*_redirect)$/.test(child.type)))
    return undefined;
  const name = childOf(node, 'name');
  const words = [...(name === undefined ? [] : decode(name)), ...childrenOf(node, 'argument').flatMap(decode)].map(single);
  return words.every((word) => word !== undefined) ? words : undefined;
}

/** Programs that print names by themselves: an argument that spoils that, or one that is needed for it. */
const listers: Readonly<Record<string, { readonly not?: RegExp; readonly needs?: RegExp }>> = {
  ls: { not: /^-[A-Za-z]*[lsinoghZFR]|^--/ },
  fd: { not: /^(?:-[A-Za-z]*[xXlL0]|--(?!hidden$|no-ignore$|type|extension|exclude|max-depth))/ },
  fdfind: { not: /^(?:-[A-Za-z]*[xXlL0]|--(?!hidden$|no-ignore$|type|extension|exclude|max-depth))/ },
  rg: { needs: /^(?:-[a-z0]*l[a-z0]*|--files(?:-with(?:out)?-match(?:es)?)?)$/ },
  grep: { needs: /^(?:-[A-Za-z]*[lL][A-Za-z]*|--files-with(?:out)?-match(?:es)?)$/ },
};

/** Programs whose words tell their names in a way of its own. */
const ownWays: Readonly<Record<string, (args: readonly string[]) => readonly string[] | undefined>> = {
  find: namesFromFind,
  git: (args) => {
    const listed = listedByGit(args);
    return listed === 'files' ? chosen(args) : listed === 'changes' ? [`${changed}${everyName}`] : listed;
  },
  // Packages, each by its path.
  go: (args) => (/^list(?: -f \{\{\.(?:ImportPath|Dir)\}\})? \.\/\.\.\.$/.test(args.join(' ')) ? ['./pkg'] : undefined),
  echo: (args) => (args.every((arg) => !/^-|\s/.test(arg)) ? args : undefined),
  printf: ([format = '', ...args]) =>
    /^%s(?:\\[n0]|\n)$/.test(format) && args.length > 0 && args.every((arg) => !/^-|\s/.test(arg)) ? shownNames(args) : undefined,
  seq: (args) => (args.every((arg) => /^(?:-w|-?\d{1,6})$/.test(arg)) ? ['1'] : undefined),
};

/** What one command lists, its words decoded. */
function namesFrom([program = '', ...args]: readonly string[]): readonly string[] | undefined {
  const own = Object.hasOwn(ownWays, program) ? ownWays[program] : undefined;
  if (own !== undefined) return own(args);
  const lister = Object.hasOwn(listers, program) ? listers[program] : undefined;
  if (lister === undefined || args.some((arg) => lister.not?.test(arg))) return undefined;
  return program === 'ls' ? namesFromLs(args) : namesWhere(lister.needs, args);
}

/** Whether empty lines stand among the names: `ls` prints them between directories. */
export function printsBlankLines(command: SyntaxNode, decode: Decode): boolean {
  const [program, ...args] = wordsOf(command, decode) ?? [];
  const operands = args.filter((arg) => !arg.startsWith('-'));
  return program === 'ls' && (operands.length > 1 || operands.some((arg) => /[*?[]/.test(arg)));
}

function namesWhere(needs: RegExp | undefined, args: readonly string[]): readonly string[] | undefined {
  return needs === undefined || args.some((arg) => needs.test(arg)) ? chosen(args) : undefined;
}

function namesFromLs(args: readonly string[]): readonly string[] {
  return args.some((arg) => /[*?.]/.test(arg) && !arg.startsWith('-')) ? shownNames(args) : chosen(args);
}

/** `ls *.txt a.md`: of files the names are shown as they were given. */
function shownNames(args: readonly string[]): readonly string[] {
  const operands = args.filter((arg) => !arg.startsWith('-'));
  return operands.map((name) => (meetsSecret(name) ? secretName : /^[*?/.]+$/.test(name) ? everyName : name));
}

/** Some name, or a secret's where a word chooses one. */
function chosen(args: readonly string[]): readonly string[] {
  return [args.some((arg) => hintsAtSecret(arg)) ? secretName : everyName];
}

function namesFromFind(words: readonly string[]): readonly string[] | undefined {
  const args = withoutSearch(words);
  if (args.some((arg) => /^-(?:f?printf|f?ls|fprint0?|exec(?:dir)?|ok(?:dir)?)$/.test(arg))) return undefined;
  return foundNames(args);
}

/** `find … -exec grep -l x {} +` prints names that `find` meets. */
function withoutSearch(args: readonly string[]): readonly string[] {
  const start = args.indexOf('-exec');
  const end = args.findIndex((arg, index) => index > start && /^[;+]$/.test(arg));
  const [program = '', ...words] = start < 0 || end < 0 ? [] : args.slice(start + 1, end);
  const lists = /^[ef]?grep$/.test(program) && words.some((word) => /^-[A-Za-z]*l[A-Za-z]*$/.test(word));
  return lists ? [...args.slice(0, start), ...args.slice(end + 1)] : args;
}

/** What `find` meets with these words. */
export function foundNames(words: readonly string[]): readonly string[] {
  const args = words.slice(words.findIndex((word) => !/^-(?:[HLP]|O\d)$/.test(word)));
  const end = args.findIndex((arg) => /^[-(!]/.test(arg));
  const starts = end === 0 || args.length === 0 ? ['.'] : args.slice(0, end < 0 ? args.length : end);
  const patterns = [...together(args.filter((_arg, index) => chooses(args, index)))];
  const limited = args.some((arg) => /^-(?:empty|[acm](?:time|min)|size|newer\w*|perm|user|group|i?regex|links)$/.test(arg))
    ? ['found']
    : [everyName];
  const expressions = args.filter((_arg, index) => /^-i?regex$/.test(args[index - 1] ?? ''));
  if (expressions.some((expression) => hintsAtSecret(expression.replaceAll('\\', '')))) patterns.push(secretName);
  const names =
    patterns.length > 0 ? patterns.map((pattern) => (meetsSecret(pattern) ? secretName : whereItStands(pattern, args))) : limited;
  if (starts.length * names.length > mostFound) return [secretName];
  return starts.flatMap((start) => [
    ...(mayBeMet(start, patterns) ? [/[*?[]/.test(start) && meetsSecret(start) ? secretName : start] : []),
    ...names.map((name) => `${start.replace(/\/+$/, '')}/${name}`),
  ]);
}

/** More are taken for the worst of them. */
const mostFound = 128;

/** SECURITY: `find` meets what it starts from, too: `find id_* -exec cat {} +` reads files and goes through no directory. */
function mayBeMet(start: string, patterns: readonly string[]): boolean {
  const name = start.slice(start.lastIndexOf('/') + 1);
  if (/^\.{0,2}$/.test(name)) return false;
  return patterns.length === 0 || /[*?[]/.test(name) || patterns.some((pattern) => pattern.includes('/') || matches(name, pattern));
}

function matches(name: string, pattern: string): boolean {
  return patternOf(pattern)?.test(name) ?? true;
}

/** Names that tell of a control file by themselves: the directory in which nearly every workspace has one. */
const controlled: readonly (readonly [RegExp, string])[] = [
  [/^(?:(?:pre|post)-(?:commit|push|merge|checkout|rebase|rewrite|receive)|(?:prepare-)?commit-msg)$/, '.git/hooks/'],
  [/^config$/, '.git/'],
  [/^(?:tasks|launch|settings)\.json$/, '.vscode/'],
];

/** SECURITY: a search of the whole workspace for `pre-commit` meets the hook, unless its words speak of the directory. */
function whereItStands(pattern: string, args: readonly string[]): string {
  const starts = args[0] === '.' || args[0] === './' || args[0]?.startsWith('-') === true;
  const directory = starts ? controlled.find(([names]) => names.test(pattern))?.[1] : undefined;
  return directory === undefined || args.some((arg) => arg.includes(directory.slice(0, 4))) ? pattern : `${directory}${pattern}`;
}

/** Whether the pattern names a secret, or is written so that it matches one (`.e*`, `.?nv`, `*.p[e]m`). */
export function meetsSecret(pattern: string): boolean {
  if (hintsAtSecret(pattern)) return true;
  const name = pattern.slice(pattern.lastIndexOf('/') + 1);
  if (!/[*?[]/.test(name) || /^[*?]+$/.test(name) || name.length > 40) return false;
  const matcher = patternOf(name);
  return matcher === undefined || commonSecrets.some((sample) => matcher.test(sample));
}

/** A shell's pattern for one name; undefined where it is none. */
function patternOf(pattern: string): RegExp | undefined {
  const shape = pattern.replace(/\[!?[^\]]+\]|[?*]|[^\w]/g, (part) =>
    part === '*' ? '.*' : part === '?' ? '.' : part.length > 1 ? part.replace('[!', '[^') : `\\${part}`,
  );
  try {
    return new RegExp(`^${shape}$`, 'i');
  } catch {
    return undefined;
  }
}

/** Patterns of paths with those of names below them: `-path '*\/.git/*' -name config` is `.git/config`. */
function together(patterns: readonly string[]): readonly string[] {
  const paths = patterns.filter((pattern) => pattern.includes('/')).map((path) => path.replace(/^\/+/, ''));
  const names = patterns.filter((pattern) => !pattern.includes('/'));
  if (paths.length === 0 || names.length === 0) return [...paths, ...names];
  return paths.flatMap((path) => names.map((name) => `${path.replace(/[^/]*$/, '')}${name}`));
}

/** Whether the word is a pattern that what is found must match. */
function chooses(args: readonly string[], index: number): boolean {
  if (!/^-i?(?:name|path|wholename)$/.test(args[index - 1] ?? '') || /^(?:!|-not)$/.test(args[index - 2] ?? '')) return false;
  const isLeftOut = args[index + 1] === '-prune' && /^-o(?:r)?$/.test(args[index + 2] ?? '');
  return /[^*?]/.test(args[index] ?? '') && !isLeftOut;
}

/** What filters leave: ones that choose lines and change none. */
export function filtered(names: readonly string[] | undefined, filters: readonly (readonly string[])[]): readonly string[] | undefined {
  let left = names;
  for (const [program = '', ...args] of filters) {
    if (left === undefined) return undefined;
    left =
      left.some((name) => name.startsWith(changed)) && takesName(program, args)
        ? left.map((name) => name.slice(changed.length))
        : leftBy(left, program, args);
  }
  return left?.some((name) => name.startsWith(changed)) ? undefined : left;
}

function leftBy(names: readonly string[], program: string, args: readonly string[]): readonly string[] | undefined {
  if (!keepsLines(program, args)) return undefined;
  const picks = /^(?:[ef]?grep|rg)$/.test(program) && !args.some((arg) => /^(?:-[A-Za-z]*v[A-Za-z]*|--invert-match)$/.test(arg));
  if (picks && args.some((arg) => hintsAtSecret(arg))) return [secretName];
  return picks || /^(?:head|tail)$/.test(program) ? names.map((name) => name.replace(everyName, 'found')) : names;
}

/** `awk '{print $2}'` takes the name out of a line of changes. */
function takesName(program: string, args: readonly string[]): boolean {
  const words = args.join(' ');
  if (program === 'awk') return /^\{ ?print \$(?:2|NF);? ?\}$/.test(words);
  return (program === 'cut' && /^(?:-c ?[34]-|-f ?2-?)$/.test(words)) || (program === 'sed' && /^s\/\^\.\.\.\/\/$/.test(words));
}

function keepsLines(program: string, args: readonly string[]): boolean {
  if (/^[ef]?grep$/.test(program))
    return args.filter((arg) => !arg.startsWith('-')).length === 1 && args.every((arg) => /^(?:-[EFGPivwx]+|-e|[^-].*)$/.test(arg));
  if (/^(?:head|tail)$/.test(program)) return args.every((arg) => /^(?:-n|-?\+?\d+|-n\d+)$/.test(arg));
  return /^(?:sort|uniq|tac|shuf|cat)$/.test(program) && args.every((arg) => /^-[ufrnVz]+$/.test(arg));
}
