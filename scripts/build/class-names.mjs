import { readFileSync } from 'node:fs';
import path from 'node:path';
import { transform } from 'esbuild';

/**
 * Packages whose code looks at the name of a class of its own. Minified, those names are gone; keeping all names of a bundle (`keepNames`)
 * makes every closure cost a property definition when it is made, which a call through the pipeline does hundreds of times.
 */
const keptPackages = {
  iovalkey: '`MaxRetriesPerRequestError` and `ClusterAllFailedError` are known by the `name` that is their constructor’s',
  'redis-errors': '`ReplyError`, by which the store knows what the server refused, has its constructor’s name',
  ssh2: 'the server side of a channel is told from the client’s by `Session`',
};

/** Packages that look at names which minifying does not change, or only to say them. */
const harmlessPackages = {
  qr: 'knows `Uint8Array` of another realm by its name, and only in its byte mode for binary input',
  undici: 'compares with the names of classes that are built in, and with types of its `fetch`, which is not used',
  zod: 'says of what class a value is, which for JSON is a built-in one; and what a schema that cannot encode is',
};

const looksAtName = /\bconstructor\s*\??\.\s*name\b|\bnew\.target\s*\.\s*name\b/;

/**
 * Keeps the names of functions and classes in the packages above, and nowhere else.
 * @type {import('esbuild').Plugin}
 */
export const keepClassNames = {
  name: 'keep-class-names',
  setup(build) {
    const filter = new RegExp(`[\\\\/]node_modules[\\\\/](?:${Object.keys(keptPackages).join('|')})[\\\\/].*\\.[cm]?js$`);
    build.onLoad({ filter }, async ({ path: file }) => {
      const text = readFileSync(file, 'utf8');
      const { code } = await transform(text, { keepNames: true, platform: 'node', sourcefile: path.basename(file), sourcemap: 'inline' });
      return { contents: code, loader: 'js', resolveDir: path.dirname(file) };
    });
  },
};

/**
 * Inputs that look at the name of a class though nobody has said whether they may.
 * @param {string} root the repository
 * @param {import('esbuild').Metafile} metafile
 * @returns {string[]} empty when all is well
 */
export function classNameFaults(root, metafile) {
  return Object.keys(metafile.inputs)
    .filter((input) => /\.[cm]?[jt]s$/.test(input) && !isKnown(input) && looksAtName.test(textOf(root, input)))
    .map((input) => `${input} looks at the name of a class, which minifying takes away; see scripts/build/class-names.mjs`);
}

/** @param {string} input */
function isKnown(input) {
  const name = /(?:^|.*\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
  return name !== undefined && (Object.hasOwn(keptPackages, name) || Object.hasOwn(harmlessPackages, name));
}

/**
 * @param {string} root
 * @param {string} input a path as esbuild's metafile has it; one of a plugin's own has no file
 */
function textOf(root, input) {
  try {
    return readFileSync(path.join(root, input), 'utf8');
  } catch {
    return '';
  }
}
