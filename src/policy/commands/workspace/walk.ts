/**
 * The walk over a parsed command line: every command in it is found and judged, wherever it stands. A kind of node that is not named here
 * asks.
 */

import type { Decision } from '#kernel/decision';
import { changeDirectory, isDirectoryChange } from './change-directory.ts';
import { decodeWord, decodeWords } from './decode-word.ts';
import { judgeAssignment, judgeFilled, judgeRemoval } from './environment.ts';
import { askFor } from './findings.ts';
import type { Invocation } from './invocation.ts';
import { judgeInvocation } from './judge-invocation.ts';
import { neighbours } from './pipeline-neighbours.ts';
import { readRedirects } from './redirects.ts';
import { printsEnvironment } from './secret-variables.ts';
import { type ShellWord, single } from './shell-word.ts';
import { childOf, childrenOf, type SyntaxNode } from './syntax-node.ts';
import { type After, type Place, pathScope, staying, type Walk, wordScope } from './walk-state.ts';

type Directories = readonly string[];
type Visit = (walk: Walk, node: SyntaxNode, place: Place) => After;

const visits: Readonly<Record<string, Visit>> = {
  program: visitSequence,
  compound_statement: visitSequence,
  do_group: visitSequence,
  else_clause: visitSequence,
  list: visitList,
  pipeline: visitPipeline,
  subshell: inSubshell,
  negated_command: visitNegated,
  redirected_statement: visitRedirected,
  command: visitCommand,
  declaration_command: visitDeclaration,
  unset_command: visitUnset,
  variable_assignment: visitAssignment,
  variable_assignments: visitSequence,
  test_command: visitTest,
  binary_expression: inspectOnly,
  unary_expression: inspectOnly,
  postfix_expression: inspectOnly,
  parenthesized_expression: inspectOnly,
  if_statement: visitBranches,
  elif_clause: visitBranches,
  while_statement: visitLoop,
  for_statement: visitFor,
  c_style_for_statement: visitCountingFor,
  case_statement: visitBranches,
  case_item: visitBranches,
  function_definition: visitFunction,
  comment: (_walk, _node, place) => staying(place),
};

/** Judges what is below `node` and says where what follows may run. */
export function visit(walk: Walk, node: SyntaxNode, place: Place): After {
  const visitor = Object.hasOwn(visits, node.type) ? visits[node.type] : undefined;
  if (visitor !== undefined) return visitor(walk, node, place);
  walk.found.push(askFor('unclear', node.startIndex, `a construct that is not known here (\`${node.type}\`)`));
  return staying(place);
}

function visitSequence(walk: Walk, node: SyntaxNode, place: Place): After {
  let after = staying(place);
  let stops = false;
  for (const child of node.namedChildren) {
    if (child.type === 'variable_name') continue;
    after = walk.visit(child, { ...place, directories: after.ended });
    // After `set -e` a `cd` that fails ends the script.
    if (stops && child.type === 'command') after = { ...after, ended: after.succeeded };
    if (node.type === 'program') stops = (stops || stopsAtErrors.test(child.text)) && !/^set \+/.test(child.text);
  }
  return after;
}

const stopsAtErrors = /^set -[a-z]*e[a-z]*(?: pipefail)?$/;

/** Behind `&&` the left side has succeeded, behind `||` it has not. */
function visitList(walk: Walk, node: SyntaxNode, place: Place): After {
  const [left, right] = node.namedChildren.filter((child) => child.type !== 'comment');
  if (left === undefined || right === undefined) return staying(place);
  const first = walk.visit(left, place);
  const isAnd = node.children.some((child) => child.type === '&&');
  const last = walk.visit(right, { ...place, directories: isAnd ? first.succeeded : first.ended });
  const ended = union(first.ended, last.ended);
  return { succeeded: isAnd ? last.succeeded : union(first.succeeded, last.succeeded), ended };
}

function visitPipeline(walk: Walk, node: SyntaxNode, place: Place): After {
  const decode = (word: SyntaxNode) => decodeWords(word, wordScope(walk, place));
  const commands = node.namedChildren.filter((child) => child.type !== 'comment');
  for (const [index, child] of commands.entries()) visit(walk, child, { ...place, ...neighbours(commands, index, decode) });
  return staying(place);
}

/** `! cd x && y`: `y` runs where `cd` failed. */
function visitNegated(walk: Walk, node: SyntaxNode, place: Place): After {
  const { ended } = visitSequence(walk, node, place);
  return { succeeded: ended, ended };
}

function inSubshell(walk: Walk, node: SyntaxNode, place: Place): After {
  visitSequence(walk, node, place);
  return staying(place);
}

