// Plain JavaScript for Node 20: this runs before the first `npm ci`.
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** The repository's root. */
export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');

/**
 * Where installs, profiles and the packaged extension go: ignored by git, safe to delete.
 * BANKSMAN_CACHE names another one, so that several clones can share an installed editor.
 */
export function cacheFolder() {
  return path.resolve(ROOT, process.env.BANKSMAN_CACHE ?? '.cache');
}
