// Plain JavaScript for Node 20: used by scripts that run before the first `npm ci`.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder, ROOT } from './cache-folder.mjs';
import { runCommand, say } from './run-command.mjs';

/** All that the bundles and the .vsix depend on, and the bundles themselves: a development build counts as a change. */
const CONTENT =
  'package.json package-lock.json .vscodeignore esbuild.mjs README.md CHANGELOG.md LICENSE src media scripts/build scripts/package dist'.split(
    ' ',
  );

/** Where the packaged extension is. */
export const VSIX = path.join(cacheFolder(), 'banksman.vsix');

/**
 * Builds and packs the extension, unless nothing that it is made of has changed.
 * @returns {Promise<string | undefined>} what failed, with its output
 */
export async function buildAndPackage() {
  const stamp = `${VSIX}.stamp`;
  if (existsSync(VSIX) && existsSync(stamp) && readFileSync(stamp, 'utf8') === contentHash()) return undefined;
  say('Building and packing the extension');
  // Packing builds first.
  const packed = await npmRun(['package', '--', '--out', VSIX]);
  if (!packed.ok) return `npm run package failed:\n${packed.output}`;
  writeFileSync(stamp, contentHash());
  return undefined;
}

function npmRun(args) {
  return runCommand('npm', ['run', '--silent', ...args], { cwd: ROOT });
}

function contentHash() {
  const hash = createHash('sha256');
  for (const name of CONTENT) addToHash(hash, path.join(ROOT, name));
  return hash.digest('hex');
}

function addToHash(hash, place) {
  if (!existsSync(place)) return;
  hash.update(`${path.relative(ROOT, place)}\0`);
  if (!statSync(place).isDirectory()) hash.update(readFileSync(place));
  else for (const name of readdirSync(place).sort()) addToHash(hash, path.join(place, name));
}
