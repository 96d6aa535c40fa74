/** What a word makes the shell do while it is expanded. */

import { judgeFilled } from './environment.ts';
import { askFor } from './findings.ts';
import { readRedirects } from './redirects.ts';
import { isSecretVariable, printsEnvironment } from './secret-variables.ts';
import { isJob, type SyntaxNode } from './syntax-node.ts';
import type { Place, Walk } from './walk-state.ts';

/** `${NAME}`, lengths, defaults and cuts with plain text in them: nothing that assigns, names another variable or runs. */
const plainExpansion =
  /^\$\{!\w+\[[@*]\]\}$|^\$\{#?[A-Za-z_0-9@*?#]+(?:\[[@*\w]+\])?(?:(?::?[-+?=]|%%?|##?|\/[/#%]?|\^\^?|,,?|:)[^`$(){}<>&|;\\]*)?\}$/;
const plainArithmetic = /^(?!.*\$\()[\s\w+\-*/%<>=!&|^~?:,()$#]*$/s;

/** Commands that print a number and nothing else, whatever is in the files. */
const numberPrinter = /\$\((?:date (?:-u )?\+%s(?:%3?N)?|nproc|wc -[clmw] < ?(?:[\w./-]+|"[\w./ -]+")|[^()$`"'\\]*\| *wc -[clmw] *)\)/g;

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
  const fault = faultOf(node);
  if (fault !== undefined) walk.found.push(askFor('unclear', node.startIndex, fault));
  if (/^(?:simple_)?expansion$/.test(node.type)) inspectVariable(walk, node);
  if (node.type === 'arithmetic_expansion') inspectNumbers(walk, node, place);
  if (/^(?:command|process)_substitution$/.test(node.type)) inspectSubstitution(walk, node, place);
  else if (!leaves.has(node.type) && !node.type.endsWith('expansion'))
    for (const child of node.namedChildren) inspectWord(walk, child, place);
}

/** `$(( $(date +%s) - start ))`: the commands in it. */
function inspectNumbers(walk: Walk, node: SyntaxNode, place: Place): void {
  for (const child of node.namedChildren)
    if (child.type === 'command_substitution') inspectSubstitution(walk, child, place);
    else inspectNumbers(walk, child, place);
}

function inspectVariable(walk: Walk, { text, startIndex }: SyntaxNode): void {
  const name = /^\s*\$\{?(\w+)/.exec(text)?.[1] ?? '';
  const fills = /^\s*\$\{\w+:?=/.test(text);
  if (fills) walk.found.push(...judgeFilled(name, startIndex));
  if (isSecretVariable(name) && (fills || !walk.variables.has(name))) walk.found.push(printsEnvironment(startIndex, `\`$${name}\``));
}

function faultOf({ type, text }: SyntaxNode): string | undefined {
  switch (type) {
    case 'expansion':
      return plainExpansion.test(text.trimStart()) ? undefined : `\`${text.slice(0, 60)}\` is not known before it runs`;
    case 'arithmetic_expansion':
      return plainArithmetic.test(text.slice(3, -2).replace(numberPrinter, '1')) ? undefined : 'arithmetic that could run a command';
    case 'translated_string':
      return '`$"…"`, a translated string';
    default:
      return /^(?:word|regex|extglob_pattern|test_operator|number)$/.test(type) && /\$\(|`/.test(text)
        ? 'text that holds a command'
        : undefined;
  }
}

function inspectSubstitution(walk: Walk, node: SyntaxNode, place: Place): void {
  walk.judged.add(node);
  const inside: Place = { directories: place.directories, input: 'none', inFunction: place.inFunction };
  readRedirects(walk, node, inside);
  let { directories } = inside;
  for (const child of node.namedChildren) {
    if (child.type === 'file_redirect') continue;
    const { ended } = walk.visit(child, { ...inside, directories });
    if (!isJob(child)) directories = ended;
  }
}
