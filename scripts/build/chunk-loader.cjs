/**
 * What a packed bundle begins with (pack-chunks.mjs). The chunks are the text of a comment, which the engine skips: each is compiled when
 * something requires it. `chunks`, `index` and `entry` are put before this file. Plain JavaScript that Node 20 can run.
 */
/* global chunks, index, entry */
/* oxlint-disable typescript/no-require-imports -- CommonJS is all that the editor loads an extension as */
const { compileFunction } = require('node:vm');

// From memory, and not from the file: that may have been replaced by another version since.
const text = chunks.toString();
const modules = new Map();

/** @param {string} name a chunk's, or anything that can be required */
function load(name) {
  const place = index[name];
  if (place === undefined) return require(name);
  const known = modules.get(name);
  if (known !== undefined) return known.exports;
  const module = { exports: {} };
  modules.set(name, module);
  try {
    compile(place)(module.exports, load, module, __filename, __dirname, bundleUrl);
  } catch (thrown) {
    modules.delete(name);
    throw thrown;
  }
  return module.exports;
}

function compile([start, end, line]) {
  // Not by a regular expression: that takes 5 ms for what a call loads.
  const [first, ...marked] = text.slice(start, end).split('\x7f');
  const code = first + marked.map((part) => String.fromCharCode(Number.parseInt(part.slice(0, 4), 16)) + part.slice(4)).join('');
  const parameters = ['exports', 'require', 'module', '__filename', '__dirname', 'bundleUrl'];
  return compileFunction(code, parameters, { filename: __filename, lineOffset: line });
}

const bundleUrl = require('node:url').pathToFileURL(__filename).href;
module.exports = load(entry);