function visitBranches(walk: Walk, node: SyntaxNode, place: Place): After {
  let all = place.directories;
  for (const child of node.namedChildren) {
    const isStatement = Object.hasOwn(visits, child.type) && child.type !== 'variable_name';
    if (isStatement) all = union(all, walk.visit(child, { ...place, directories: all }).ended);
    else walk.inspect(child, place);
  }
  return { succeeded: all, ended: all };
}

function visitLoop(walk: Walk, node: SyntaxNode, place: Place): After {
  const condition = childOf(node, 'condition')?.text.trim() ?? '';
  const endless = node.children.some((child) => child.type === 'until')
    ? /^(?:false|! *true)$/
    : /^(?:true|:|\(\( *1 *\)\)|\[+ *1 *\]+|! *false|(?:sleep|echo|printf|date|clear)\b[^;|&\n]*)$/;
  const leaves = /\b(?:break|exit|return)\b/.test(childOf(node, 'body')?.text ?? '');
  if (endless.test(condition) && !leaves) walk.found.push(askFor('never_ends', node.startIndex, 'a loop without an end'));
  return visitRepeated(walk, node, place);
}

function visitFor(walk: Walk, node: SyntaxNode, place: Place): After {
  if (node.children[0]?.type === 'select') walk.found.push(askFor('unclear', node.startIndex, '`select`, which asks a person'));
  walk.found.push(...judgeFilled(childOf(node, 'variable')?.text ?? '', node.startIndex));
  return visitRepeated(walk, node, place);
}

const mostRounds = 4;

/** SECURITY: `cd ..` in a loop leads further up each time, so the body is judged in every directory that it may start in. */
function visitRepeated(walk: Walk, node: SyntaxNode, place: Place): After {
  let { directories } = place;
  for (let round = 0; round < mostRounds; round += 1) {
    const after = visitBranches(walk, node, { ...place, directories });
    const all = union(directories, after.ended);
    if (all.length === directories.length) return { succeeded: all, ended: all };
    directories = all;
  }
  walk.found.push(askFor('unclear', node.startIndex, 'a loop that goes to another directory each time'));
  return { succeeded: directories, ended: directories };
}

function visitCountingFor(walk: Walk, node: SyntaxNode, place: Place): After {
  if (childOf(node, 'condition') === undefined) walk.found.push(askFor('never_ends', node.startIndex, 'a loop without an end'));
  for (const child of node.namedChildren) if (child.type !== 'do_group' && child.type !== 'compound_statement') walk.inspect(child, place);
  return visitRepeated(walk, node, place);
}

function visitFunction(walk: Walk, node: SyntaxNode, place: Place): After {
  const body = childOf(node, 'body');
  if (body !== undefined) walk.visit(body, { ...place, input: 'none', inFunction: true });
  return staying(place);
}

function visitAssignment(walk: Walk, node: SyntaxNode, place: Place): After {
  judgeAssigned(walk, node, { place, program: undefined });
  return staying(place);
}

function judgeAssigned(
  walk: Walk,
  node: SyntaxNode,
  { place, program }: { readonly place: Place; readonly program: string | undefined },
): void {
  const value = childOf(node, 'value');
  for (const child of node.namedChildren) walk.inspect(child, place);
  const word: ShellWord =
    value === undefined
      ? { values: [''], glob: false, quoted: true, offset: node.startIndex, source: '' }
      : decodeWord(value, wordScope(walk, place));
  const name = childOf(node, 'name')?.text ?? '';
  walk.found.push(...judgeAssignment({ name, value: word, offset: node.startIndex }, program, pathScope(walk, place)));
}

/** `export A=b`; options other than `-x`, `-r`, `-i`, `-a` change what names mean. */
function visitDeclaration(walk: Walk, node: SyntaxNode, place: Place): After {
  const lists = node.namedChildren.every((child) => child.text.startsWith('-'));
  if (lists) walk.found.push(printsEnvironment(node.startIndex, 'a declaration without a name lists all'));
  for (const child of node.namedChildren) {
    if (child.type === 'variable_assignment') judgeAssigned(walk, child, { place, program: undefined });
    else if (child.type !== 'variable_name' && !/^-[xrgaApl]+$/.test(child.text))
      walk.found.push(askFor('unclear', child.startIndex, `\`${child.text.slice(0, 40)}\` in a declaration`));
  }
  return staying(place);
}

function inspectOnly(walk: Walk, node: SyntaxNode, place: Place): After {
  for (const child of node.namedChildren) walk.inspect(child, place);
  return staying(place);
}

