/** tree-sitter's bash grammar, loaded from bytes that the caller hands in: this folder reads no files. */
import { Language, type Node, Parser, type TreeCursor } from 'web-tree-sitter';
import { bindOperators } from './bind-operators.ts';
import type { SyntaxNode } from './syntax-node.ts';

export interface GrammarBytes {
  /** `web-tree-sitter.wasm` 0.27.1. */
  readonly runtime: Uint8Array;
  /** `tree-sitter-bash.wasm` 0.25.1. */
  readonly bash: Uint8Array;
}

export interface ShellParser {
  /** The tree's root, or undefined when the text is no complete command or the parser gave up. Synchronous. */
  parse(text: string): SyntaxNode | undefined;
  /** Where text that `parse` does not take stops making sense, as an offset; 0 where that cannot be told. */
  faultAt(text: string): number;
}

/** Three trees that a matching pair of runtime and grammar gives; anything else must not be trusted. */
const knownTrees: readonly (readonly [string, string])[] = [
  [
    'a "b$c" | d',
    '(program (pipeline (command name: (command_name (word)) argument: (string (string_content) (simple_expansion (variable_name)))) (command name: (command_name (word)))))',
  ],
  ['a > b', '(program (redirected_statement body: (command name: (command_name (word))) redirect: (file_redirect destination: (word))))'],
  ['$(a)', '(program (command name: (command_name (command_substitution (command name: (command_name (word)))))))'],
];

/**
 * Loads the parser (about 100 ms, once).
 * @throws {Error} when runtime and grammar do not fit each other
 */
export async function loadShellParser(bytes: GrammarBytes): Promise<ShellParser> {
  await Parser.init({ wasmBinary: bytes.runtime });
  const parser = new Parser();
  parser.setLanguage(await Language.load(bytes.bash));
  for (const [text, expected] of knownTrees) {
    const found = parser.parse(text)?.rootNode.toString();
    if (found !== expected)
      throw new Error(`the shell grammar does not fit its runtime: ${JSON.stringify(text)} parsed as ${found ?? 'nothing'}`);
  }
  return {
    parse: (text) => {
      const tree = parser.parse(text);
      if (tree === null) return undefined;
      try {
        const root = tree.rootNode.hasError ? undefined : takeOut(tree.walk(), text);
        return root === undefined ? undefined : bindOperators(root);
      } finally {
        tree.delete();
      }
    },
    faultAt: (text) => {
      const tree = parser.parse(text);
      const offset = tree === null ? 0 : firstFault(tree.rootNode);
      tree?.delete();
      return offset;
    },
  };
}

/** Something left over, or something left out (an end that never came). A loop: such text may nest as deep as it is long. */
function firstFault(root: Node): number {
  let node = root;
  while (!node.isError && !node.isMissing) {
    const next = node.children.find((child) => child.hasError);
    if (next === undefined) break;
    node = next;
  }
  return node.startIndex;
}

/** Deeper than any command that people write; the walk is recursive. */
const deepest = 100;

/** The tree below the cursor as plain data; undefined when it is too deep. */
function takeOut(cursor: TreeCursor, text: string): SyntaxNode | undefined {
  try {
    return takeNode(cursor, text, { parent: undefined, depth: 0 });
  } finally {
    cursor.delete();
  }
}

interface Above {
  readonly parent: SyntaxNode | undefined;
  readonly depth: number;
}

function takeNode(cursor: TreeCursor, text: string, { parent, depth }: Above): SyntaxNode | undefined {
  const { startIndex, endIndex } = cursor;
  const children: SyntaxNode[] = [];
  const namedChildren: SyntaxNode[] = [];
  const node: SyntaxNode = {
    type: cursor.nodeType,
    text: text.slice(startIndex, endIndex),
    startIndex,
    endIndex,
    isNamed: cursor.nodeIsNamed,
    field: cursor.currentFieldName ?? undefined,
    parent,
    children,
    namedChildren,
  };
  if (!cursor.gotoFirstChild()) return node;
  do {
    const child = depth < deepest ? takeNode(cursor, text, { parent: node, depth: depth + 1 }) : undefined;
    if (child === undefined) return undefined;
    children.push(child);
    if (child.isNamed) namedChildren.push(child);
  } while (cursor.gotoNextSibling());
  cursor.gotoParent();
  return node;
}
