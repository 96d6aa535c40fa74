/**
 * SECURITY: what a redirection and a pipe belong to. tree-sitter's bash grammar (0.25.1) reads `a && b > f | c` as `(a && b) > f | c`; for
 * bash both belong to `b` alone (and in `a | b < f` the file to `b`), so that `cd x && make > ../log | tail` writes beside `x` and stays there.
 */
import { childOf, type SyntaxNode } from './syntax-node.ts';

/** The tree as bash reads it; the same one where nothing is to be moved. */
export function bindOperators(root: SyntaxNode): SyntaxNode {
  return isMisread(root) ? copy(root, undefined) : root;
}

function isMisread(node: SyntaxNode): boolean {
  return settle(node) !== node || node.namedChildren.some(isMisread);
}

function copy(node: SyntaxNode, parent: SyntaxNode | undefined): SyntaxNode {
  const settled = settle(node);
  const children: SyntaxNode[] = [];
  const namedChildren: SyntaxNode[] = [];
  const made: SyntaxNode = { ...settled, parent, children, namedChildren };
  for (const child of settled.children) {
    const below = copy(child, made);
    children.push(below);
    if (below.isNamed) namedChildren.push(below);
  }
  return made;
}

/** The node with what belongs to its last command moved there. */
function settle(node: SyntaxNode): SyntaxNode {
  if (node.type === 'redirected_statement') return moveRedirects(node);
  return node.type === 'pipeline' ? movePipe(node) : node;
}

/** `(a && b) > f` to `a && (b > f)`, `(a | b) < f` to `a | (b < f)`. */
function moveRedirects(node: SyntaxNode): SyntaxNode {
  const body = childOf(node, 'body');
  const list = body === undefined ? undefined : settle(body);
  if (list === undefined || !/^(?:list|pipeline|negated_command)$/.test(list.type)) return node;
  return withLast(node, list, (last) => node.children.map((child) => (child === body ? { ...last, field: 'body' } : child)));
}

/** `(a && b) | c` to `a && (b | c)`. */
function movePipe(node: SyntaxNode): SyntaxNode {
  const [first, ...rest] = node.children;
  const list = first === undefined ? undefined : settle(first);
  if (list?.type === 'pipeline') return withChildren(node, [...list.children, ...rest], node);
  if (list?.type !== 'list') return node;
  return withLast(node, list, (last) => [...(last.type === 'pipeline' ? last.children : [last]), ...rest]);
}

/** `list` in the place of `node`, which takes the place of the list's last command around what `around` makes of that. */
function withLast(node: SyntaxNode, list: SyntaxNode, around: (last: SyntaxNode) => readonly SyntaxNode[]): SyntaxNode {
  const last = list.namedChildren.findLast((child) => child.type !== 'comment');
  if (last === undefined) return node;
  const inner = withChildren({ ...node, field: last.field, startIndex: last.startIndex }, around(last), node);
  const children = list.children.map((child) => (child === last ? inner : child));
  return withChildren({ ...list, field: node.field, endIndex: node.endIndex }, children, node);
}

/** `within`: a node whose text holds the new one's. */
function withChildren(node: SyntaxNode, children: readonly SyntaxNode[], within: SyntaxNode): SyntaxNode {
  const text = within.text.slice(node.startIndex - within.startIndex, node.endIndex - within.startIndex);
  return { ...node, text, children, namedChildren: children.filter((child) => child.isNamed) };
}
