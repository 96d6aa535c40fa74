// Bundles the three entry points: `node esbuild.mjs [--dev]`. Plain JavaScript, so that F5 and CI need nothing but Node and esbuild.
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { bundleFaults } from './scripts/build/bundle-faults.mjs';
import { banner, commonOptions } from './scripts/build/bundle-options.mjs';
import { bundles } from './scripts/build/bundles.mjs';
import { classNameFaults, keepClassNames } from './scripts/build/class-names.mjs';
import { noExamples } from './scripts/build/no-examples.mjs';
import { packBundle } from './scripts/build/pack-chunks.mjs';
import { slimUndici } from './scripts/build/slim-undici.mjs';
import { thirdPartyNotices } from './scripts/build/third-party-notices.mjs';

const root = path.dirname(fileURLToPath(import.meta.url));
const dist = path.join(root, 'dist');
const dev = process.argv.includes('--dev');

/** @param {import('./scripts/build/bundles.mjs').Bundle} bundle */
function optionsFor(bundle) {
  const { plugins, ...common } = commonOptions(root);
  return {
    ...common,
    entryPoints: [bundle.entry],
    target: bundle.target,
    external: bundle.external,
    plugins: [...plugins, slimUndici, keepClassNames, noExamples, ownFiles(bundle)],
    minify: !dev,
    metafile: true,
    write: false,
  };
}

// Source maps lie beside the bundles for whoever debugs a stack, and are not shipped.

/** @param {import('./scripts/build/bundles.mjs').Bundle} bundle */
async function buildWhole(bundle) {
  const { metafile, outputFiles } = await build({
    ...optionsFor(bundle),
    outfile: `dist/${bundle.name}.cjs`,
    format: 'cjs',
    // A file that is loaded later is required: the editor's own loader knows that way alone.
    supported: { 'dynamic-import': false },
    banner,
    sourcemap: dev ? 'linked' : 'external',
  });
  return { metafile, files: outputFiles.map((output) => ({ name: path.basename(output.path), contents: output.text })) };
}

/** @param {import('./scripts/build/bundles.mjs').Bundle} bundle */
async function buildPacked(bundle) {
  const { metafile, code, map } = await packBundle(bundle, optionsFor(bundle));
  const file = `${bundle.name}.cjs`;
  const files = [
    { name: file, contents: dev ? `${code}//# sourceMappingURL=${file}.map\n` : code },
    { name: `${file}.map`, contents: map },
  ];
  return { metafile, files };
}

/** What a program loads later, and only sometimes, lies beside it in a file of its own. The command line has the twin inside, for its demo. */
const laterFiles = [
  { filter: /(?:^|\/)twin\.ts$/, file: './twin.cjs', of: ['extension'] },
  { filter: /(?:^|\/)tell-trail\.ts$/, file: './sinks.cjs', of: ['extension', 'cli'] },
  { filter: /(?:^|\/)german\.ts$/, file: './german.cjs', of: ['cli'] },
];

/** @param {import('./scripts/build/bundles.mjs').Bundle} bundle */
function ownFiles({ name }) {
  return {
    name: 'own-files',
    setup({ onResolve }) {
      for (const { filter, file, of } of laterFiles)
        if (of.includes(name))
          onResolve({ filter }, ({ kind }) => (kind === 'dynamic-import' ? { path: file, external: true } : undefined));
    },
  };
}

async function main() {
  mkdirSync(dist, { recursive: true });
  const results = await Promise.all(bundles.map(result));
  const metafiles = Object.fromEntries(results.filter(({ metafile }) => metafile).map(({ bundle, metafile }) => [bundle.name, metafile]));
  replaceFile('metafile.json', JSON.stringify(metafiles));
  replaceFile('THIRD-PARTY-NOTICES.txt', thirdPartyNotices(root, Object.values(metafiles)));
  const faults = results.flatMap((entry) => entry.faults);
  for (const fault of faults) console.error(`build: ${fault}`);
  process.exitCode = faults.length > 0 ? 1 : 0;
}

/** @param {import('./scripts/build/bundles.mjs').Bundle} bundle */
async function result(bundle) {
  if (!existsSync(path.join(root, bundle.entry))) return { bundle, faults: [`${bundle.name}: its entry ${bundle.entry} does not exist`] };
  try {
    const { metafile, files } = await (bundle.loads === undefined ? buildWhole(bundle) : buildPacked(bundle));
    for (const { name, contents } of files) replaceFile(name, contents, bundle.program && name.endsWith('.cjs') ? 0o755 : 0o644);
    const size = metafile.outputs[`dist/${bundle.name}.cjs`].bytes;
    console.log(`${`dist/${bundle.name}.cjs`.padEnd(24)} ${kilobytes(size)} of ${kilobytes(bundle.budget)}`);
    const names = classNameFaults(root, metafile).map((fault) => `${bundle.name}: ${fault}`);
    return {
      bundle,
      metafile,
      faults: [...bundleFaults(bundle, metafile, { checkSize: !dev }), ...shebangFaults(bundle, files), ...names],
    };
  } catch (error) {
    // What esbuild found it has said itself.
    return { bundle, faults: [`${bundle.name}: not built${error.errors ? ', see above' : `: ${error.message}`}`] };
  }
}

/** At once and whole: a program that starts meanwhile gets the old file or the new one. */
function replaceFile(name, contents, mode = 0o644) {
  const temporary = path.join(dist, `.${name}.${process.pid}`);
  writeFileSync(temporary, contents, { mode });
  renameSync(temporary, path.join(dist, name));
}

function shebangFaults(bundle, files) {
  const code = files.find(({ name }) => name === `${bundle.name}.cjs`)?.contents ?? '';
  if (!bundle.program || code.startsWith('#!/usr/bin/env node\n')) return [];
  return [`${bundle.name}: its entry must begin with \`#!/usr/bin/env node\``];
}

function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(0)} kB`;
}

await main();