/** `[[ a[$(x)] -eq 1 ]]` and `[[ -v 'a[$(x)]' ]]` evaluate the index, quoted or not. */
function visitTest(walk: Walk, node: SyntaxNode, place: Place): After {
  if (/\[[^\]]*(?:\$\(|`)/.test(node.text.replace(/^\[+\s/, '')))
    walk.found.push(askFor('unclear', node.startIndex, 'an index in which a command may stand'));
  return inspectOnly(walk, node, place);
}

function visitUnset(walk: Walk, node: SyntaxNode, place: Place): After {
  for (const child of node.namedChildren)
    if (child.type === 'variable_name') walk.found.push(...judgeRemoval(child.text, child.startIndex));
    else if (!/^-[vf]$/.test(child.text))
      walk.found.push(askFor('unclear', child.startIndex, `\`${child.text.slice(0, 40)}\` of \`unset\``));
  return staying(place);
}

function visitRedirected(walk: Walk, node: SyntaxNode, place: Place): After {
  const body = childOf(node, 'body');
  const redirects = readRedirects(walk, node, place);
  return body === undefined ? staying(place) : walk.visit(body, { ...place, ...redirects, ...(writesOutput(node) ? shown : {}) });
}

/** Its output goes to no reader in the line but to a file. */
const shown = { takesPart: false, hidesSecrets: false };

function writesOutput(node: SyntaxNode): boolean {
  return node.namedChildren.some((child) => child.type === 'file_redirect' && !/^(?:2>|<)/.test(child.text));
}

function visitCommand(walk: Walk, node: SyntaxNode, place: Place): After {
  inspectWords(walk, node, place);
  const input = { ...place, ...readRedirects(walk, node, place), ...(writesOutput(node) ? shown : {}) };
  const nameNode = childOf(node, 'name');
  const name = nameNode === undefined ? undefined : decodeWord(nameNode, wordScope(walk, place));
  const program = name?.glob ? undefined : single(name);
  for (const child of node.namedChildren) if (child.type === 'variable_assignment') judgeAssigned(walk, child, { place, program });
  if (name === undefined) return staying(place);
  if (program) return visitProgram(walk, node, { place: input, program, offset: name.offset });
  walk.found.push(askFor('unclear', name.offset, 'the program is not known before it runs'));
  return staying(place);
}

function inspectWords(walk: Walk, node: SyntaxNode, place: Place): void {
  for (const child of node.namedChildren) {
    // `time (…)` parses as a command with a subshell in it.
    if (child.type === 'subshell') walk.visit(child, place);
    else if (child.type !== 'variable_assignment') walk.inspect(child, place);
  }
}

interface Named {
  readonly place: Place;
  readonly program: string;
  readonly offset: number;
}

function visitProgram(walk: Walk, node: SyntaxNode, { place, program, offset }: Named): After {
  const args = childrenOf(node, 'argument').flatMap((argument) => decodeWords(argument, wordScope(walk, place)));
  const scope = pathScope(walk, place);
  if (isDirectoryChange(program)) return changeDirectory({ program, args, offset, inFunction: place.inFunction }, scope, walk);
  if (place.inFunction && walk.functions.has(program))
    walk.found.push(askFor('never_ends', offset, `\`${program}\` calls a function from a function`));
  const variants = singleValued(args);
  if (variants === undefined) walk.found.push(askFor('unclear', offset, 'too many values to judge'));
  for (const variant of variants ?? [])
    judge(walk, { program, args: variant, offset, scope, functions: walk.functions, ...surroundings(place) });
  return staying(place);
}

const mostVariants = 32;

/** Every choice of one value for each word that has several; undefined when there are too many. */
function singleValued(args: readonly ShellWord[]): readonly (readonly ShellWord[])[] | undefined {
  let variants: readonly (readonly ShellWord[])[] = [[]];
  for (const word of args) {
    const choices = word.values === undefined ? [word] : word.values.map((value): ShellWord => ({ ...word, values: [value] }));
    variants = variants.flatMap((variant) => choices.map((choice) => [...variant, choice]));
    if (variants.length > mostVariants) return undefined;
  }
  return variants;
}

type Surroundings = Pick<Invocation, 'input' | 'inputText' | 'listed' | 'takesPart' | 'hidesSecrets'>;

function surroundings({ input, inputText, listed, takesPart, hidesSecrets }: Place): Surroundings {
  return { input, inputText, listed, takesPart, hidesSecrets };
}

function judge(walk: Walk, invocation: Invocation): void {
  const recursion = {
    invocation: (next: Invocation): readonly Decision[] => judgeInvocation(next, recursion, walk.userRules),
    script: walk.script,
    variables: walk.variables,
  };
  walk.found.push(...judgeInvocation(invocation, recursion, walk.userRules));
}

function union(a: Directories, b: Directories): Directories {
  return a === b ? a : [...new Set([...a, ...b])];
}
