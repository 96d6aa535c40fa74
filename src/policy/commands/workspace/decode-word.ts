/** From a word's node to the texts that it can become. Anything that is not understood makes the word unknown, never a guess. */

import { type BracePiece, expandBraces } from './expand-braces.ts';
import { expandParameter } from './expand-parameter.ts';
import { isSetAt } from './is-set-at.ts';
import { knownOutput, mayPrintNothing, printsOneWord } from './known-output.ts';
import { everyName } from './listed-names.ts';
import type { ShellWord } from './shell-word.ts';
import type { SyntaxNode } from './syntax-node.ts';
import type { Variables, VariableValue } from './variable-value.ts';

/** Where `~` and `$HOME` lead: no path below it is in a workspace. */
export const homeDirectory = '/home/~';

export interface WordScope {
  readonly variables: Variables;
  /** Absolute paths that `$PWD` and `$(pwd)` can be. */
  readonly directories: readonly string[];
}

interface Piece {
  readonly values: readonly string[] | undefined;
  readonly glob?: boolean;
  readonly quoted?: boolean;
  readonly hollow?: boolean;
  /** Each value may be a word of its own. */
  readonly splits?: boolean;
  readonly names?: boolean;
}

const unknown: Piece = { values: undefined };
const mostValues = 32;

export function decodeWord(node: SyntaxNode, scope: WordScope): ShellWord {
  return asWord(decode(node, scope, false), node);
}

/** The words that one word of the command line becomes: several where braces expand. */
export function decodeWords(node: SyntaxNode, scope: WordScope): readonly ShellWord[] {
  const list = elements(node, scope) ?? echoed(node, scope);
  if (list !== undefined) return list;
  if (!node.text.includes('{') || !/^(?:concatenation|brace_expression|word)$/.test(node.type)) return [decodeWord(node, scope)];
  const expanded = expandBraces(bracePieces(node));
  if (expanded === undefined) return [asWord(unknown, node)];
  // `{,a}` is `a` alone.
  return expanded
    .filter((pieces) => pieces.length > 0)
    .map((pieces) => asWord(pieces.some(runsOn) ? unknown : ofPieces(pieces, scope), node));
}

/** SECURITY: braces come before variables, so `$x{a,b}` is `$xa` and `$xb`. */
function runsOn({ node }: BracePiece, index: number, pieces: readonly BracePiece[]): boolean {
  const next = pieces[index + 1];
  return node?.type === 'simple_expansion' && next?.node === undefined && /^\w/.test(next?.text ?? '');
}

/** `"${NAME[@]}"` and `"$@"`, alone in their word, each become the elements as they were written. */
function elements(node: SyntaxNode, { variables }: WordScope): readonly ShellWord[] | undefined {
  const { type, text, startIndex } = node;
  if (type !== 'string' || text.length > 60) return undefined;
  const found = /^"\$(?:\{([A-Za-z_]\w*)\[@\]\}|\{?(@)\}?)"$/.exec(text);
  const name = found?.[1] ?? found?.[2] ?? '';
  const value = variables.get(name);
  if (value?.list === undefined || isMissing(value, name, node)) return undefined;
  return value.list.map((word) => ({ ...word, offset: startIndex }));
}

