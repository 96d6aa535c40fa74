/** What `$1`, `$2`, …, `$@` are in the functions of a command line: the words of every call of one of them. */
import { mayVanish, type ShellWord } from './shell-word.ts';
import { childOf, childrenOf, type SyntaxNode } from './syntax-node.ts';
import type { Variables, VariableValue } from './variable-value.ts';

const digits = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'];
/** A script of which nobody knows with which words it is called. */
export const unknownPositionals: Variables = new Map([...digits, '@', '*'].map((name) => [name, undefined]));

/** What they are in the text of `sh -c TEXT NAME WORD…`. */
export function givenPositionals(words: readonly ShellWord[]): Variables {
  const given = new Map<string, VariableValue | undefined>(unknownPositionals);
  for (const name of digits) given.set(name, wordAt(words, Number(name)));
  const list = words.slice(1);
  const values = list.flatMap((word) => word.values ?? []);
  if (list.every((word) => word.values !== undefined)) given.set('@', { values, glob: list.some((word) => word.glob), list });
  return given;
}

/** SECURITY: behind a word that may become several, or none, every word may be another than it seems. */
function wordAt(words: readonly ShellWord[], index: number): VariableValue | undefined {
  if (words.slice(0, index).some(mayBeSeveral)) return undefined;
  const word = words[index];
  if (word === undefined) return { values: [''], glob: false };
  return word.values === undefined ? undefined : { values: word.values, glob: word.glob };
}

function mayBeSeveral(word: ShellWord): boolean {
  // Quoted as a whole an unknown word is still one, `"$@"` aside.
  const isOne = word.values !== undefined || /^"(?!\$[@{])[^"]*"$/.test(word.source);
  return word.glob || word.names === true || mayVanish(word, { nullglob: true }) || !isOne;
}

/**
 * By the calls among `nodes`. SECURITY: unknown where `set` or `shift` moves them or where one stands outside a function, which has words of
 * its own.
 */
export function calledPositionals(nodes: readonly SyntaxNode[], decode: (node: SyntaxNode) => readonly ShellWord[]): Variables {
  const functions = new Set(nodes.filter((node) => node.type === 'function_definition').map((node) => childOf(node, 'name')?.text));
  if (functions.size === 0 || nodes.some((node) => moves(node) || standsOutside(node))) return unknownPositionals;
  const calls = nodes
    .filter((node) => node.type === 'command' && functions.has(childOf(node, 'name')?.text))
    .map((node) => childrenOf(node, 'argument').flatMap(decode));
  const found = new Map<string, VariableValue | undefined>(unknownPositionals);
  for (const name of digits.slice(1)) found.set(name, anyCall(calls, Number(name) - 1));
  const [only] = calls;
  const first = calls.length === 1 && only !== undefined ? givenPositionals([unnamed, ...only]).get('@') : undefined;
  found.set('@', first);
  return found;
}

const unnamed: ShellWord = { values: [''], glob: false, quoted: true, offset: 0, source: '' };

function anyCall(calls: readonly (readonly ShellWord[])[], index: number): VariableValue | undefined {
  const values = calls.map((words) => wordAt(words, index));
  if (calls.length === 0 || !values.every((value) => value !== undefined)) return undefined;
  return { values: [...new Set(values.flatMap((value) => value.values))], glob: values.some((value) => value.glob) };
}

/** Whether `$1` is what the script was given all along: functions have words of their own, and `set` and `shift` move them. */
export function keepsPositionals(nodes: readonly SyntaxNode[]): boolean {
  return !nodes.some((node) => node.type === 'function_definition' || moves(node));
}

/** Functions that run their words (`retry() { "$@" || "$@"; }`): a call of one is a command of its own. */
export function passingFunctions(nodes: readonly SyntaxNode[]): ReadonlySet<string> {
  if (nodes.some(moves)) return new Set();
  const inside = nodes.filter(runsItsWords).map(functionAround);
  return new Set(inside.map((node) => (node === undefined ? '' : (childOf(node, 'name')?.text ?? ''))));
}

/** `"$@"` as a command. */
export function runsItsWords(node: SyntaxNode): boolean {
  return node.type === 'command' && /^"?\$\{?@\}?"?$/.test(childOf(node, 'name')?.text ?? '');
}

function functionAround(node: SyntaxNode): SyntaxNode | undefined {
  for (let above = node.parent; above !== undefined; above = above.parent) if (above.type === 'function_definition') return above;
  return undefined;
}

function moves(node: SyntaxNode): boolean {
  return node.type === 'command' && /^(?:set|shift|eval|source|\.|getopts|trap)$/.test(childOf(node, 'name')?.text ?? '');
}

function standsOutside(node: SyntaxNode): boolean {
  if (!/^(?:simple_)?expansion$/.test(node.type) || !/^\s*\$\{?[\d@*]/.test(node.text)) return false;
  return functionAround(node) === undefined;
}
