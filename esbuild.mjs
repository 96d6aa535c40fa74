// Bundles the three entry points: `node esbuild.mjs [--dev]`. Plain JavaScript, so that F5 and CI need nothing but Node and esbuild.
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundleFaults } from './scripts/build/bundle-faults.mjs';
import { bundles } from './scripts/build/bundles.mjs';
import { noNatives } from './scripts/build/no-natives.mjs';
import { thirdPartyNotices } from './scripts/build/third-party-notices.mjs';

const root = path.dirname(fileURLToPath(import.meta.url));
const dist = path.join(root, 'dist');
const dev = process.argv.includes('--dev');

/**
 * CommonJS has no `import.meta`; the sources use it to find what lies beside them (the store's worker).
 * The shebang must stay the first line.
 */
const banner = "const bundleUrl = require('node:url').pathToFileURL(__filename).href;";

/** @param {import('./scripts/build/bundles.mjs').Bundle} bundle */
function buildBundle(bundle) {
  return build({
    absWorkingDir: root,
    entryPoints: [bundle.entry],
    outfile: `dist/${bundle.name}.cjs`,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: bundle.target,
    external: bundle.external,
    plugins: [noNatives],
    banner: { js: bundle.shebang ? `#!/usr/bin/env node\n${banner}` : banner },
    define: { 'import.meta.url': 'bundleUrl', 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename' },
    minify: !dev,
    keepNames: true,
    // `external`: maps lie beside the bundles for whoever debugs a stack, and are not shipped.
    sourcemap: dev ? 'linked' : 'external',
    legalComments: 'none',
    metafile: true,
    logLevel: 'warning',
  });
}

async function main() {
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  const [present, missing] = [bundles.filter(isPresent), bundles.filter((bundle) => !isPresent(bundle))];
  const built = await Promise.all(present.map(async (bundle) => ({ bundle, metafile: (await buildBundle(bundle)).metafile })));
  const faults = missing.map((bundle) => `${bundle.name}: its entry ${bundle.entry} does not exist`);
  for (const { bundle, metafile } of built) {
    const size = metafile.outputs[`dist/${bundle.name}.cjs`]?.bytes ?? 0;
    console.log(`dist/${bundle.name}.cjs  ${kilobytes(size)} of ${kilobytes(bundle.budget)}`);
    faults.push(...bundleFaults(bundle, metafile, { checkSize: !dev }));
    if (bundle.shebang) chmodSync(path.join(dist, `${bundle.name}.cjs`), 0o755);
  }
  writeFileSync(path.join(dist, 'metafile.json'), JSON.stringify(Object.fromEntries(built.map((b) => [b.bundle.name, b.metafile]))));
  writeFileSync(
    path.join(dist, 'THIRD-PARTY-NOTICES.txt'),
    thirdPartyNotices(
      root,
      built.map((b) => b.metafile),
    ),
  );
  for (const fault of faults) console.error(`build: ${fault}`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}

function isPresent(bundle) {
  return existsSync(path.join(root, bundle.entry));
}

function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(0)} kB`;
}

await main();
