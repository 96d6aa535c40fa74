/**
 * SECURITY: `[ … ]` is a command like any other for bash, so an operator within ends it, starts another one or writes a file
 * (`[ a || sudo id ]`, `[ a > file ]`); tree-sitter's bash grammar (0.25.1) reads it as an expression, as `[[ … ]]` is.
 */
import type { Decision } from '#kernel/decision';
import { askFor } from './findings.ts';
import type { SyntaxNode } from './syntax-node.ts';

/** What speaks against the tests of a command line. `all`: the nodes of its tree. */
export function judgeSingleBrackets(all: readonly SyntaxNode[]): readonly Decision[] {
  return all
    .filter((node) => node.type === 'test_command' && node.children[0]?.type === '[')
    .flatMap((node) => (breaksLine(node) ? [node] : operatorsIn(node.children)))
    .map((node) =>
      askFor('unclear', node.startIndex, `\`${node.text.slice(0, 60)}\` within \`[ … ]\`, where the shell's own operators end the test`),
    );
}

/** A newline between its words ends it, too. */
function breaksLine(node: SyntaxNode): boolean {
  const { text, startIndex, children } = node;
  return children.some((child, index) => {
    const before = children[index - 1];
    const gap = before === undefined ? '' : text.slice(before.endIndex - startIndex, child.startIndex - startIndex);
    return gap.includes('\n') || (expressions.test(child.type) && breaksLine(child));
  });
}

/** Words of the command; what is in them is a word's. */
const words =
  /^(?:word|number|string|raw_string|ansi_c_string|translated_string|concatenation|simple_expansion|expansion|arithmetic_expansion|command_substitution|brace_expression|test_operator|extglob_pattern|regex)$/;
const expressions = /^(?:binary_expression|unary_expression)$/;
/** Operators that are words of the command. */
const plain = /^(?:\[|\]|=|==|=~|!=|!|-[a-z]+|\+|-)$/;

function operatorsIn(nodes: readonly SyntaxNode[]): readonly SyntaxNode[] {
  return nodes.flatMap((node) => {
    if (words.test(node.type) || (!node.isNamed && plain.test(node.type))) return [];
    return expressions.test(node.type) ? operatorsIn(node.children) : [node];
  });
}
