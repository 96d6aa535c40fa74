/**
 * The walk over a parsed command line: every command in it is found and judged, wherever it stands. A kind of node that is not named here
 * asks.
 */

import { decodeWords } from './decode-word.ts';
import { judgeFilled } from './environment.ts';
import { askFor } from './findings.ts';
import { neighbours } from './pipeline-neighbours.ts';
import { readRedirects } from './redirects.ts';
import { noteStaged } from './staged-files.ts';
import { childOf, isJob, type SyntaxNode } from './syntax-node.ts';
import { shown, visitAssignment, visitCommand, visitDeclaration, visitUnset, writesOutput } from './visit-command.ts';
import { type After, type Place, staying, type Walk, wordScope } from './walk-state.ts';

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
  walk.judged.add(node);
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
    const { ended } = after;
    after = walk.visit(child, { ...place, directories: ended });
    // A job is a process of its own.
    if (isJob(child)) after = staying({ directories: ended });
    // After `set -e` a `cd` that fails ends the script.
    if (stops && child.type === 'command') after = { ...after, ended: after.succeeded };
    if (node.type === 'program') stops = (stops || stopsAtErrors.test(child.text)) && !child.text.startsWith('set +');
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

const shadowed =
  /^(?:git|npm|npx|yarn|pnpm|node|python3?|pip3?|make|cargo|go|ls|cd|cat|rm|cp|mv|ln|echo|printf|test|pwd|grep|find|sed|awk|sh|bash|env|sudo|command|builtin|source|eval|exec|read|export|unset|set|trap|true|false|which|type|exit|return)$/;

function visitFunction(walk: Walk, node: SyntaxNode, place: Place): After {
  const body = childOf(node, 'body');
  if (shadowed.test(childOf(node, 'name')?.text ?? ''))
    walk.found.push(
      askFor('unclear', node.startIndex, 'a function with the name of a program, so that the line does something else than it says'),
    );
  // `f() { …; } > file`: at each call.
  readRedirects(walk, node, place);
  if (body !== undefined) walk.visit(body, { ...place, input: 'none', inFunction: true });
  return staying(place);
}

/** SECURITY: a function runs where it is called, and may go to other directories. */
export function callFunction(walk: Walk, name: string, place: Place): After {
  let all = place.directories;
  for (const definition of walk.definitions.get(name) ?? []) {
    const body = childOf(definition, 'body');
    readRedirects(walk, definition, place);
    if (body !== undefined) all = union(all, walk.visit(body, { ...place, inFunction: true }).ended);
  }
  return { succeeded: all, ended: all };
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

function visitRedirected(walk: Walk, node: SyntaxNode, place: Place): After {
  const body = childOf(node, 'body');
  const redirects = readRedirects(walk, node, place);
  noteStaged(walk, node, place);
  return body === undefined ? staying(place) : walk.visit(body, { ...place, ...redirects, ...(writesOutput(node) ? shown : {}) });
}

function union(a: Directories, b: Directories): Directories {
  return a === b ? a : [...new Set([...a, ...b])];
}
