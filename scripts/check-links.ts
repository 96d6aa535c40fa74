/** `npm run check -- links`: pages link, and code cites, only what is in the repository. Exit 1 names each place that does not. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { findDeadLinks } from './docs/find-dead-links.ts';

const root = path.join(import.meta.dirname, '..');
/** Made, fetched or kept for a while: what `.gitignore` names, and what tests leave. Without git, so that an unpacked archive is checked, too. */
const left = new Set(['node_modules', 'dist', 'out', '.git', '.cache', '.screens', '.vitest', 'coverage']);
const files = filesBelow('');
const kept = files.filter((file) => !file.startsWith('test/fixtures/'));
const pages = kept.filter((file) => file.endsWith('.md'));
// The rule's own test holds what it refuses.
const sources = kept.filter(
  (file) => /\.(?:ts|mjs|cjs|jsonc?|grit)$/.test(file) && !/(?:^|\/)(?:package-lock\.json|.*dead-links\.(?:test\.)?ts)$/.test(file),
);

if (pages.length < 5 || sources.length < 100) throw new Error(`only ${pages.length} pages and ${sources.length} sources were found`);
const dead = findDeadLinks(pages, sources, { files: new Set(files), read: (file) => readFileSync(path.join(root, file), 'utf8') });
for (const { file, line, message } of dead) console.error(`${file}:${line}: ${message}`);
console.log(`${pages.length} pages and ${sources.length} sources, ${dead.length} dead`);
process.exitCode = dead.length > 0 ? 1 : 0;

function filesBelow(folder: string): readonly string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) return left.has(entry.name) ? [] : filesBelow(name);
    return [name];
  });
}
