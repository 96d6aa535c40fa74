// The shell's grammar as text that bundling writes in: the policy reads no files, and dist/cli.cjs runs alone.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync } from 'node:zlib';

/** @param {string} root the repository */
export function grammarText(root) {
  const pack = (name) => brotliCompressSync(readFileSync(path.join(root, 'node_modules', name))).toString('base64');
  return { runtime: pack('web-tree-sitter/web-tree-sitter.wasm'), bash: pack('tree-sitter-bash/tree-sitter-bash.wasm') };
}
