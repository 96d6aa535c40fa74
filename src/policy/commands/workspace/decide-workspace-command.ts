/**
 * The `workspace_command` surface: a developer's shell in the workspace. The text decides whether it runs, asks or is refused; what the text
 * cannot tell (`npm test`, `make`) is the operating system sandbox's to hold.
 */

import { allow, type Decision, deny, strictest } from '#kernel/decision';
import type { WorkspaceView } from '../../paths/workspace-view.ts';
import { type CommandDecision, placed } from '../command-decision.ts';
import type { UserRule } from '../user-rule.ts';
import { decodeWords } from './decode-word.ts';
import { askFor } from './findings.ts';
import { gateFault } from './gate.ts';
import { inspectWord } from './inspect-word.ts';
import type { Invocation } from './invocation.ts';
import { separateLines } from './joined-lines.ts';
import type { ShellParser } from './shell-parser.ts';
import { allNodes, childOf, type SyntaxNode } from './syntax-node.ts';
import { collectVariables, type VariableValue } from './variables.ts';
import { visit } from './walk.ts';
import type { Walk } from './walk-state.ts';

export interface WorkspacePolicy {
  readonly parser: ShellParser;
  readonly view: WorkspaceView;
  readonly userRules?: readonly UserRule[];
}

const mostNodes = 4_000;
const mostCommands = 64;
const deepestScript = 3;

/** Synchronous; looks only through `view.facts`. What runs is the text itself, in the sandbox. */
export function decideWorkspaceCommand(text: string, policy: WorkspacePolicy): CommandDecision {
  const found = judgeText(text, policy, { directories: policy.view.ground.roots.slice(0, 1), depth: 0 });
  if (found.length === 0)
    return { decision: allow('allowed', 'ordinary work in the workspace', ['workspace.known-tools']), canonical: text };
  const worst = strictest(found);
  const decision: Decision = { ...worst, rules: [...new Set([...worst.rules, ...found.flatMap(({ rules }) => rules)])] };
  return decision.effect === 'deny' ? { decision } : { decision, canonical: text };
}

interface Level {
  readonly directories: readonly string[];
  readonly depth: number;
}

function judgeText(text: string, policy: WorkspacePolicy, level: Level): readonly Decision[] {
  const fault = gateFault(text);
  if (fault !== undefined) return [deny('COMMAND_BLOCKED', placed(fault.offset, fault.message), ['workspace.gate'])];
  const root = policy.parser.parse(text);
  if (root === undefined) return [askFor('unclear', 0, 'this is no complete command of the shell')];
  const all = allNodes(root);
  const separated = separateLines(text, all);
  // Ends: each time there are fewer newlines.
  if (separated !== undefined) return judgeText(separated, policy, level);
  const odd = oddShape(root, all);
  if (odd.length > 0) return odd;
  const literalScope = { variables: new Map<string, VariableValue>(), directories: level.directories };
  const own = (policy.userRules ?? []).filter((rule) => rule.surface === 'workspace_command');
  const walk: Walk = {
    view: policy.view,
    userRules: own,
    variables: collectVariables(all, (node) => decodeWords(node, literalScope)),
    functions: new Set(all.filter((node) => node.type === 'function_definition').map((node) => childOf(node, 'name')?.text ?? '')),
    found: [],
    visited: new Set(level.directories),
    visit: (node, place) => visit(walk, node, place),
    inspect: (node, place) => inspectWord(walk, node, place),
    script: (inner, of) => judgeScript(inner, of, { policy, depth: level.depth + 1 }),
  };
  visit(walk, root, { directories: level.directories, input: 'none', inFunction: false });
  return walk.found;
}

function judgeScript(
  text: string,
  of: Invocation,
  { policy, depth }: { readonly policy: WorkspacePolicy; readonly depth: number },
): readonly Decision[] {
  if (depth > deepestScript) return [askFor('unclear', of.offset, 'scripts within scripts')];
  return judgeText(text, policy, { directories: of.scope.directories, depth });
}

/** What is asked about wherever it stands: background jobs, stray separators, too much of anything. */
function oddShape(root: SyntaxNode, all: readonly SyntaxNode[]): readonly Decision[] {
  if (root.namedChildren.every((child) => child.type === 'comment')) return [askFor('unclear', 0, 'there is no command')];
  if (all.length > mostNodes || all.filter((node) => node.type === 'command').length > mostCommands)
    return [askFor('unclear', 0, 'too many commands to judge')];
  const background = all.filter((node) => node.type === '&' && !/expression|redirect/.test(node.parent?.type ?? ''));
  const stray = all.filter((node) => node.type === ';;' && node.parent?.type !== 'case_item');
  return [
    ...background.map((node) => askFor('background', node.startIndex, 'a job in the background, which would stay behind')),
    ...stray.map((node) => askFor('unclear', node.startIndex, '`;;` outside `case`')),
  ];
}
