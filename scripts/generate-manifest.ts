/**
 * Writes the derived parts of package.json (tools, settings, commands, views) from the catalog and from `src/hosts/vscode/contributes`, and
 * their texts to package.nls.json, those for people in German, too, from `media/l10n`. `--check` writes nothing and exits 1 when one of them is stale.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { entriesOf } from '#hosts/vscode/contributes/nls';
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import { readBundle, readManifest, translated } from './l10n/translations.ts';

const widest = 1_000;
/** npm writes these itself, one entry a line. */
const npmOwn: ReadonlySet<string> = new Set(['scripts', 'devDependencies', 'imports', 'bin', 'engines', 'repository', 'allowScripts']);

const { manifest, texts, forPeople } = readManifest();
settle('package.json', (before) => withParts(before, manifest as JsonObject));
settle('package.nls.json', () => `${JSON.stringify(texts, null, 2)}\n`);
settle('package.nls.de.json', () => `${JSON.stringify(germanTexts(), null, 2)}\n`);

/** What has none yet is left out: the editor shows it in English, and `npm run check` names it. */
function germanTexts(): JsonObject {
  const bundle = readBundle();
  const own = [...forPeople].sort().map((key) => [key, translated(texts[key] ?? '', bundle)] as const);
  return Object.fromEntries(own.filter(([, text]) => text !== undefined));
}

function settle(name: string, derive: (before: string) => string): void {
  const file = new URL(`../${name}`, import.meta.url);
  const before = readIfThere(file);
  const after = derive(before);
  if (before === after) {
    process.stdout.write(`${name} is up to date with the catalog.\n`);
  } else if (process.argv.includes('--check')) {
    process.stderr.write(`${name} is stale: run \`node scripts/generate-manifest.ts\` and commit the result.\n`);
    process.exitCode = 1;
  } else {
    writeFileSync(file, after);
    process.stdout.write(`${name}: derived parts written.\n`);
  }
}

function readIfThere(file: URL): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Keys keep their places; new ones go before `scripts`, where a reader expects what the extension is. */
function withParts(text: string, parts: JsonObject): string {
  const whole = JSON.parse(text) as JsonObject;
  const added = entriesOf(parts).filter(([key]) => !(key in whole));
  const entries = entriesOf(whole).flatMap(([key, value]) => {
    const own: readonly [string, JsonValue] = [key, parts[key] ?? value];
    return key === 'scripts' ? [...added, own] : [own];
  });
  const complete = 'scripts' in whole ? entries : [...entries, ...added];
  return `${print(Object.fromEntries(complete), '')}\n`;
}

/** As `JSON.stringify`, but what fits on one line is on one. */
function print(value: JsonValue, indent: string, key = ''): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const flat = JSON.stringify(value);
  if (indent !== '' && !npmOwn.has(key) && indent.length + flat.length <= widest) return flat;
  const inner = `${indent}  `;
  const lines = isJsonObject(value)
    ? entriesOf(value).map(([name, entry]) => `${inner}${JSON.stringify(name)}: ${print(entry, inner, name)}`)
    : value.map((entry: JsonValue) => inner + print(entry, inner));
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`;
}
