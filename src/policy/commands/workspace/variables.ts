/** Which texts the variables of a command line can hold, whatever runs when: every assignment anywhere in it counts. */
import { childOf, childrenOf, type SyntaxNode } from './syntax-node.ts';

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
const collected: ReadonlySet<string> = new Set(['variable_assignment', 'for_statement', 'command']);

/** Collects the assignments among `nodes`; `literal` decodes a word without variables, or gives undefined. */
export function collectVariables(nodes: readonly SyntaxNode[], literal: (node: SyntaxNode) => readonly string[] | undefined): Variables {
  const found = new Map<string, readonly string[] | undefined>();
  const add = (name: string, values: readonly string[] | undefined) => {
    const known = found.has(name) ? found.get(name) : [];
    const all = known === undefined || values === undefined ? undefined : [...new Set([...known, ...values])];
    found.set(name, all !== undefined && all.length <= mostValues ? all : undefined);
  };
  for (const node of nodes) if (collected.has(node.type)) collect(node, literal, add);
  return found;
}

type Add = (name: string, values: readonly string[] | undefined) => void;

function collect(node: SyntaxNode, literal: (node: SyntaxNode) => readonly string[] | undefined, add: Add): void {
  if (node.type === 'command') collectFromCommand(node, add);
  else if (node.type === 'for_statement') collectFromLoop(node, literal, add);
  else {
    const value = childOf(node, 'value');
    const appends = node.children.some((child) => child.type === '+=');
    add(childOf(node, 'name')?.text ?? '', appends ? undefined : value === undefined ? [''] : literal(value));
  }
}

function collectFromLoop(node: SyntaxNode, literal: (node: SyntaxNode) => readonly string[] | undefined, add: Add): void {
  const values = childrenOf(node, 'value').map(literal);
  const known = values.length > 0 && values.every((value) => value !== undefined);
  add(childOf(node, 'variable')?.text ?? '', known ? values.flat() : undefined);
}

function collectFromCommand(node: SyntaxNode, add: Add): void {
  const name = childOf(node, 'name')?.text ?? '';
  if (!assigning.has(name)) return;
  for (const word of childrenOf(node, 'argument')) if (/^[A-Za-z_]\w*$/.test(word.text)) add(word.text, undefined);
}
