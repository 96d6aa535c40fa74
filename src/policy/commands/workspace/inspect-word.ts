/** What a word makes the shell do while it is expanded. */

import { askFor } from './findings.ts';
import { readRedirects } from './redirects.ts';
import type { SyntaxNode } from './syntax-node.ts';
import { type Place, visit, type Walk } from './walk.ts';

/** `${NAME}`, lengths, defaults and cuts with plain text in them: nothing that assigns, names another variable or runs. */
const plainExpansion = /^\$\{#?[A-Za-z_0-9@*?#]+(?:\[[@*\w]+\])?(?:(?::?[-+?]|%%?|##?|\/[/#%]?|\^\^?|,,?|:)[^`$(){}<>&|;\\]*)?\}$/;
const plainArithmetic = /^[\s\w+\-*/%<>=!&|^~?:,()$]*$/;

const leaves: ReadonlySet<string> = new Set([
  'word',
  'raw_string',
  'number',
  'variable_name',
  'special_variable_name',
  'string_content',
  'comment',
  'heredoc_start',
  'heredoc_end',
  'heredoc_content',
  'file_descriptor',
  'test_operator',
  'regex',
  'ansi_c_string',
  'extglob_pattern',
]);

/** Judges every command in the word, and asks about expansions that are not known to be harmless. */
export function inspectWord(walk: Walk, node: SyntaxNode, place: Place): void {
  switch (node.type) {
    case 'command_substitution':
    case 'process_substitution':
      return inspectSubstitution(walk, node, place);
    case 'expansion':
      if (!plainExpansion.test(node.text))
        walk.found.push(askFor('unclear', node.startIndex, `\`${node.text.slice(0, 60)}\` is not known before it runs`));
      return;
    case 'arithmetic_expansion':
      if (!plainArithmetic.test(node.text.slice(3, -2)))
        walk.found.push(askFor('unclear', node.startIndex, 'arithmetic that could run a command'));
      return;
    case 'translated_string':
      walk.found.push(askFor('unclear', node.startIndex, '`$"…"`, a translated string'));
      return;
    default:
      if (/^(?:word|regex|extglob_pattern|test_operator|number)$/.test(node.type) && /\$\(|`/.test(node.text)) {
        walk.found.push(askFor('unclear', node.startIndex, 'text that holds a command'));
      }
      if (!leaves.has(node.type)) for (const child of node.namedChildren) inspectWord(walk, child, place);
  }
}

function inspectSubstitution(walk: Walk, node: SyntaxNode, place: Place): void {
  const inside: Place = { directories: place.directories, input: 'none', inFunction: place.inFunction };
  readRedirects(walk, node, inside);
  let { directories } = inside;
  for (const child of node.namedChildren) {
    if (child.type === 'file_redirect') continue;
    directories = visit(walk, child, { ...inside, directories });
  }
}
