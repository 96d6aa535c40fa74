/** What a finished .vsix may hold. */
import type { ZipEntry } from './zip-entries.ts';

/** Names in the archive; vsce adds the first two and renames LICENSE. */
const allowed: readonly RegExp[] = [
  /^\[Content_Types\]\.xml$/,
  /^extension\.vsixmanifest$/,
  /^extension\/package(?:\.nls(?:\.de)?)?\.json$/,
  /^extension\/(?:readme|README|changelog|CHANGELOG)\.md$/,
  /^extension\/LICENSE(?:\.txt)?$/,
  /^extension\/dist\/(?:(?:extension|replay-worker|store-worker|twin|sinks|german|cli)\.cjs|THIRD-PARTY-NOTICES\.txt)$/,
  /^extension\/media\/.+\.(?:svg|png|md|css|js)$/,
  /^extension\/media\/l10n\/bundle\.l10n\.\w+\.json$/,
];

const required = [
  'extension/package.json',
  'extension/package.nls.json',
  'extension/dist/extension.cjs',
  'extension/dist/replay-worker.cjs',
  'extension/dist/store-worker.cjs',
  'extension/dist/twin.cjs',
  'extension/dist/sinks.cjs',
  'extension/dist/german.cjs',
  'extension/dist/cli.cjs',
  'extension/LICENSE.txt',
];

/** More files than this is a packaging mistake (vsce itself warns at 100). */
const mostFiles = 60;

/** Empty when the archive holds what it must and nothing else. */
export function packageFaults(entries: readonly ZipEntry[]): readonly string[] {
  const names = entries.map(({ name }) => name);
  const surprising = names.filter((name) => !allowed.some((pattern) => pattern.test(name)));
  const missing = required.filter((name) => !names.includes(name));
  return [
    ...surprising.map((name) => `${name} must not be in the package (.vscodeignore)`),
    ...missing.map((name) => `${name} is missing`),
    ...(names.length > mostFiles ? [`${names.length} files are more than ${mostFiles}`] : []),
  ];
}
