/** Simple commands, assignments and declarations, wherever they stand in a line. */
import type { Decision } from '#kernel/decision';
import { changeDirectory, isDirectoryChange } from './change-directory.ts';
import { decodeWord, decodeWords, type WordScope } from './decode-word.ts';
import { judgeAssignment, judgeRemoval } from './environment.ts';
import { askFor } from './findings.ts';
import type { Invocation } from './invocation.ts';
import { judgeInvocation } from './judge-invocation.ts';
import type { PathScope } from './judge-path.ts';
import { everyName } from './listed-names.ts';
import { runsItsWords } from './positional.ts';
import { readRedirects } from './redirects.ts';
import { printsEnvironment } from './secret-variables.ts';
import { judgeSpelling } from './shell-state.ts';
import { mayVanish, type ShellWord, single } from './shell-word.ts';
import { noteStaged } from './staged-files.ts';
import { childOf, childrenOf, type SyntaxNode } from './syntax-node.ts';
import { type After, type Place, pathScope, staying, type Walk, wordScope } from './walk-state.ts';

/** `NAME=value` by itself. */
export function visitAssignment(walk: Walk, node: SyntaxNode, place: Place): After {
  judgeAssigned(walk, node, { place, program: undefined });
  return staying(place);
}

function judgeAssigned(
  walk: Walk,
  node: SyntaxNode,
  { place, program }: { readonly place: Place; readonly program: string | undefined },
): void {
  // `PATH[0]=x` is `PATH=x`.
  const name = (childOf(node, 'name')?.text ?? '').replace(/\[.*$/s, '');
  const value = childOf(node, 'value');
  for (const child of node.namedChildren) walk.inspect(child, place);
  const word: ShellWord =
    value === undefined
      ? { values: [''], glob: false, quoted: true, offset: node.startIndex, source: '' }
      : decodeWord(value, withoutOwnValue(wordScope(walk, place), name));
  walk.found.push(...judgeAssignment({ name, value: word, offset: node.startIndex }, program, pathScope(walk, place)));
}

/** `A=b:$A` hands on what is there; judged is what is added. */
function withoutOwnValue({ variables, directories }: WordScope, name: string): WordScope {
  return { variables: new Map([...variables, [name, { values: [''], glob: false }]]), directories };
}

/** `export A=b`; options other than `-x`, `-r`, `-i`, `-a` change what names mean. */
export function visitDeclaration(walk: Walk, node: SyntaxNode, place: Place): After {
  const lists = node.namedChildren.every((child) => child.text.startsWith('-'));
  if (lists) walk.found.push(printsEnvironment(node.startIndex, 'a declaration without a name lists all'));
  for (const child of node.namedChildren) {
    if (child.type === 'variable_assignment') judgeAssigned(walk, child, { place, program: undefined });
    else if (child.type !== 'variable_name' && !/^-[xrgaApl]+$/.test(child.text))
      walk.found.push(askFor('unclear', child.startIndex, `\`${child.text.slice(0, 40)}\` in a declaration`));
  }
  return staying(place);
}

/** `unset NAME`. */
export function visitUnset(walk: Walk, node: SyntaxNode, place: Place): After {
  for (const child of node.namedChildren)
    if (child.type === 'variable_name') walk.found.push(...judgeRemoval(child.text, child.startIndex));
    else if (!/^-[vf]$/.test(child.text))
      walk.found.push(askFor('unclear', child.startIndex, `\`${child.text.slice(0, 40)}\` of \`unset\``));
  return staying(place);
}

/** What holds where output goes to no reader in the line but to a file. */
export const shown = { takesPart: false, hidesSecrets: false };

/** Whether standard output goes to a file. */
export function writesOutput(node: SyntaxNode): boolean {
  return node.namedChildren.some((child) => child.type === 'file_redirect' && !/^(?:2>|<)/.test(child.text));
}

/** A program with its words. */
export function visitCommand(walk: Walk, node: SyntaxNode, place: Place): After {
  inspectWords(walk, node, place);
  const input = { ...place, ...readRedirects(walk, node, place), ...(writesOutput(node) ? shown : {}) };
  noteStaged(walk, node, place);
  const nameNode = childOf(node, 'name');
  const name = nameNode === undefined ? undefined : decodeWord(nameNode, wordScope(walk, place));
  const program = programOf(name, nameNode);
  for (const child of node.namedChildren) if (child.type === 'variable_assignment') judgeAssigned(walk, child, { place, program });
  if (name === undefined) return staying(place);
  if (program) return visitProgram(walk, node, { place: input, program, offset: name.offset });
  if (!isJudgedAtCalls(walk, node, place)) walk.found.push(askFor('unclear', name.offset, 'the program is not known before it runs'));
  return staying(place);
}

/** What a function runs of its words is judged where it is called. */
function isJudgedAtCalls({ passing }: Walk, node: SyntaxNode, { inFunction }: Place): boolean {
  return inFunction && passing.size > 0 && runsItsWords(node) && childrenOf(node, 'argument').length === 0;
}

/** `$(echo ls)`: what a command prints is no program's name, even where it is known. */
function programOf(name: ShellWord | undefined, node: SyntaxNode | undefined): string | undefined {
  const program = name?.glob || /\$\(|`/.test(node?.text ?? '') ? undefined : single(name);
  // Some file that was found.
  return program?.includes(everyName) ? undefined : program;
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
  walk.found.push(...judgeSpelling(program, childOf(node, 'name')?.text, offset));
  if (walk.functions.has(program)) judgeCall(walk, node, { place, program, offset });
  const variants = singleValued(args);
  if (variants === undefined) walk.found.push(askFor('unclear', offset, 'too many values to judge'));
  const fixed = { offset, scope, functions: walk.functions, ...surroundings(place) };
  for (const variant of [...(variants ?? []), ...withoutVanished(program, args, walk)]) {
    judge(walk, { program, args: variant, ...fixed });
    if (walk.passing.has(program)) judgePassedOn(walk, { program, args: variant, ...fixed });
  }
  return place.inFunction ? staying(place) : walk.call(program, place);
}

function judgeCall(walk: Walk, node: SyntaxNode, { place, program, offset }: Named): void {
  if (place.inFunction) walk.found.push(askFor('never_ends', offset, `\`${program}\` calls a function from a function`));
  // SECURITY: what `$1` is in a function is read from the calls that name it plainly.
  if (childOf(node, 'name')?.text !== program)
    walk.found.push(askFor('unclear', offset, `\`${program}\` is a function here; call it by its plain name`));
}

