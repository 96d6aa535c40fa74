/** Which texts the variables of a command line can hold, whatever runs when: every assignment anywhere in it counts. */
import { listedNames, printsBlankLines } from './listed-names.ts';
import { calledPositionals, keepsPositionals, unknownPositionals } from './positional.ts';
import type { ShellWord } from './shell-word.ts';
import { childOf, childrenOf, type SyntaxNode } from './syntax-node.ts';
import type { Variables, VariableValue } from './variable-value.ts';

type Decode = (node: SyntaxNode) => readonly ShellWord[];
/** Decodes words with what the variables are known to be. */
export type DecodeWith = (variables: Variables) => Decode;

/** Commands that assign to the names they are given. */
const assigning: ReadonlySet<string> = new Set([
  'read',
  'mapfile',
  'readarray',
  'getopts',
  'printf',
  'let',
  'unset',
  'wait',
  'local',
  'declare',
  'typeset',
  'export',
  'readonly',
]);
const mostValues = 16;
const collected: ReadonlySet<string> = new Set(['variable_assignment', 'for_statement', 'command', 'expansion']);

/** One more than how deep variables are made of variables. */
const mostRounds = 4;

/**
 * Collects the assignments among `nodes`. SECURITY: a variable counts as known only when each of its assignments is made of what was known
 * in the round before, so `given` and the names of the line begin as unknown and never as unset.
 */
export function collectVariables(nodes: readonly SyntaxNode[], decodeWith: DecodeWith, given?: Variables): Variables {
  const relevant = nodes.filter((node) => collected.has(node.type) && !assignsNothing(node));
  // The common line: no round could find anything.
  if (relevant.length === 0 && keepsPositionals(nodes)) return given ?? unknownPositionals;
  const removals = removalsAmong(nodes);
  const collectWith = (decode: Decode) => withRemovals(collectRound(relevant, decode, positionals(nodes, decode, given)), removals);
  let known = collectWith(() => [unknownWord]);
  for (let round = 0; round < mostRounds; round += 1) {
    const next = collectWith(decodeWith(known));
    const isSame = countKnown(next) === countKnown(known);
    known = next;
    if (isSame || countKnown(known) === known.size) break;
  }
  return known;
}

/** Where variables are taken away, or given anew without a value: by name. */
function removalsAmong(nodes: readonly SyntaxNode[]): ReadonlyMap<string, readonly SyntaxNode[]> {
  const found = new Map<string, readonly SyntaxNode[]>();
  for (const node of nodes) {
    if (node.type !== 'unset_command' && (node.type !== 'declaration_command' || node.text.startsWith('export'))) continue;
    for (const { type, text } of node.namedChildren) if (type === 'variable_name') found.set(text, [...(found.get(text) ?? []), node]);
  }
  return found;
}

/** Positional parameters are never without a value that is known. */
function withRemovals(variables: Variables, removals: ReadonlyMap<string, readonly SyntaxNode[]>): Variables {
  return new Map(
    [...variables].map(([name, value]) => [
      name,
      value === undefined || /^[\d@*]/.test(name) ? value : { ...value, removals: removals.get(name) ?? [] },
    ]),
  );
}

function positionals(nodes: readonly SyntaxNode[], decode: Decode, given: Variables | undefined): Variables {
  if (given === undefined) return calledPositionals(nodes, decode);
  return keepsPositionals(nodes) ? given : new Map([...given, ...unknownPositionals]);
}

function countKnown(variables: Variables): number {
  return [...variables.values()].filter((value) => value !== undefined).length;
}

function collectRound(nodes: readonly SyntaxNode[], decode: Decode, given: Variables): Variables {
  const found = new Map<string, VariableValue | undefined>(given);
  const add = (name: string, value: VariableValue | undefined) => {
    const known = found.has(name) ? found.get(name) : nothing;
    found.set(name, known === undefined || value === undefined ? undefined : known === nothing ? value : both(known, value));
  };
  for (const node of nodes) collect(node, decode, add);
  return found;
}

const nothing: VariableValue = { values: [], glob: false };

function both(a: VariableValue, b: VariableValue): VariableValue | undefined {
  const values = [...new Set([...a.values, ...b.values])];
  return values.length <= mostValues
    ? { values, glob: a.glob || b.glob, hollow: either(a.hollow, b.hollow), names: either(a.names, b.names) }
    : undefined;
}

function either(a: boolean | undefined, b: boolean | undefined): boolean {
  return a === true || b === true;
}

type Add = (name: string, value: VariableValue | undefined) => void;

function collect(node: SyntaxNode, decode: Decode, add: Add): void {
  if (node.type === 'command') collectFromCommand(node, decode, add);
  else if (node.type === 'expansion') collectFromExpansion(node, add);
  else if (node.type === 'for_statement') add(childOf(node, 'variable')?.text ?? '', eachOf(childrenOf(node, 'value').flatMap(decode)));
  else collectFromAssignment(node, decode, add);
}

