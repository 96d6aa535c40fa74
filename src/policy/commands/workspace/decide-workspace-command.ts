/**
 * The `workspace_command` surface: a developer's shell in the workspace. The text decides whether it runs, asks or is refused; what the text
 * cannot tell (`npm test`, `make`) is the operating system sandbox's to hold.
 */

import { allow, type Decision, deny, strictest } from '#kernel/decision';
import type { WorkspaceView } from '../../paths/workspace-view.ts';
import { type CommandDecision, placed } from '../command-decision.ts';
import type { UserRule } from '../user-rule.ts';
import { judgeBackground } from './background.ts';
import { decodeWords } from './decode-word.ts';
import { askFor } from './findings.ts';
import { freshMark } from './fresh-place.ts';
import { gateFault } from './gate.ts';
import { endsAtDelimiter } from './here-document.ts';
import { inspectWord } from './inspect-word.ts';
import type { Invocation } from './invocation.ts';
import { type MadeFiles, nothingMade } from './made-files.ts';
import { normalizeScript, splitWord, strayContinuation } from './normalize-script.ts';
import { passingFunctions } from './positional.ts';
import type { ShellParser } from './shell-parser.ts';
import { judgeSingleBrackets } from './single-bracket.ts';
import { allNodes, childOf, type SyntaxNode } from './syntax-node.ts';
import { unreadText } from './unread-text.ts';
import type { Variables } from './variable-value.ts';
import { collectVariables } from './variables.ts';
import { callFunction, visit } from './walk.ts';
import type { Walk } from './walk-state.ts';
import { withoutTime } from './without-time.ts';

export interface WorkspacePolicy {
  readonly parser: ShellParser;
  readonly view: WorkspaceView;
  readonly userRules?: readonly UserRule[];
  /** Is told of every run of a program that is judged, with the words that it is believed to get. */
  readonly onInvocation?: (invocation: Invocation) => void;
}

const mostNodes = 4_000;
const mostCommands = 64;
const deepestScript = 3;

/** Synchronous; looks only through `view.facts`. What runs is the text as it was read (`canonical`), in the sandbox. */
export function decideWorkspaceCommand(text: string, policy: WorkspacePolicy): CommandDecision {
  const script = text.includes(freshMark)
    ? refuse(text.indexOf(freshMark), 'a character that no font has')
    : readScript(text, policy.parser);
  if ('refused' in script) return { decision: script.refused, ...(script.refused.effect === 'deny' ? {} : { canonical: text }) };
  const found = judge(script, policy, { directories: policy.view.ground.roots.slice(0, 1), depth: 0, made: nothingMade() });
  if (found.length === 0)
    return { decision: allow('allowed', 'ordinary work in the workspace', ['workspace.known-tools']), canonical: script.text };
  const worst = strictest(found);
  const decision: Decision = { ...worst, rules: [...new Set([...worst.rules, ...found.flatMap(({ rules }) => rules)])] };
  return decision.effect === 'deny' ? { decision } : { decision, canonical: script.text };
}

interface Script {
  readonly text: string;
  readonly root: SyntaxNode;
  readonly all: readonly SyntaxNode[];
}

/** The text that bash reads as the grammar does, and its tree. */
function readScript(text: string, parser: ShellParser): Script | { readonly refused: Decision } {
  const fault = gateFault(text);
  if (fault !== undefined) return refuse(fault.offset, fault.message);
  const root = parser.parse(text);
  // A person could not say what it does either.
  if (root === undefined) return refuse(parser.faultAt(text), 'this cannot be read as a complete command of the shell', 'workspace.syntax');
  const all = allNodes(root);
  const split = splitWord(all);
  if (split !== undefined) return refuse(split, 'one word for the shell, which reads as two here; put it in quotes');
  const normal = normalizeScript(text, all);
  // Ends: each time there are fewer newlines, or a redirection stands further back.
  if (normal !== undefined) return readScript(normal, parser);
  const stray = strayContinuation(text, all);
  if (stray !== undefined) return refuse(stray, 'a backslash at the end of a line');
  const unread = unreadText(text, all);
  if (unread !== undefined) return { refused: askFor('unclear', unread, 'text that cannot be read for sure') };
  return withTreeOf({ text, root, all }, parser);
}

/** What is judged is the tree of the text without `time`; what runs is the text. */
function withTreeOf(script: Script, parser: ShellParser): Script {
  const plain = script.text.includes('time') ? withoutTime(script.text, script.all) : undefined;
  const root = plain === undefined ? undefined : parser.parse(plain);
  return root === undefined ? script : { text: script.text, root, all: allNodes(root) };
}

function refuse(offset: number, why: string, rule = 'workspace.gate'): { readonly refused: Decision } {
  return { refused: deny('COMMAND_BLOCKED', placed(offset, why), [rule]) };
}

interface Level {
  readonly directories: readonly string[];
  readonly depth: number;
  readonly made: MadeFiles;
  /** Variables that the script begins with. */
  readonly given?: Variables;
}

