import { readFileSync } from 'node:fs';
import { parse, print } from '@swc/core';

const exampleKeys = new Set(['match', 'notMatch']);

/**
 * Leaves the examples of rules (`match`, `notMatch`: lines that a test runs through each rule) out of what is shipped: a third of what the
 * rules weigh, and nothing reads them at run time. A value that is anything but text stays, and so does a computed one.
 * @type {import('esbuild').Plugin}
 */
export const noExamples = {
  name: 'no-examples',
  setup(build) {
    build.onLoad({ filter: /[\\/]src[\\/]policy[\\/].*\.ts$/ }, async ({ path: file }) => {
      const text = readFileSync(file, 'utf8');
      if (!/\bnotMatch:/.test(text)) return undefined;
      const program = await parse(text, { syntax: 'typescript', target: 'esnext' });
      removeExamples(program);
      return { contents: (await print(program, { jsc: { target: 'esnext' } })).code, loader: 'ts' };
    });
  },
};

/** Takes the properties out of every object literal below. */
function removeExamples(node) {
  if (Array.isArray(node)) {
    for (const entry of node) removeExamples(entry);
  } else if (typeof node === 'object' && node !== null) {
    if (node.type === 'ObjectExpression') node.properties = node.properties.filter((property) => !isExample(property));
    for (const value of Object.values(node)) removeExamples(value);
  }
}

function isExample(property) {
  return property.type === 'KeyValueProperty' && exampleKeys.has(property.key?.value) && isText(property.value);
}

/** A text, a list of texts, or `String.raw` of one. */
function isText(value) {
  if (value.type === 'ArrayExpression') return value.elements.every((element) => element?.spread == null && isText(element.expression));
  if (value.type === 'TaggedTemplateExpression') return value.template.expressions.length === 0;
  return value.type === 'StringLiteral' || (value.type === 'TemplateLiteral' && value.expressions.length === 0);
}
