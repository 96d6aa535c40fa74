/** Which texts the variables of a command line can hold, whatever runs when: every assignment anywhere in it counts. */
import { allNodes, childOf, childrenOf, type SyntaxNode } from './syntax-node.ts';

/** By name; undefined value: some text that is not known. Absent: never assigned here. */
export type Variables = ReadonlyMap<string, readonly string[] | undefined>;

/** Commands that assign to the names they are given. */
const assigning: ReadonlySet<string> = new Set([
  'read',
  'mapfile',
  'readarray',
  'getopts',
  'printf',
  'let',
  'unset',
  'wait',
  'local',
  'declare',
  'typeset',
  'export',
  'readonly',
]);
const mostValues = 16;

/** Collects the assignments below `root`; `literal` decodes a word without variables, or gives undefined. */
export function collectVariables(root: SyntaxNode, literal: (node: SyntaxNode) => readonly string[] | undefined): Variables {
  const found = new Map<string, readonly string[] | undefined>();
  const add = (name: string, values: readonly string[] | undefined) => {
    const known = found.has(name) ? found.get(name) : [];
    const all = known === undefined || values === undefined ? undefined : [...new Set([...known, ...values])];
    found.set(name, all !== undefined && all.length <= mostValues ? all : undefined);
  };
  for (const node of allNodes(root)) if (/^(?:variable_assignment|for_statement|command)$/.test(node.type)) collect(node, literal, add);
  return found;
}

type Add = (name: string, values: readonly string[] | undefined) => void;

function collect(node: SyntaxNode, literal: (node: SyntaxNode) => readonly string[] | undefined, add: Add): void {
  if (node.type === 'command') return collectFromCommand(node, add);
  const name = childOf(node, node.type === 'for_statement' ? 'variable' : 'name')?.text ?? '';
  if (node.type === 'for_statement') {
    const values = childrenOf(node, 'value').map(literal);
    return add(name, values.length > 0 && values.every((value) => value !== undefined) ? values.flat() : undefined);
  }
  const value = childOf(node, 'value');
  const appends = node.children.some((child) => child.type === '+=');
  add(name, appends ? undefined : value === undefined ? [''] : literal(value));
}

function collectFromCommand(node: SyntaxNode, add: Add): void {
  const name = childOf(node, 'name')?.text ?? '';
  if (!assigning.has(name)) return;
  for (const word of childrenOf(node, 'argument')) if (/^[A-Za-z_]\w*$/.test(word.text)) add(word.text, undefined);
}