/** `$(echo a b)` are two words. */
function echoed(node: SyntaxNode, scope: WordScope): readonly ShellWord[] | undefined {
  if (node.type !== 'command_substitution' || !printsLine.test(node.text)) return undefined;
  const piece = substituted(node, scope, false);
  return piece.values?.map((value) => asWord({ ...piece, values: [value], glob: /[*?[]/.test(value) }, node));
}

/** Whether it may be without the value there. */
function isMissing({ removals }: VariableValue, name: string, use: SyntaxNode): boolean {
  return removals !== undefined && !isSetAt(use, { name, removals });
}

function asWord(
  { values, glob = false, quoted = false, hollow = false, names = false }: Piece,
  { startIndex, text }: SyntaxNode,
): ShellWord {
  const word = { glob, quoted, hollow, names, offset: startIndex, source: text };
  // SECURITY: no value at all (`$(echo)`) is not none to judge.
  return values === undefined || values.length === 0 ? word : { ...word, values };
}

type Decoder = (node: SyntaxNode, scope: WordScope, inQuotes: boolean) => Piece;

const plain: Decoder = (node) => decodePlain(node.text);
const decoders: Readonly<Record<string, Decoder>> = {
  command_name: decodeInner,
  extglob_pattern: decodeInner,
  word: plain,
  number: plain,
  test_operator: plain,
  regex: plain,
  ansi_c_string: (node) => {
    const inner = node.text.slice(2, -1);
    // Only what stands for a blank or itself; numbers of characters stay unknown.
    if (!/^(?:[^\\]|\\[tn'"\\])*$/.test(inner)) return unknown;
    return { values: [inner.replace(/\\(.)/g, (_all, sign: string) => ({ t: '\t', n: '\n' })[sign] ?? sign)], quoted: true };
  },
  raw_string: (node) => ({ values: [node.text.slice(1, -1)], quoted: true }),
  string: (node, scope) => ({ ...joined(stringPieces(node, scope)), quoted: true }),
  concatenation: decodeConcatenation,
  brace_expression: decodeConcatenation,
  simple_expansion: variable,
  expansion: variable,
  command_substitution: substituted,
  arithmetic_expansion: () => ({ values: ['0'] }),
};

const tellsDirectory = /^(?:\$\( *(?:pwd|git rev-parse --show-toplevel) *\)|` *pwd *`)$/;

const printsLine = /^(?:\$\(|`) *echo /;

function substituted(node: SyntaxNode, scope: WordScope, inQuotes: boolean): Piece {
  const isSplit = (values: readonly string[]) => !inQuotes && values.some((value) => /\s/.test(value.replace(everyName, 'listed')));
  if (tellsDirectory.test(node.text)) return isSplit(scope.directories) ? unknown : { values: scope.directories, quoted: inQuotes };
  const words = knownOutput(node, (word) => decodeWord(word, scope));
  if (words === undefined || isSplit(words)) return unknown;
  const names = !printsOneWord(node);
  const printed = { quoted: inQuotes, hollow: mayPrintNothing(node), names };
  // In quotes the words of `echo` stay one.
  if (inQuotes) return { ...printed, values: printsLine.test(node.text) ? [words.join(' ')] : words };
  return { ...printed, values: words, glob: words.some((word) => /[*?[]/.test(word.replace(everyName, 'listed'))), splits: names };
}

function decode(node: SyntaxNode, scope: WordScope, inQuotes: boolean): Piece {
  return Object.hasOwn(decoders, node.type) ? (decoders[node.type]?.(node, scope, inQuotes) ?? unknown) : unknown;
}

function decodeInner(node: SyntaxNode, scope: WordScope, inQuotes: boolean): Piece {
  const [inner, ...more] = node.namedChildren;
  return inner !== undefined && more.length === 0 ? decode(inner, scope, inQuotes) : decodePlain(node.text);
}

/** Nearly every word: nothing in it is a backslash, a pattern or a leading `~`. */
const unchanged = /^[\w./:=@%+,-]*$/;

/** Unquoted text: backslashes taken away, patterns noticed, a `~` at the start of the word resolved. Braces are expanded by then. */
function decodePlain(text: string, startsWord = true): Piece {
  if (unchanged.test(text)) return { values: [text], glob: false, quoted: false };
  const glob = /(?<!\\)[*?[]/.test(text);
  const quoted = text.includes('\\');
  const bare = text.replace(/\\([\s\S])/g, '$1');
  // `~`, `~/x`, `~user/x`
  return { values: [startsWord && text.startsWith('~') ? `${homeDirectory}${bare.slice(1)}` : bare], glob, quoted };
}

function decodeConcatenation(node: SyntaxNode, scope: WordScope): Piece {
  const expanded = node.text.includes('{') ? expandBraces(bracePieces(node)) : [bracePieces(node)];
  const [pieces, ...more] = expanded ?? [];
  return pieces === undefined || more.length > 0 ? unknown : ofPieces(pieces, scope);
}

const unquoted = /^(?:word|number|extglob_pattern|regex|test_operator)$/;

/** `{a,b}` and `{1..3}` expand to several words; `stash@{0}` does not, and parses the same way. */
function bracePieces(node: SyntaxNode): readonly BracePiece[] {
  if (node.type !== 'concatenation') return [{ text: node.text, literal: false }];
  return node.children.flatMap((child): readonly BracePiece[] => {
    if (child.type === 'brace_expression' || !child.isNamed || unquoted.test(child.type)) return [{ text: child.text, literal: false }];
    return [{ text: child.text, literal: true, node: child }];
  });
}

function ofPieces(pieces: readonly BracePiece[], scope: WordScope): Piece {
  return joined(pieces.map(({ text, node }, index) => (node === undefined ? decodePlain(text, index === 0) : decode(node, scope, false))));
}

/** The parts of a double-quoted string, text between the nodes included (the grammar leaves out blanks beside expansions). */
function stringPieces(node: SyntaxNode, scope: WordScope): readonly Piece[] {
  const pieces: Piece[] = [];
  const end = node.endIndex - 1;
  let at = node.startIndex + 1;
  for (const child of node.children.slice(1, -1)) {
    if (child.startIndex > at) pieces.push(unescaped(node.text.slice(at - node.startIndex, child.startIndex - node.startIndex)));
    pieces.push(
      child.type === 'string_content' ? unescaped(child.text) : child.isNamed ? decode(child, scope, true) : unescaped(child.text),
    );
    at = child.endIndex;
  }
  if (end > at) pieces.push(unescaped(node.text.slice(at - node.startIndex, end - node.startIndex)));
  return pieces;
}

function unescaped(text: string): Piece {
  return { values: [text.replace(/\\([$`"\\])/g, '$1')] };
}

function variable(node: SyntaxNode, scope: WordScope, inQuotes: boolean): Piece {
  // The grammar takes a blank between two expansions into the second.
  const text = node.text.trimStart();
  const found = expandParameter(text, (name) => valuesOf(name, scope, node));
  if (found === undefined) return unknown;
  const { glob, hollow = false, names = glob } = found;
  const values = found.values.map((value) => node.text.slice(0, node.text.length - text.length) + value);
  // Outside quotes the shell splits the value at blanks and expands its patterns.
  const bare = inQuotes ? [] : values.map((value) => value.replace(everyName, 'listed'));
  if (bare.some((value) => value === '' || /[\s\\~{]/.test(value))) return unknown;
  return { values, glob: glob || bare.some((value) => /[*?[]/.test(value)), quoted: inQuotes, hollow, names: names || glob };
}

function valuesOf(name: string, scope: WordScope, use: SyntaxNode): VariableValue | 'unknown' | 'unset' {
  if (/^[?#$]$/.test(name)) return { values: ['0'], glob: false };
  if (scope.variables.has(name)) {
    const value = scope.variables.get(name);
    if (value === undefined) return 'unknown';
    return isMissing(value, name, use) ? { ...value, values: [...value.values, ''] } : value;
  }
  if (name === 'HOME') return { values: [homeDirectory], glob: false };
  return name === 'PWD' ? { values: scope.directories, glob: false } : 'unset';
}

/** Every way to put one value of each piece after the other. */
function joined(pieces: readonly Piece[]): Piece {
  const [only, ...more] = pieces;
  const some = (flag: 'glob' | 'quoted' | 'names') => pieces.some((piece) => piece[flag]);
  const flags = { glob: some('glob'), quoted: some('quoted'), names: some('names') };
  if (only !== undefined && more.length === 0) return { values: only.values, ...flags, hollow: only.hollow === true };
  // SECURITY: `a$(echo b /c)` is `ab` and `/c`.
  return pieces.some((piece) => piece.splits) ? unknown : { values: everyJoint(pieces), ...flags };
}

function everyJoint(pieces: readonly Piece[]): readonly string[] | undefined {
  let joints: readonly string[] = [''];
  for (const { values, hollow } of pieces) {
    const next = hollow ? [...(values ?? []), ''] : values;
    joints = next === undefined ? [] : joints.flatMap((start) => next.map((end) => start + end));
    if (joints.length === 0 || joints.length > mostValues) return undefined;
  }
  return joints;
}
