/** What redirections and pipes belong to, as bash has it: the trees, and what the policy makes of them. */
import { describe, expect, it } from 'vitest';
import { shellGrammar } from '../../../../src/app/shell-grammar.ts';
import type { PathFacts } from '../../../../src/kernel/ports/path-facts.ts';
import { bindOperators } from '../../../../src/policy/commands/workspace/bind-operators.ts';
import { decideWorkspaceCommand } from '../../../../src/policy/commands/workspace/decide-workspace-command.ts';
import { loadShellParser } from '../../../../src/policy/commands/workspace/shell-parser.ts';
import { allNodes, type SyntaxNode } from '../../../../src/policy/commands/workspace/syntax-node.ts';

const parser = await loadShellParser(shellGrammar());

function parse(text: string): SyntaxNode {
  const root = parser.parse(text);
  if (root === undefined) throw new Error(`no tree: ${text}`);
  return root;
}

/** `list(a && b)`: commands as their text, everything else by its type. */
function shape(node: SyntaxNode): string {
  if (node.type === 'program') return node.children.map(shape).join(' ');
  const isLeaf = node.children.length === 0 || /^(?:command|file_redirect|heredoc_redirect)$/.test(node.type);
  return isLeaf ? node.text : `${node.type.replace('_statement', '')}(${node.children.map(shape).join(' ')})`;
}

describe('the tree', () => {
  it.each([
    ['a && b > f', 'list(a && redirected(b > f))'],
    ['a || b 2>&1 | c && d', 'list(list(a || pipeline(redirected(b 2>&1) | c)) && d)'],
    ['a && b && c 2>&1 | d', 'list(list(a && b) && pipeline(redirected(c 2>&1) | d))'],
    [
      'a 2>&1 | b && c 2>&1 | d || e > f',
      'list(list(pipeline(redirected(a 2>&1) | b) && pipeline(redirected(c 2>&1) | d)) || redirected(e > f))',
    ],
    ['(a && b > f) > g', 'redirected(subshell(( list(a && redirected(b > f)) )) > g)'],
    ['{ a && b; } > f', 'redirected(compound({ list(a && b) ; }) > f)'],
    ['a && b | c 2>&1 | d | e > f', 'list(a && pipeline(b | redirected(c 2>&1) | d | redirected(e > f)))'],
    ['a | b < f', 'pipeline(a | redirected(b < f))'],
  ])('%s', (text, expected) => {
    expect(shape(parse(text))).toBe(expected);
  });

  it('is left as it is where nothing is misread', () => {
    const root = parse('a | b > f; { c && d; } > g; e && f');
    expect(bindOperators(root)).toBe(root);
  });

  it.each(['a && b > f | c', 'a || b <<X | c && d\nt\nX', '! a && x=1 b 2>&1 | c; d && e > f'])('of %j is whole', (text) => {
    for (const node of allNodes(parse(text))) {
      expect(text.slice(node.startIndex, node.endIndex)).toBe(node.text);
      expect(node.namedChildren).toEqual(node.children.filter((child) => child.isNamed));
      for (const child of node.children) expect(child.parent).toBe(node);
    }
  });
});

/** `deep/up` leads out of the workspace; a file of that name elsewhere does not. */
const facts: PathFacts = {
  look: (segments) => (segments.join('/').startsWith('deep/up') ? { kind: 'outside' } : { kind: 'directory', path: segments }),
  names: () => [],
};
const view = { ground: { roots: ['/ws'], platform: 'posix' as const }, facts };
const effect = (text: string) => decideWorkspaceCommand(text, { parser, view }).decision.effect;

describe('the directory of a redirection and of what follows', () => {
  it.each([
    'cd deep && make > ../log',
    'cd deep && make 2>&1 | tee ../log',
    'cd deep && make 2>&1 | tail; cd ..',
    "cd deep && cat <<'X' > ../a\nt\nX",
  ])('is the one that was gone to: %j', (text) => {
    expect(effect(text)).toBe('allow');
  });

  it.each(['cd deep && echo x > up/f', 'cd deep && ls 2>&1 | head; cat up/f', 'cd deep && ls > a | b; cat up/f'])(
    'and what leads out from there asks: %j',
    (text) => {
      expect(effect(text)).not.toBe('allow');
    },
  );
});
