/**
 * SECURITY: where tree-sitter's bash grammar (0.25.1) reads a text otherwise than bash does, the text is written so that both read the same.
 * - It takes a line's first word for an operand of the line before in some places (behind a pipe of four; where it begins with a backslash):
 *   `;` is written for a newline that ends a command.
 * - It reads a backslash at the end of a line otherwise: nothing is written for a newline that is escaped.
 * - It takes the words behind the file of a redirection for files too: they are written before the redirection.
 * What was judged is what runs, so a mistake in here changes what a command means and never what it may do.
 */
import type { SyntaxNode } from './syntax-node.ts';

/** The same command with one such place written out; undefined where there are none. `all`: the nodes of its tree. */
export function normalizeScript(text: string, all: readonly SyntaxNode[]): string | undefined {
  const lines = text.includes('\n') ? (joinContinued(text, all) ?? separateJoined(text, all)) : undefined;
  return lines ?? moveRedirect(text, all);
}

/** Where a backslash ends a line and is none of the shell's: in single quotes and in a here-document whose delimiter is quoted. */
export function strayContinuation(text: string, all: readonly SyntaxNode[]): number | undefined {
  return continuations(text).find((offset) => !isLiteral(innermostAt(all, offset)));
}

function joinContinued(text: string, all: readonly SyntaxNode[]): string | undefined {
  const gone = continuations(text).filter((offset) => {
    const node = innermostAt(all, offset);
    return !(isLiteral(node) || /^(?:comment|ansi_c_string)$/.test(node?.type ?? ''));
  });
  if (gone.length === 0) return undefined;
  return [0, ...gone.map((offset) => offset + 2)].map((from, index) => text.slice(from, gone[index])).join('');
}

/** Offsets of the backslashes. */
function continuations(text: string): readonly number[] {
  if (!text.includes('\\\n')) return [];
  return [...text.matchAll(/(?<!\\)(?:\\\\)*\\\n/g)].map((match) => match.index + match[0].length - 2);
}

function innermostAt(all: readonly SyntaxNode[], offset: number): SyntaxNode | undefined {
  // A node stands behind the ones that it is in.
  return all.findLast((node) => node.startIndex <= offset && offset < node.endIndex);
}

function isLiteral(node: SyntaxNode | undefined): boolean {
  if (node?.type === 'raw_string') return true;
  const start = node?.type === 'heredoc_body' && node.parent?.children.find((child) => child.type === 'heredoc_start');
  return start !== false && start !== undefined && /['"\\]/.test(start.text);
}

const commands = new Set([
  'command',
  'declaration_command',
  'unset_command',
  'redirected_statement',
  'variable_assignment',
  'concatenation',
]);
/** Leaves in which a newline is a character like any other. */
const texts = new Set(['string', 'string_content', 'raw_string', 'ansi_c_string', 'heredoc_body', 'heredoc_content', 'heredoc_end']);

/** For bash a bare newline ends a command: one that stands between the parts of a command, or in a word, is not the command's. */
function separateJoined(text: string, all: readonly SyntaxNode[]): string | undefined {
  const offsets = all.flatMap((node) => (commands.has(node.type) ? newlinesBetweenParts(node) : newlinesInWord(node)));
  const [first] = offsets;
  if (first === undefined) return undefined;
  // A comment before it would take in the `;`.
  const note = all.find((node) => node.type === 'comment' && node.endIndex <= first && text.slice(node.endIndex, first).trim() === '');
  const before = note === undefined ? text.slice(0, first) : text.slice(0, note.startIndex) + ' '.repeat(first - note.startIndex);
  return `${before};${text.slice(first + 1)}`;
}

function newlinesInWord(node: SyntaxNode): readonly number[] {
  const { type, text, startIndex, children } = node;
  if (children.length > 0 || texts.has(type) || text.trim() === '' || isWithin(node)) return [];
  return bareNewlines(text).map((offset) => startIndex + offset);
}

/** Whether the word stands where newlines are blanks or characters. */
function isWithin({ parent }: SyntaxNode): boolean {
  if (parent?.type === 'concatenation') return isWithin(parent);
  return /expansion|expression|array|test_command|subscript|string/.test(parent?.type ?? '');
}

function newlinesBetweenParts({ text, startIndex, children }: SyntaxNode): readonly number[] {
  return children.slice(1).flatMap((child, index) => {
    const from = (children[index]?.endIndex ?? child.startIndex) - startIndex;
    return bareNewlines(text.slice(from, child.startIndex - startIndex)).map((offset) => startIndex + from + offset);
  });
}

function bareNewlines(text: string): readonly number[] {
  return [...text.matchAll(/(?<!\\)(?:\\\\)*\n/g)].map((match) => match.index + match[0].length - 1);
}

const holdWords = new Set([
  'command',
  'declaration_command',
  'unset_command',
  'file_redirect',
  'array',
  'for_statement',
  'redirected_statement',
  'test_command',
]);
const notWords = /^(?:.*_redirect|comment|.*_substitution_start|do_group|variable_name|file_descriptor|subscript)$/;

/** Where the grammar makes two words of one (`.en[\v]`): words with nothing between them. */
export function splitWord(all: readonly SyntaxNode[]): number | undefined {
  for (const { type, namedChildren } of all) {
    if (!holdWords.has(type)) continue;
    const second = namedChildren.find((child, index) => {
      const first = namedChildren[index - 1];
      return first?.endIndex === child.startIndex && !notWords.test(child.type) && !notWords.test(first.type);
    });
    if (second !== undefined) return second.startIndex;
  }
  return undefined;
}

/** `rm > log -rf x` is `rm -rf x > log`. As long as before, so that places stay near. */
function moveRedirect(text: string, all: readonly SyntaxNode[]): string | undefined {
  for (const { type, startIndex, endIndex, children } of all) {
    if (type !== 'file_redirect') continue;
    const [file, other] = children.filter((child) => child.field === 'destination');
    if (file === undefined || other === undefined) continue;
    const redirect = text.slice(startIndex, file.endIndex);
    const gap = text.slice(file.endIndex, other.startIndex);
    return `${text.slice(0, startIndex)}${text.slice(other.startIndex, endIndex)}${gap}${redirect}${text.slice(endIndex)}`;
  }
  return undefined;
}
