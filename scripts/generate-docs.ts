/** Writes docs/tools.md, the agents of docs/hooks.md, the clients and install links of docs/mcp.md, those of README.md, the import table of docs/architecture.md and its map; `--check` only compares, with exit code 1 when one is stale. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describeTools } from '#app/catalog';
import type { AgentResults } from '../test/agents/results.ts';
import { drawImportMap, readRoomImports } from './architecture/import-map.ts';
import { fileExceptions, importTable } from './architecture/table.ts';
import { withClients } from './docs/clients-page.ts';
import { withAgents } from './docs/hooks-page.ts';
import { withImportTable } from './docs/import-table-page.ts';
import { withInstallLinks } from './docs/install-links.ts';
import { toolsPage } from './docs/tools-page.ts';

const root = path.join(import.meta.dirname, '..');
const read = (name: string) => readFileSync(path.join(root, name), 'utf8');
const results = JSON.parse(read('test/agents/results.json')) as AgentResults;
const pages: Readonly<Record<string, string>> = {
  'README.md': withInstallLinks(read('README.md'), false),
  'docs/hooks.md': withAgents(read('docs/hooks.md'), results),
  'docs/mcp.md': withInstallLinks(withClients(read('docs/mcp.md'), results), true),
  'docs/tools.md': toolsPage(describeTools()),
  'docs/architecture.md': withImportTable(read('docs/architecture.md'), importTable, fileExceptions),
  'docs/import-map.svg': drawImportMap(readRoomImports(root)),
};

for (const [name, text] of Object.entries(pages)) {
  const file = path.join(root, name);
  if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
  if (process.argv.includes('--check')) {
    console.error(`${name} is stale; run \`npm run generate\``);
    process.exitCode = 1;
  } else {
    writeFileSync(file, text);
    console.log(`wrote ${name}`);
  }
}
