/** Writes docs/tools.md, the agents of docs/hooks.md, the clients of docs/mcp.md and the import table of docs/architecture.md; `--check` only compares, with exit code 1 when one is stale. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describeTools } from '#app/catalog';
import type { AgentResults } from '../test/agents/results.ts';
import { fileExceptions, importTable } from './architecture/table.ts';
import { withClients } from './docs/clients-page.ts';
import { withAgents } from './docs/hooks-page.ts';
import { withImportTable } from './docs/import-table-page.ts';
import { toolsPage } from './docs/tools-page.ts';

const docs = path.join(import.meta.dirname, '..', 'docs');
const results = JSON.parse(readFileSync(path.join(import.meta.dirname, '../test/agents/results.json'), 'utf8')) as AgentResults;
const architecture = readFileSync(path.join(docs, 'architecture.md'), 'utf8');
const pages: Readonly<Record<string, string>> = {
  'hooks.md': withAgents(readFileSync(path.join(docs, 'hooks.md'), 'utf8'), results),
  'mcp.md': withClients(readFileSync(path.join(docs, 'mcp.md'), 'utf8'), results),
  'tools.md': toolsPage(describeTools()),
  'architecture.md': withImportTable(architecture, importTable, fileExceptions),
};

for (const [name, text] of Object.entries(pages)) {
  const file = path.join(docs, name);
  if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
  if (process.argv.includes('--check')) {
    console.error(`docs/${name} is stale; run \`npm run generate\``);
    process.exitCode = 1;
  } else {
    writeFileSync(file, text);
    console.log(`wrote docs/${name}`);
  }
}