function collectFromAssignment(node: SyntaxNode, decode: Decode, add: Add): void {
  const value = childOf(node, 'value');
  const appends = node.children.some((child) => child.type === '+=');
  // An element is assigned to its array.
  const name = (childOf(node, 'name')?.text ?? '').replace(/\[.*$/s, '');
  if (appends) add(name, undefined);
  else if (value?.type === 'array') add(name, arrayOf(value, decode));
  else {
    const words = value === undefined ? [emptyWord] : decode(value);
    // Patterns in an assignment stay as they are, and so do braces.
    add(name, words.length === 1 ? anyOf(words, false) : undefined);
  }
}

const emptyWord: ShellWord = { values: [''], glob: false, quoted: true, offset: 0, source: '' };
const unknownWord: ShellWord = { glob: false, quoted: false, offset: 0, source: '' };

/** `(a "b c")`; `([key]=value)` is not read. */
function arrayOf(array: SyntaxNode, decode: Decode): VariableValue | undefined {
  if (array.namedChildren.some((child) => child.text.startsWith('['))) return undefined;
  const list = array.namedChildren.filter((child) => child.type !== 'comment').flatMap(decode);
  const any = list.length === 0 ? { values: [''], glob: false } : anyOf(list, true);
  return any === undefined ? undefined : { ...any, list };
}

/** One of the words; undefined where one of them, or all, are not known. */
function anyOf(words: readonly ShellWord[], matches: boolean): VariableValue | undefined {
  const values = words.map((word) => word.values);
  if (values.length === 0 || !values.every((value) => value !== undefined)) return undefined;
  return {
    values: values.flat(),
    glob: matches && words.some((word) => word.glob),
    hollow: words.some((word) => word.hollow),
    names: words.some((word) => word.names || (matches && word.glob)),
  };
}

/** In a round of a loop it is never nothing. */
function eachOf(words: readonly ShellWord[]): VariableValue | undefined {
  const any = anyOf(words, true);
  return any === undefined ? undefined : { ...any, hollow: false };
}

/** A command that is not one of those that assign. */
function assignsNothing(node: SyntaxNode): boolean {
  return node.type === 'command' && !assigning.has(childOf(node, 'name')?.text ?? '');
}

function collectFromCommand(node: SyntaxNode, decode: Decode, add: Add): void {
  const name = childOf(node, 'name')?.text ?? '';
  const lines = name === 'read' ? linesRead(node, decode) : undefined;
  for (const word of childrenOf(node, 'argument')) if (/^[A-Za-z_]\w*$/.test(word.text)) add(word.text, lines);
}

/** `${NAME:=text}` assigns where the name has no value. */
function collectFromExpansion({ text }: SyntaxNode, add: Add): void {
  const [, name, value = ''] = /^\s*\$\{(\w+):?=(.*)\}$/s.exec(text) ?? [];
  // What runs commands hands on no variables of its own, so the text is the value where nothing else is assigned.
  if (name !== undefined) add(name, /^[\w./-]*$/.test(value) ? { values: [value], glob: false } : undefined);
}

/** What the loop reads whose condition the `read` is: names that a command before it lists, or that `< <(…)` does. */
function linesRead(read: SyntaxNode, decode: Decode): VariableValue | undefined {
  const loop = read.parent;
  if (loop?.type !== 'while_statement' || !takesLines(read)) return undefined;
  const values = namesInto(loop, decode);
  // Without `-r` a backslash takes itself away.
  const isWhole = / -r /.test(read.text) || !values?.some((value) => value.includes('\\'));
  return values === undefined || !isWhole ? undefined : { values, glob: false, names: true };
}

/** SECURITY: `IFS=,`, `-d ,` and `-n 2` cut lines elsewhere than at blanks. */
function takesLines(read: SyntaxNode): boolean {
  const words = childrenOf(read, 'argument').map((word) => word.text);
  const before = read.namedChildren.filter((child) => child.type === 'variable_assignment').map((child) => child.text);
  return /^(?:-r |-d (?:''|""|\$'\\0') )*\w+(?: \w+)*$/.test(words.join(' ')) && before.every((text) => /^IFS=(?:''|"")?$/.test(text));
}

function namesInto(loop: SyntaxNode, decode: Decode): readonly string[] | undefined {
  const { parent } = loop;
  if (parent?.type === 'pipeline') return linesOf(parent.namedChildren.slice(0, parent.namedChildren.indexOf(loop)), decode);
  if (parent?.type !== 'redirected_statement') return undefined;
  const [redirect, ...more] = parent.namedChildren.filter((child) => child !== loop);
  return redirect === undefined || more.length > 0 ? undefined : namesRedirected(redirect, decode);
}

function namesRedirected(redirect: SyntaxNode, decode: Decode): readonly string[] | undefined {
  const source = childOf(redirect, 'destination');
  const isInput = redirect.children.some((child) => child.type === '<');
  const isOutput = source?.type === 'process_substitution' && source.text.startsWith('<(');
  return source !== undefined && isInput && isOutput ? linesOf(source.namedChildren, decode) : undefined;
}

function linesOf(commands: readonly SyntaxNode[], decode: Decode): readonly string[] | undefined {
  const names = listedNames(commands, decode);
  const [first] = commands;
  return names !== undefined && first !== undefined && printsBlankLines(first, decode) ? [...names, ''] : names;
}
