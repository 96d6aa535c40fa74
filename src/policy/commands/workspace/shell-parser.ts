/** tree-sitter's bash grammar, loaded from bytes that the caller hands in: this folder reads no files. */
import { Language, type Node, Parser } from 'web-tree-sitter';

export interface GrammarBytes {
  /** `web-tree-sitter.wasm` 0.27.1. */
  readonly runtime: Uint8Array;
  /** `tree-sitter-bash.wasm` 0.25.1. */
  readonly bash: Uint8Array;
}

export interface ShellParser {
  /** The tree's root, or undefined when the text is no complete command or the parser gave up. Synchronous. */
  parse(text: string): Node | undefined;
}

/** Three trees that a matching pair of runtime and grammar gives; anything else must not be trusted. */
const knownTrees: readonly (readonly [string, string])[] = [
  ['a "b$c" | d', '(program (pipeline (command name: (command_name (word)) argument: (string (string_content) (simple_expansion (variable_name)))) (command name: (command_name (word)))))'],
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
    if (found !== expected) throw new Error(`the shell grammar does not fit its runtime: ${JSON.stringify(text)} parsed as ${found ?? 'nothing'}`);
  }
  return {
    parse: (text) => {
      const root = parser.parse(text)?.rootNode;
      return root === undefined || root === null || root.hasError ? undefined : root;
    },
  };
}
