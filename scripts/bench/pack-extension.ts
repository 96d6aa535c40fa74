import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { cacheFolder, ROOT } from '../lib/cache-folder.mjs';
import { runCommand } from '../lib/run-command.mjs';

const VSCE = path.join(ROOT, 'node_modules', '@vscode', 'vsce', 'vsce');

/**
 * Packs a small helper extension of plain JavaScript into the cache; the same content is packed once.
 * @returns the .vsix file
 */
export async function packExtension(folder: string): Promise<string> {
  const target = path.join(cacheFolder(), 'vsix', `${path.basename(folder)}-${contentHash(folder)}.vsix`);
  if (existsSync(target)) return target;
  mkdirSync(path.dirname(target), { recursive: true });
  const args = ['package', '--no-dependencies', '--allow-missing-repository', '--skip-license', '--out', target];
  const packed = await runCommand(process.execPath, [VSCE, ...args], { cwd: folder });
  if (!packed.ok) throw new Error(`vsce could not pack ${folder}:\n${packed.output}`);
  return target;
}

function contentHash(folder: string): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(folder).toSorted()) hash.update(name).update(readFileSync(path.join(folder, name)));
  return hash.digest('hex').slice(0, 12);
}
