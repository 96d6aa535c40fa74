/** Redirections: files that are written or read, text that becomes input. */

import { decodeWord } from './decode-word.ts';
import { askFor } from './findings.ts';
import { judgePath } from './judge-path.ts';
import { isEndlessDevice } from './machine-facts.ts';
import { childOf, type SyntaxNode } from './syntax-node.ts';
import { type Place, pathScope, type Walk, wordScope } from './walk-state.ts';

type Input = Partial<Pick<Place, 'input' | 'inputText' | 'listed'>>;

/** Judges the redirections of a statement and says what its standard input becomes. */
export function readRedirects(walk: Walk, node: SyntaxNode, place: Place): Input {
  let input: Input = {};
  for (const child of node.namedChildren) {
    if (child.type === 'file_redirect') input = { ...input, ...readFile(walk, child, place) };
    else if (child.type === 'heredoc_redirect') input = { ...input, ...readHereDocument(walk, child, place) };
    else if (child.type === 'herestring_redirect') input = { ...input, ...readHereString(walk, child, place) };
  }
  return input;
}

function readFile(walk: Walk, node: SyntaxNode, place: Place): Input {
  walk.judged.add(node);
  const operator = node.children.find((child) => !child.isNamed)?.type ?? '';
  const target = childOf(node, 'destination');
  if (isDescriptor(operator, target)) return operator === '<&' ? comesFrom('file') : {};
  if (target === undefined) walk.found.push(askFor('unclear', node.startIndex, 'a redirection without a file'));
  else judgeTarget(walk, target, { place, action: operator === '<' ? 'read' : 'write' });
  if (operator !== '<') return {};
  return comesFrom(target?.type === 'process_substitution' ? 'pipe' : 'file');
}

/** SECURITY: what a pipe before it would have brought does not come in. */
function comesFrom(input: Place['input'], inputText?: string): Input {
  return { input, inputText, listed: undefined };
}

/** `2>&1`, `>&-`: no file. */
function isDescriptor(operator: string, target: SyntaxNode | undefined): boolean {
  return /^[<>]&-?$/.test(operator) && (target === undefined || /^\d+-?$|^-$/.test(target.text));
}

function judgeTarget(
  walk: Walk,
  target: SyntaxNode,
  { place, action }: { readonly place: Place; readonly action: 'read' | 'write' },
): void {
  walk.inspect(target, place);
  if (target.type === 'process_substitution') return;
  const word = decodeWord(target, wordScope(walk, place));
  if (word.values === undefined)
    walk.found.push(askFor('unclear', target.startIndex, `\`${target.text.slice(0, 60)}\`: the file is not known before it runs`));
  for (const text of word.values ?? []) {
    if (action === 'read' && place.takesPart && isEndlessDevice(text)) continue;
    walk.found.push(...judgePath({ text, glob: word.glob, offset: target.startIndex }, action, pathScope(walk, place)));
  }
}

/** `cat <<EOF | x` hands the text on as it is. */
function isHandedOn({ parent }: SyntaxNode): boolean {
  return parent !== undefined && /^cat(?: -)?$/.test(childOf(parent, 'body')?.text ?? '');
}

function readHereDocument(walk: Walk, node: SyntaxNode, place: Place): Input {
  walk.judged.add(node);
  const body = node.namedChildren.find((child) => child.type === 'heredoc_body');
  const start = node.namedChildren.find((child) => child.type === 'heredoc_start')?.text ?? '';
  const read: Input = body === undefined ? comesFrom('text') : readBody(walk, body, { place, isRaw: /^['"\\]/.test(start) });
  const handed = isHandedOn(node) ? read.inputText : undefined;
  for (const child of node.namedChildren) {
    if (child.type === 'file_redirect') readFile(walk, child, place);
    // What stands behind `<<EOF` on its line: `| sh`, `&& x`.
    else if (!/^(?:heredoc_.*|file_descriptor)$/.test(child.type))
      walk.visit(child, { directories: place.directories, input: 'pipe', inputText: handed, inFunction: place.inFunction });
  }
  return read;
}

/** A quoted delimiter keeps the text as it is; else it is expanded as in double quotes. */
function readBody(walk: Walk, body: SyntaxNode, { place, isRaw }: { readonly place: Place; readonly isRaw: boolean }): Input {
  if (!isRaw) {
    for (const child of body.namedChildren) walk.inspect(child, place);
    // The grammar sees no backquotes here.
    if (/(?<!\\)(?:\\\\)*(?:`|\$[({[])/.test(plainText(body)))
      walk.found.push(askFor('unclear', body.startIndex, 'a here-document that holds a command; quote its delimiter'));
  }
  return comesFrom('text', isRaw || !/[$`\\]/.test(body.text) ? body.text : undefined);
}

/** The text between the expansions. */
function plainText({ text, startIndex, children }: SyntaxNode): string {
  let left = text;
  for (const { type, startIndex: from, endIndex } of children) {
    if (type !== 'heredoc_content')
      left = left.slice(0, from - startIndex) + ' '.repeat(endIndex - from) + left.slice(endIndex - startIndex);
  }
  return left;
}

function readHereString(walk: Walk, node: SyntaxNode, place: Place): Input {
  walk.judged.add(node);
  const [target] = node.namedChildren;
  if (target === undefined) return comesFrom('text');
  walk.inspect(target, place);
  const word = decodeWord(target, wordScope(walk, place));
  return comesFrom('text', word.values?.length === 1 ? word.values[0] : undefined);
}
