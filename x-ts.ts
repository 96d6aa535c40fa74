import { readFileSync } from 'node:fs';
import { Parser, Language } from 'web-tree-sitter';
await Parser.init({ wasmBinary: readFileSync('node_modules/web-tree-sitter/web-tree-sitter.wasm') } as never);
const lang = await Language.load(readFileSync('node_modules/tree-sitter-bash/tree-sitter-bash.wasm'));
const p = new Parser(); p.setLanguage(lang);
for (const s of process.argv.slice(2)) { const t=p.parse(s)!; console.log(JSON.stringify(s), t.rootNode.hasError, t.rootNode.toString()); }
