/** The bytes of the shell grammar: beside the sources in `node_modules`, in a bundle inside it (the policy itself reads no files). */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync } from 'node:zlib';
import type { GrammarBytes } from '#policy/commands/workspace/shell-parser';

/** What bundling writes in: brotli-compressed files as base64. In the sources it does not exist. */
declare const BANKSMAN_GRAMMAR: { readonly runtime: string; readonly bash: string } | undefined;

/** About 1.6 MB, unpacked at each call (some 10 ms): call it once. */
export function shellGrammar(): GrammarBytes {
  if (typeof BANKSMAN_GRAMMAR === 'object') return { runtime: unpack(BANKSMAN_GRAMMAR.runtime), bash: unpack(BANKSMAN_GRAMMAR.bash) };
  return { runtime: bytesOf('web-tree-sitter/web-tree-sitter.wasm'), bash: bytesOf('tree-sitter-bash/tree-sitter-bash.wasm') };
}

function unpack(text: string): Uint8Array {
  return brotliDecompressSync(Buffer.from(text, 'base64'));
}

function bytesOf(name: string): Uint8Array {
  return readFileSync(fileURLToPath(new URL(`../../node_modules/${name}`, import.meta.url)));
}
