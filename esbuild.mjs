// Bundles the three entry points: `node esbuild.mjs [--dev]`. Plain JavaScript, so that F5 and CI need nothing but Node and esbuild.
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

/** CommonJS has no `import.meta`; the sources use it to find what lies beside them (the store's worker). */
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
    banner: { js: banner },
    define: {
      'import.meta.url': 'bundleUrl',
      'import.meta.dirname': '__dirname',
      'import.meta.filename': '__filename',
      BANKSMAN_VERSION: JSON.stringify(version),
    },
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
  mkdirSync(dist, { recursive: true });
  const results = await Promise.all(bundles.map(result));
  const metafiles = Object.fromEntries(results.filter(({ metafile }) => metafile).map(({ bundle, metafile }) => [bundle.name, metafile]));
  writeFileSync(path.join(dist, 'metafile.json'), JSON.stringify(metafiles));
  writeFileSync(path.join(dist, 'THIRD-PARTY-NOTICES.txt'), thirdPartyNotices(root, Object.values(metafiles)));
  const faults = results.flatMap((entry) => entry.faults);
  for (const fault of faults) console.error(`build: ${fault}`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}

/** @param {import('./scripts/build/bundles.mjs').Bundle} bundle */
async function result(bundle) {
  if (!existsSync(path.join(root, bundle.entry))) return { bundle, faults: [`${bundle.name}: its entry ${bundle.entry} does not exist`] };
  try {
    const { metafile } = await buildBundle(bundle);
    return { bundle, metafile, faults: [...bundleFaults(bundle, metafile, { checkSize: !dev }), ...finish(bundle, metafile)] };
  } catch {
    return { bundle, faults: [`${bundle.name}: not built, see above`] };
  }
}

/** Says the size and makes a program executable. */
function finish(bundle, metafile) {
  const file = `dist/${bundle.name}.cjs`;
  console.log(`${file.padEnd(24)} ${kilobytes(metafile.outputs[file].bytes)} of ${kilobytes(bundle.budget)}`);
  if (!bundle.program) return [];
  chmodSync(path.join(root, file), 0o755);
  const start = readFileSync(path.join(root, file), 'utf8').slice(0, 20);
  return start.startsWith('#!/usr/bin/env node') ? [] : [`${bundle.name}: its entry must begin with \`#!/usr/bin/env node\``];
}

function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(0)} kB`;
}

await main();
