/**
 * SECURITY: a tree can leave out text, and hold signs of the shell in what it takes for a plain word. tree-sitter's bash grammar (0.25.1) does both
 * on odd input, so the tree is held against the text: what stands between its nodes must be blank, and a word must hold no operator.
 */
import type { SyntaxNode } from './syntax-node.ts';

/** Where the tree cannot be trusted; undefined where nothing speaks against it. `all`: its nodes. */
export function unreadText(text: string, all: readonly SyntaxNode[]): number | undefined {
  const [root] = all;
  const around = root === undefined ? text : text.slice(0, root.startIndex) + text.slice(root.endIndex);
  if (around.trim() !== '') return 0;
  for (const node of all) {
    const offset = gapIn(node) ?? signIn(node) ?? misshapen(node) ?? startsProcess(node, text) ?? misplaced(node, text);
    if (offset !== undefined) return offset;
  }
  return undefined;
}

/** Their text is between their nodes. */
const holdText = /^(?:string|translated_string|heredoc_body|heredoc_redirect|expansion|regex|concatenation)$/;

function gapIn({ type, text, startIndex, endIndex, children }: SyntaxNode): number | undefined {
  if (children.length === 0 || holdText.test(type)) return undefined;
  let at = startIndex;
  for (const child of children) {
    if (child.startIndex > at && isUnread(text.slice(at - startIndex, child.startIndex - startIndex), child.type)) return at;
    at = child.endIndex;
  }
  return endIndex > at && isUnread(text.slice(at - startIndex), '') ? at : undefined;
}

/** `before`: what stands behind the gap. `python3 - <<E`: the grammar loses the name of the standard input. */
function isUnread(gap: string, before: string): boolean {
  const left = gap.trim();
  return left !== '' && !(left === '-' && before === 'heredoc_redirect');
}

const words = /^(?:word|regex|extglob_pattern|test_operator|number|variable_name|special_variable_name|file_descriptor)$/;
/** An unescaped sign that ends a word, quotes or expands. */
const sign = /(?<!\\)(?:\\\\)*(?:[\s;&|<>()`"']|\$[({\w'"])/;

/** What a node of a type must look like; the rest of one that looks otherwise is text that nobody read. */
const shapes: Readonly<Record<string, RegExp>> = {
  // `$'\\'; id '`: for the grammar the quote behind two backslashes is an escaped one.
  ansi_c_string: /^\$'(?:[^'\\]|\\[\s\S])*'$/,
  // A `$`, a newline and `$(id)` in quotes: for the grammar `$$` with a newline in it. A blank between two expansions belongs to the second.
  simple_expansion: /^\s*\$(?:\s+\w+|[A-Za-z_]\w*|\d|[@*#?$!_-])$/,
};

function misshapen({ type, text, startIndex, isNamed }: SyntaxNode): number | undefined {
  // ``a``b``: the end of one substitution and the start of another, for the grammar a sign within the first. `$_{a,b}`: a brace that begins at the `$`.
  if (!isNamed) return type !== '``' && (text === type || text.trim() === type || text === '$$') ? undefined : startIndex;
  const shape = Object.hasOwn(shapes, type) ? shapes[type] : undefined;
  return shape === undefined || shape.test(text) ? undefined : startIndex;
}

/** `x=(a)#b`, `[ a ]#b`: no comment for bash; `[[a]`: a word. */
function misplaced({ type, startIndex, endIndex, parent }: SyntaxNode, text: string): number | undefined {
  if (type === 'comment') return beginsWord.test(text.slice(0, startIndex)) ? undefined : startIndex;
  if (parent?.type !== 'test_command' || !/^(?:\[\[?|\]\]?)$/.test(type)) return undefined;
  const standsAlone = beginsWord.test(text.slice(0, startIndex)) && /^(?:[\s;&|)`]|$)/.test(text.slice(endIndex));
  return standsAlone ? undefined : startIndex;
}

const beginsWord = /(?:^|(?<!\\)(?:\\\\)*[\s;&|(`])$/;

/** One that runs something wherever it stands. */
const running = /(?<!\\)(?:\\\\)*(?:[<>$]\(|`)/;

/** `[[ a == b<(id) ]]`: for the grammar a comparison, for bash a command. */
function startsProcess({ type, startIndex, endIndex }: SyntaxNode, text: string): number | undefined {
  return (type === '<' || type === '>') && text.charAt(endIndex) === '(' ? startIndex : undefined;
}

/** In `[[ … ]]`, a pattern of `case` and an expansion such signs may be plain characters. */
function signIn(node: SyntaxNode): number | undefined {
  if (node.children.length > 0 || !words.test(node.type)) return undefined;
  return (standsIn(node.parent) ? running : sign).test(node.text) ? node.startIndex : undefined;
}

function standsIn(parent: SyntaxNode | undefined): boolean {
  if (parent === undefined) return false;
  if (parent.type === 'test_command') return parent.children[0]?.type === '[[';
  if (/^(?:expansion|case_item|arithmetic_expansion)$/.test(parent.type)) return true;
  return /^(?:concatenation|binary_expression|unary_expression|parenthesized_expression)$/.test(parent.type) && standsIn(parent.parent);
}
