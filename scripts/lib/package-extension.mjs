// Plain JavaScript for Node 20: used by scripts that run before the first `npm ci`.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder, ROOT } from './cache-folder.mjs';
import { cleanEnv } from './clean-env.mjs';
import { runCommand } from './run-command.mjs';

/** What the .vsix is made of, besides package.json. */
const CONTENT = ['package.json', '.vscodeignore', 'README.md', 'CHANGELOG.md', 'LICENSE', 'dist', 'media'];

/** Where the packaged extension is. */
export const VSIX = path.join(cacheFolder(), 'banksman.vsix');

/**
 * Builds, and packs the extension unless what it is made of has not changed.
 * @param {Record<string, string>} [env] on top of the clean one
 * @returns {Promise<string | undefined>} what failed, with its output
 */
export async function buildAndPackage(env) {
  const built = await npmRun(['build'], env);
  if (!built.ok) return `npm run build failed:\n${built.output}`;
  const stamp = `${VSIX}.stamp`;
  const content = contentHash();
  if (existsSync(VSIX) && existsSync(stamp) && readFileSync(stamp, 'utf8') === content) return undefined;
  const packed = await npmRun(['package', '--', '--out', VSIX], env);
  if (!packed.ok) return `npm run package failed:\n${packed.output}`;
  // Packing may build again: what counts is what went in.
  writeFileSync(stamp, contentHash());
  return undefined;
}

function npmRun(args, env) {
  return runCommand('npm', ['run', '--silent', ...args], { cwd: ROOT, env: cleanEnv(env) });
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
