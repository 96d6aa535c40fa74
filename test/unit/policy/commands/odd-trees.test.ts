/** What a tree leaves out, or holds where nobody looks, is asked about: the nets below all that is known of the grammar. */
import { describe, expect, it } from 'vitest';
import { shellGrammar } from '#app/shell-grammar';
import { decideWorkspaceCommand } from '#policy/commands/workspace/decide-workspace-command';
import { loadShellParser } from '#policy/commands/workspace/shell-parser';
import type { SyntaxNode } from '#policy/commands/workspace/syntax-node';

const parser = await loadShellParser(shellGrammar());
const view = {
  ground: { roots: ['/ws'], platform: 'posix' as const },
  facts: { look: (path: readonly string[]) => ({ kind: 'missing' as const, path }), names: () => [] },
};

/** What is decided where the parser gives the tree that `change` makes of its own. */
function decideOn(text: string, change: (root: SyntaxNode) => SyntaxNode) {
  const parse = (read: string) => {
    const root = parser.parse(read);
    return root === undefined ? undefined : change(root);
  };
  return decideWorkspaceCommand(text, { parser: { ...parser, parse }, view }).decision;
}

/** The same nodes with others for those of a type. */
function replace(node: SyntaxNode, type: string, make: (node: SyntaxNode) => SyntaxNode, parent?: SyntaxNode): SyntaxNode {
  const children: SyntaxNode[] = [];
  const namedChildren: SyntaxNode[] = [];
  const copy: SyntaxNode = { ...node, parent, children, namedChildren };
  for (const child of node.children) {
    const made = child.type === type ? { ...make(child), parent: copy } : replace(child, type, make, copy);
    children.push(made);
    if (made.isNamed) namedChildren.push(made);
  }
  return copy;
}

describe('a tree', () => {
  it('as the parser gives it is believed', () => {
    expect(decideOn('cat a <(cat b)', (root) => root)).toMatchObject({ effect: 'allow' });
    expect(decideOn('cat a <(cat b)', (root) => replace(root, 'nothing', (node) => node))).toMatchObject({ effect: 'allow' });
  });

  it('that holds a substitution in a word, where none is looked for, is asked about', () => {
    const hidden = (root: SyntaxNode) =>
      replace(root, 'process_substitution', (node) => ({ ...node, type: 'word', children: [node], namedChildren: [node] }));
    expect(decideOn('cat a <(cat b)', hidden)).toMatchObject({ effect: 'ask', code: 'unclear' });
  });

  it('that begins behind the text, or ends before it, is asked about', () => {
    const text = 'sudo id\nls a';
    const last = (root: SyntaxNode): SyntaxNode => ({
      ...root,
      startIndex: 8,
      text: 'ls a',
      children: root.children.slice(-1),
      namedChildren: root.namedChildren.slice(-1),
    });
    const first = (root: SyntaxNode): SyntaxNode => ({
      ...root,
      endIndex: 4,
      text: 'ls a',
      children: root.children.slice(0, 1),
      namedChildren: root.namedChildren.slice(0, 1),
    });
    expect(decideOn(text, last)).toMatchObject({ effect: 'ask', code: 'unclear' });
    expect(decideOn('ls a\nsudo id', first)).toMatchObject({ effect: 'ask', code: 'unclear' });
  });
});
