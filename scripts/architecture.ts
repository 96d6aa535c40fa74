/** `npm run arch`: holds the sources to the import table (docs/architecture.md). Exit 1 on a violation. */
import path from 'node:path';
import { readImportGraph } from './architecture/import-graph.ts';
import { fileExceptions, importTable, lazyFiles } from './architecture/table.ts';
import { violationsOf } from './architecture/violations.ts';

const root = path.resolve(process.argv[2] ?? path.join(import.meta.dirname, '..'));
const graph = await readImportGraph(root);
const violations = violationsOf(graph, { folders: importTable, exceptions: fileExceptions, lazyFiles });
for (const violation of violations) console.error(`architecture: ${violation}`);
const imports = graph.files.reduce((sum, file) => sum + file.imports.length, 0);
console.log(`architecture: ${graph.files.length} files, ${imports} imports, ${violations.length} violations`);
process.exitCode = violations.length > 0 ? 1 : 0;
