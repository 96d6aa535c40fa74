/** From a word's node to the texts that it can become. Anything that is not understood makes the word unknown, never a guess. */

import type { ShellWord } from './shell-word.ts';
import type { SyntaxNode } from './syntax-node.ts';
import type { Variables } from './variables.ts';

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
}

const unknown: Piece = { values: undefined };
const mostValues = 32;

export function decodeWord(node: SyntaxNode, scope: WordScope): ShellWord {
  const piece = decode(node, scope, false);
  const word = { glob: piece.glob ?? false, quoted: piece.quoted ?? false, offset: node.startIndex, source: node.text };
  return piece.values === undefined ? word : { ...word, values: piece.values };
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
  raw_string: (node) => ({ values: [node.text.slice(1, -1)], quoted: true }),
  string: (node, scope) => ({ ...joined(stringPieces(node, scope)), quoted: true }),
  concatenation: decodeConcatenation,
  simple_expansion: variable,
  expansion: variable,
  command_substitution: (node, scope, inQuotes) =>
    tellsDirectory.test(node.text) ? { values: scope.directories, quoted: inQuotes } : unknown,
  arithmetic_expansion: () => ({ values: ['0'] }),
};

const tellsDirectory = /^(?:\$\( *(?:pwd|git rev-parse --show-toplevel) *\)|` *pwd *`)$/;

function decode(node: SyntaxNode, scope: WordScope, inQuotes: boolean): Piece {
  return Object.hasOwn(decoders, node.type) ? (decoders[node.type]?.(node, scope, inQuotes) ?? unknown) : unknown;
}

function decodeInner(node: SyntaxNode, scope: WordScope, inQuotes: boolean): Piece {
  const [inner, ...more] = node.namedChildren;
  return inner !== undefined && more.length === 0 ? decode(inner, scope, inQuotes) : decodePlain(node.text);
}

/** Unquoted text: backslashes taken away, patterns and braces noticed, a leading `~` resolved. */
function decodePlain(text: string): Piece {
  // Braces expand to several words; which ones decides the shell.
  if (/(?<!\\)\{[^}]*(?:,|\.\.)[^}]*\}/.test(text)) return unknown;
  const glob = /(?<!\\)[*?[]/.test(text);
  const quoted = text.includes('\\');
  const bare = text.replace(/\\([\s\S])/g, '$1');
  return { values: [text.startsWith('~') ? homeOf(bare) : bare], glob, quoted };
}

/** `~`, `~/x`, `~user/x`. */
function homeOf(text: string): string {
  return `${homeDirectory}${text.slice(1)}`;
}

function decodeConcatenation(node: SyntaxNode, scope: WordScope): Piece {
  // `{a,b}` and `{1..3}` expand to several words; `stash@{0}` does not, and parses the same way.
  const bare = node.children.map((child) => (child.children.length === 0 && child.type !== 'raw_string' ? child.text : '_')).join('');
  if (/(?<![\\$])\{[^}]*(?:,|\.\.)[^}]*\}/.test(bare) || /(?<![\\$])\{[^}]*[,.]_?/.test(bare)) return unknown;
  return joined(node.children.map((child) => (child.isNamed ? decode(child, scope, false) : decodePlain(child.text))));
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
  const name = /^\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*)|([?#$]))$/.exec(node.text);
  const values = name === null ? undefined : valuesOf(name[1] ?? name[2] ?? name[3] ?? '', scope);
  if (values === undefined) return unknown;
  // Outside quotes the shell splits the value at blanks and expands its patterns.
  if (!inQuotes && values.some((value) => value === '' || /[\s\\~{]/.test(value))) return unknown;
  return { values, glob: !inQuotes && values.some((value) => /[*?[]/.test(value)), quoted: inQuotes };
}

function valuesOf(name: string, scope: WordScope): readonly string[] | undefined {
  if (/^[?#$]$/.test(name)) return ['0'];
  if (scope.variables.has(name)) return scope.variables.get(name);
  if (name === 'HOME') return [homeDirectory];
  return name === 'PWD' ? scope.directories : undefined;
}

/** Every way to put one value of each piece after the other. */
function joined(pieces: readonly Piece[]): Piece {
  let values: readonly string[] | undefined = [''];
  for (const piece of pieces) {
    const next: readonly string[] | undefined = piece.values;
    values = values === undefined || next === undefined ? undefined : values.flatMap((start) => next.map((end) => start + end));
    if (values !== undefined && values.length > mostValues) values = undefined;
  }
  return { values, glob: pieces.some((piece) => piece.glob), quoted: pieces.some((piece) => piece.quoted) };
}
