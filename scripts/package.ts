/**
 * `npm run package [-- --out FILE]`: builds and packs one .vsix for all platforms, then looks into it. Prints the archive's path last.
 * `npm run package -- --all DIR`: everything that a release has, and SHA256SUMS; the same bytes from the same commit.
 * Exit 1 when an archive holds too much or too little.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createVSIX } from '@vscode/vsce';
import { readManifest } from './package/manifest.ts';
import { packageFaults } from './package/package-faults.ts';
import { dateOfRelease, writeRelease } from './package/release.ts';
import { zipEntries } from './package/zip-entries.ts';

const root = path.join(import.meta.dirname, '..');
const { values } = parseArgs({ options: { out: { type: 'string' }, all: { type: 'string' } } });
const manifest = readManifest(root);
const out = path.resolve(values.out ?? path.join(values.all ?? root, `${manifest.name}-${manifest.version}.vsix`));

const build = spawnSync(process.execPath, [path.join(root, 'esbuild.mjs')], { cwd: root, stdio: 'inherit' });
if (build.status !== 0) process.exit(1);

mkdirSync(path.dirname(out), { recursive: true });
const date = dateOfRelease(root);
// vsce dates and orders the archive's entries by it.
process.env['SOURCE_DATE_EPOCH'] = String(date.getTime() / 1000);
// The bundles hold every dependency, so none is packed; vsce also scans for secrets and checks the manifest.
await createVSIX({ cwd: root, packagePath: out, dependencies: false });

const entries = zipEntries(out);
for (const entry of entries.toSorted((a, b) => b.packed - a.packed)) {
  console.log(`${String(entry.packed).padStart(9)} ${String(entry.size).padStart(9)}  ${entry.name}`);
}
const faults = packageFaults(entries);
for (const fault of faults) console.error(`package: ${fault}`);
console.log(`package: ${entries.length} files, ${(statSync(out).size / 1000).toFixed(0)} kB`);
if (values.all !== undefined) for (const line of await writeRelease({ root, folder: path.dirname(out), manifest, date })) console.log(line);
console.log(out);
process.exitCode = faults.length > 0 ? 1 : 0;