/** `retry npm test`: what the function runs. */
function judgePassedOn(walk: Walk, invocation: Invocation): void {
  const [name, ...args] = invocation.args;
  const program = single(name);
  if (!program || name?.glob) walk.found.push(askFor('unclear', invocation.offset, 'the program is not known before it runs'));
  else if (walk.functions.has(program)) walk.found.push(askFor('unclear', invocation.offset, 'a function that is called by a function'));
  else judge(walk, { ...invocation, program, args });
}

/** SECURITY: where a command prints nothing, or a pattern matches nothing under `nullglob`, the words behind take the place of none. */
function withoutVanished(program: string, args: readonly ShellWord[], walk: Walk): readonly (readonly ShellWord[])[] {
  const first = args.findIndex((word) => mayVanish(word, walk));
  if (first < 0) return [];
  const behind = args.slice(first).filter((word) => !mayVanish(word, walk));
  const matters = program === 'find' ? behind.length > 0 : behind.some((word) => !single(word)?.startsWith('-'));
  return matters ? (singleValued([...args.slice(0, first), ...behind]) ?? []) : [];
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
    invocation: (next: Invocation): readonly Decision[] => {
      walk.onInvocation?.(next);
      return judgeInvocation(next, recursion, walk.userRules);
    },
    script: walk.script,
    atEnd: (late: Walk['late'][number]) => {
      walk.late.push(late);
    },
    call: (name: string, { directories }: PathScope) => {
      walk.call(name, { directories, input: 'none', inFunction: false });
    },
    variables: walk.variables,
  };
  walk.found.push(...recursion.invocation(invocation));
}
