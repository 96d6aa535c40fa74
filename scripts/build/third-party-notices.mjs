import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/**
 * The licence texts of every package that got into a bundle, as their licences ask for.
 * @param {string} root
 * @param {import('esbuild').Metafile[]} metafiles
 * @returns {string}
 */
export function thirdPartyNotices(root, metafiles) {
  const parts = bundledPackages(metafiles).map((folder) => notice(path.join(root, folder)));
  return `Banksman contains these packages:\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

/**
 * @param {import('esbuild').Metafile[]} metafiles
 * @returns {string[]} the folder of each package, below `root`
 */
export function bundledPackages(metafiles) {
  const folders = metafiles.flatMap((metafile) => Object.keys(metafile.inputs).map(packageFolder)).filter((name) => name !== undefined);
  return [...new Set(folders)].toSorted();
}

/**
 * @param {string} input a path as esbuild's metafile has it
 * @returns {string | undefined} undefined for our own sources
 */
function packageFolder(input) {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
}

/** @param {string} folder */
function notice(folder) {
  const { name, version, license, licenses } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((entry) => /^(?:licen[cs]e|copying)(?:\.|$)/i.test(entry));
  const text = file === undefined ? 'no licence file in the package' : readFileSync(path.join(folder, file), 'utf8').trim();
  return `${name} ${version} (${license ?? licenses?.[0]?.type ?? 'see below'})\n\n${text}\n`;
}
