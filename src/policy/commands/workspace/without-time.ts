/**
 * `time` before a command is a word of the shell itself, and what follows may be a group, a loop or a function; tree-sitter's bash grammar
 * (0.25.1) takes it for a program. So it is blanked out for judging: `time X` does what `X` does and prints how long that took.
 */
import type { SyntaxNode } from './syntax-node.ts';

const keyword = /^time(?:[ \t]+-p)?(?=[ \t]+[^-\s])/;

/** The text, as long as before, with each such `time` blanked; undefined where there is none. `all`: the nodes of its tree. */
export function withoutTime(text: string, all: readonly SyntaxNode[]): string | undefined {
  let left = text;
  for (const node of all) {
    const found = startsWithTime(node, text) ? keyword.exec(node.text)?.[0] : undefined;
    if (found !== undefined) left = left.slice(0, node.startIndex) + ' '.repeat(found.length) + left.slice(node.startIndex + found.length);
  }
  return left === text ? undefined : left;
}

/** Behind `|` it is the program of that name. The tree tells only where nothing stands around the command, the text only where no comment does. */
function startsWithTime(node: SyntaxNode, text: string): boolean {
  if (node.type !== 'command' || node.children[0]?.type !== 'command_name') return false;
  const beside = node.parent?.children ?? [];
  const isPiped = /^\|&?$/.test(beside[beside.indexOf(node) - 1]?.type ?? '');
  return !isPiped && !/(?<!\|)\|&?\s*$/.test(text.slice(0, node.startIndex));
}
