/**
 * Writes the derived parts of package.json (tools, settings, commands, views) from the catalog and from `src/hosts/vscode/contributes`.
 * `--check` writes nothing and exits 1 when package.json is stale.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { describeTools } from '#app/catalog';
import { manifestParts } from '#hosts/vscode/contributes/manifest';

const file = new URL('../package.json', import.meta.url);
const before = readFileSync(file, 'utf8');
const after = withParts(before, manifestParts(describeTools()));

if (before === after) {
  process.stdout.write('package.json is up to date with the catalog.\n');
} else if (process.argv.includes('--check')) {
  process.stderr.write('package.json is stale: run `node scripts/generate-manifest.ts` and commit the result.\n');
  process.exitCode = 1;
} else {
  writeFileSync(file, after);
  process.stdout.write('package.json: derived parts written.\n');
}

/** Keys keep their places; new ones go before `scripts`, where a reader expects what the extension is. */
function withParts(text: string, parts: Record<string, unknown>): string {
  const manifest = JSON.parse(text) as Record<string, unknown>;
  const added = Object.entries(parts).filter(([key]) => !(key in manifest));
  const entries = Object.entries(manifest).flatMap(([key, value]) => {
    const own: [string, unknown] = [key, key in parts ? parts[key] : value];
    return key === 'scripts' ? [...added, own] : [own];
  });
  const complete = 'scripts' in manifest ? entries : [...entries, ...added];
  return `${JSON.stringify(Object.fromEntries(complete), null, 2)}\n`;
}
