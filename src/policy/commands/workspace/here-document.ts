/**
 * SECURITY: where a here-document ends. tree-sitter's bash grammar (0.25.1) takes `E;x` for a delimiter, and ends a here-document where its delimiter
 * is not, or not alone in its line.
 */
import type { SyntaxNode } from './syntax-node.ts';

/** Whether the `heredoc_redirect` ends for bash where it ends in the tree of `root`; only plain delimiters are known to. */
export function endsAtDelimiter({ children }: SyntaxNode, root: SyntaxNode): boolean {
  const name = delimiterOf(children.find((child) => child.type === 'heredoc_start')?.text ?? '');
  const end = children.find((child) => child.type === 'heredoc_end');
  if (name === undefined || end === undefined) return false;
  const line = lineAt(root, end.endIndex);
  return (children.some((child) => child.type === '<<-') ? line.replace(/^\t+/, '') : line) === name;
}

/** `E`, `'E'`, `"E"`, `\E`. */
function delimiterOf(start: string): string | undefined {
  const [, quote = '', name, close] = /^(['"\\]?)([\w.!-]+)(['"]?)$/.exec(start) ?? [];
  return close === (quote === '\\' ? '' : quote) ? name : undefined;
}

/** The whole line in which the text before `offset` stands. */
function lineAt({ text, startIndex }: SyntaxNode, offset: number): string {
  const from = text.lastIndexOf('\n', offset - startIndex - 1) + 1;
  return text.slice(from).split('\n', 1)[0] ?? '';
}
