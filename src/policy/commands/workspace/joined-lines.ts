/**
 * SECURITY: behind a pipe of four and more, tree-sitter's bash grammar (0.25.1) takes the first word of the next line for an operand:
 * `a | b | c | d` and then `cd && rm -rf x` has `d cd` in its tree. For bash a bare newline ends a command, so a tree in which one stands
 * between the parts of a command is not the command's.
 */
import type { SyntaxNode } from './syntax-node.ts';

const commands = new Set(['command', 'declaration_command', 'unset_command', 'redirected_statement']);

/** The text with `;` for each such newline, which means the same to bash; undefined where there is none. Offsets stay as they are. */
export function separateLines(text: string, all: readonly SyntaxNode[]): string | undefined {
  const offsets = all.filter((node) => commands.has(node.type)).flatMap(newlinesBetweenParts);
  if (offsets.length === 0) return undefined;
  const characters = text.split('');
  for (const offset of offsets) characters[offset] = ';';
  return characters.join('');
}

function newlinesBetweenParts({ text, startIndex, children }: SyntaxNode): readonly number[] {
  return children.slice(1).flatMap((child, index) => {
    const from = (children[index]?.endIndex ?? child.startIndex) - startIndex;
    const between = text.slice(from, child.startIndex - startIndex);
    return [...between.matchAll(/(?<!\\)(?:\\\\)*\n/g)].map((match) => startIndex + from + match.index + match[0].length - 1);
  });
}
