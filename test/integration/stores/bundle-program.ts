/** TypeScript as one file of plain JavaScript. */
import { basename, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

/** What `new Worker` gets in place of a `.ts` file; why, says `startStoreLink`. `folder` is the caller's to remove. */
export async function bundleProgram(entry: URL, folder: string): Promise<URL> {
  const outfile = join(folder, `${basename(entry.pathname, '.ts')}.mjs`);
  await build({
    entryPoints: [fileURLToPath(entry)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    logLevel: 'warning',
  });
  return pathToFileURL(outfile);
}
