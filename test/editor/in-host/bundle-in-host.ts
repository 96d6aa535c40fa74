import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';
import { cacheFolder, ROOT } from '../../../scripts/lib/cache-folder.mjs';

/** What `extensionDevelopmentPath` and `extensionTestsPath` want. */
export interface InHostPaths {
  readonly extensionPath: string;
  readonly testsPath: string;
}

/** Lays the extension out in a folder of its own, and bundles the suite, each as an editor loads it. */
export async function bundleInHost(): Promise<InHostPaths> {
  const folder = path.join(cacheFolder(), 'in-host');
  const extensionPath = path.join(folder, 'extension');
  const testsPath = path.join(folder, 'suite.cjs');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(extensionPath, { recursive: true });
  for (const name of ['package.json', 'package.nls.json', 'media', 'dist']) {
    const source = path.join(ROOT, name);
    if (existsSync(source)) cpSync(source, path.join(extensionPath, name), { recursive: true, filter: (file) => !file.endsWith('.map') });
  }
  await build({
    entryPoints: [path.join(ROOT, 'test', 'editor', 'in-host', 'run.ts')],
    outfile: testsPath,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    external: ['vscode'],
    logLevel: 'warning',
  });
  return { extensionPath, testsPath };
}