function judge({ root, all }: Script, policy: WorkspacePolicy, level: Level): readonly Decision[] {
  const odd = oddShape(root, all);
  if (odd.length > 0) return odd;
  const decodeWith = (variables: Variables) => (node: SyntaxNode) => decodeWords(node, { variables, directories: level.directories });
  const own = (policy.userRules ?? []).filter((rule) => rule.surface === 'workspace_command');
  const definitions = Map.groupBy(
    all.filter((node) => node.type === 'function_definition'),
    (node) => childOf(node, 'name')?.text ?? '',
  );
  const walk: Walk = {
    view: policy.view,
    userRules: own,
    onInvocation: policy.onInvocation,
    variables: collectVariables(all, decodeWith, level.given),
    functions: new Set(definitions.keys()),
    definitions,
    nullglob: root.text.includes('nullglob'),
    passing: definitions.size === 0 ? none : passingFunctions(all),
    found: [],
    made: level.made,
    judged: new Set(),
    visited: new Set(level.directories),
    late: [],
    call: (name, place) => callFunction(walk, name, place),
    visit: (node, place) => visit(walk, node, place),
    inspect: (node, place) => inspectWord(walk, node, place),
    script: (inner, of, given) => judgeScript(inner, of, { policy, depth: level.depth + 1, given: handedOn(walk.variables, given) }),
  };
  visit(walk, root, { directories: level.directories, input: 'none', inFunction: false });
  if (walk.late.length > 0) {
    const scope = { view: policy.view, directories: [...walk.visited], made: level.made };
    for (const judgeLate of walk.late.slice()) walk.found.push(...judgeLate(scope));
  }
  return walk.found.length > 0 ? walk.found : judgeOverlooked(all, walk.judged);
}

const none: ReadonlySet<string> = new Set();
const accountable = /^(?:command|declaration_command|unset_command|test_command|\w+_redirect|\w+_substitution)$/;

/** SECURITY: whatever runs, reads or writes something was judged by someone, wherever the grammar puts it. */
function judgeOverlooked(all: readonly SyntaxNode[], judged: ReadonlySet<SyntaxNode>): readonly Decision[] {
  return all
    .filter((node) => accountable.test(node.type) && !judged.has(node))
    .map((node) => askFor('unclear', node.startIndex, `\`${node.text.slice(0, 60)}\` at a place that is not known here`));
}

/** SECURITY: any variable of the line may have been exported. */
function handedOn(variables: Variables, given: Variables): Variables {
  return new Map([...[...variables.keys()].map((name) => [name, undefined] as const), ...given]);
}

function judgeScript(
  text: string,
  of: Invocation,
  { policy, depth, given }: { readonly policy: WorkspacePolicy; readonly depth: number; readonly given: Variables },
): readonly Decision[] {
  if (depth > deepestScript) return [askFor('unclear', of.offset, 'scripts within scripts')];
  if (readsOtherwise(of.program, text)) return [askFor('unclear', of.offset, 'text that another shell than bash reads otherwise')];
  const script = readScript(text, policy.parser);
  if ('refused' in script) return [script.refused];
  // This text runs as it stands.
  if (script.text !== text) return [askFor('unclear', of.offset, 'a script that the shell reads otherwise than it seems')];
  return judge(script, policy, { directories: of.scope.directories, depth, given, made: of.scope.made });
}

/**
 * SECURITY: what is judged is what bash reads. For a plain shell `[[ a > f ]]` and `((a > f))` write a file, `a &> f` starts a job, `$'` begins other
 * quotes, and `{a,b}` stays what it is; others expand more.
 */
function readsOtherwise(program: string, text: string): boolean {
  if (/^(?:bash|trap|\/(?:usr\/)?bin\/bash)$/.test(program)) return false;
  return /^[zk]sh$/.test(program)
    ? !/^[\w\s./:@%+,"'&|;-]*$/.test(text)
    : /\[\[|(?<!\$)\(\(|&>|[<>]\(|\$['"]|\{[^{}\s$'"]*(?:,|\.\.)/.test(text);
}

/** What is asked about wherever it stands: background jobs, stray separators, too much of anything. */
function oddShape(root: SyntaxNode, all: readonly SyntaxNode[]): readonly Decision[] {
  if (root.namedChildren.every((child) => child.type === 'comment')) return [askFor('unclear', 0, 'there is no command')];
  if (isTooMuch(all)) return [askFor('unclear', 0, 'too many commands to judge')];
  // The common line has none of them.
  const types = new Set(all.map((node) => node.type));
  const stray = types.has(';;') ? all.filter((node) => node.type === ';;' && node.parent?.type !== 'case_item') : [];
  const loose = types.has('heredoc_redirect') ? all.filter((node) => node.type === 'heredoc_redirect' && !endsAtDelimiter(node, root)) : [];
  return [
    ...(types.has('&') ? judgeBackground(all) : []),
    ...(types.has('test_command') ? judgeSingleBrackets(all) : []),
    ...stray.map((node) => askFor('unclear', node.startIndex, '`;;` outside `case`')),
    ...loose.map((node) => askFor('unclear', node.startIndex, 'a here-document that does not end at a plain word')),
  ];
}

function isTooMuch(all: readonly SyntaxNode[]): boolean {
  return all.length > mostNodes || (all.length > mostCommands && all.filter((node) => node.type === 'command').length > mostCommands);
}
