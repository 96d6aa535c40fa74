/** What is really in a sandbox's directory. */
import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import type { PersonaFile } from '#kernel/ports/persona-ledger';
import { chargeOf } from './persona-limits.ts';

/** Every file with what it costs; nothing is followed, and what disappears meanwhile is not there. */
export async function walkSandbox(directory: string, below = ''): Promise<readonly PersonaFile[]> {
  const entries = await readdir(path.join(directory, below), { withFileTypes: true }).catch(() => []);
  const files: PersonaFile[] = [];
  for (const entry of entries) {
    const name = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) files.push(...(await walkSandbox(directory, name)));
    else {
      const stats = await lstat(path.join(directory, name)).catch(() => undefined);
      if (stats !== undefined) files.push({ path: name, bytes: chargeOf(Math.max(stats.size, stats.blocks * 512)) });
    }
  }
  return files;
}
