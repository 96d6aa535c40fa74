/**
 * One file out of a bundle that esbuild has split: its chunks are kept in a comment, and each is compiled when something imports it
 * (chunk-loader.cjs). The engine looks at every character of a program before it runs any of it, except those of comments.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { build, transform } from 'esbuild';

const loader = readFileSync(path.join(import.meta.dirname, 'chunk-loader.cjs'), 'utf8');

/**
 * @param {Pick<import('./bundles.mjs').Bundle, 'name' | 'entry' | 'target'>} bundle `target` is that of the entry's own chunk and of the loader: an
 * older Node sees no other
 * @param {import('esbuild').BuildOptions} options without form and place
 * @returns {Promise<{ metafile: import('esbuild').Metafile, code: string, map: string }>} the file; the map is an index map (ECMA-426) with a
 * section for each chunk
 */
export async function packBundle({ name, entry, target }, options) {
  const split = { target: 'node24', outdir: 'dist', format: 'esm', splitting: true, sourcemap: 'inline' };
  const { metafile, outputFiles } = await build({ ...options, ...split, metafile: true, write: false });
  const { outputs } = metafile;
  const texts = new Map(outputFiles.map((file) => [path.basename(file.path), file.text]));
  const first = Object.keys(outputs).find((output) => outputs[output].entryPoint === entry);
  const minify = options.minify === true;
  const chunks = await Promise.all(
    Object.keys(outputs).map(async (output) => {
      const file = path.basename(output);
      const chunk = await toCommonJs(texts.get(file), { minify, ...(output === first ? { target } : {}) });
      return { name: `./${file}`, ...chunk, code: chunk.code + (isCommonJs(metafile, output) ? wholeExports : '') };
    }),
  );
  const start = texts.get(path.basename(first)).startsWith('#!') ? '#!/usr/bin/env node\n' : '';
  const { code: loaderCode } = await transform(loader, { target, minify, platform: 'node' });
  const packed = writePack(chunks, start, `,entry=${JSON.stringify(`./${path.basename(first)}`)};${loaderCode}`);
  const imports = Object.values(outputs).flatMap((output) => output.imports.filter(({ external }) => external));
  outputs[`dist/${name}.cjs`] = { bytes: Buffer.byteLength(packed.code), imports, exports: [], inputs: {} };
  return { metafile, ...packed };
}

/** A CommonJS package that is imported later: esbuild's chunk has its exports as \`default\`, and whoever imports it expects their names. */
const wholeExports = 'module.exports=module.exports.default;';

function isCommonJs({ inputs, outputs }, output) {
  return inputs[outputs[output].entryPoint]?.format === 'cjs';
}

/** Each `import` as a `require` of the loader's. */
function toCommonJs(text, options) {
  const commonJs = { format: 'cjs', platform: 'node', supported: { 'dynamic-import': false }, sourcemap: 'external' };
  return transform(text.replace(/^#!.*/, ''), { ...commonJs, ...options });
}

function writePack(chunks, start, loaderCode) {
  const opening = 'function(){/*\n';
  const lines = (text) => text.split('\n').length - 1;
  const head = `${start}const chunks=${opening}`;
  let place = { at: opening.length, line: lines(head) };
  const index = {};
  const sections = [];
  const bodies = chunks.map(({ name, code, map }) => {
    const body = escapeComment(`${code}\n`);
    const { at, line } = place;
    index[name] = [at, at + body.length, line];
    sections.push({ offset: { line, column: 0 }, map: JSON.parse(map) });
    place = { at: at + body.length, line: line + lines(body) };
    return body;
  });
  const code = `${head}${bodies.join('')}*/},index=${JSON.stringify(index)}${loaderCode}`;
  return { code, map: JSON.stringify({ version: 3, sections }) };
}

/** What would end the comment, and what is not ASCII: a file that holds nothing else is read and looked through faster. */
function escapeComment(code) {
  const mark = (character) => `\u007f${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return code.replace(/\*\/|[^\n\x20-\x7e]/g, (found) => (found === '*/' ? `*${mark('/')}` : mark(found)));
}
