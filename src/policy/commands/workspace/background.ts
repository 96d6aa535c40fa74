/** Background jobs: one that the same shell waits for ends before the command does; any other would stay behind. */
import type { Decision } from '#kernel/decision';
import { askFor } from './findings.ts';
import { allNodes, childOf, childrenOf, isJob, type SyntaxNode } from './syntax-node.ts';

/** What speaks against the jobs of a command line. `all`: the nodes of its tree. */
export function judgeBackground(all: readonly SyntaxNode[]): readonly Decision[] {
  const jobs = all.filter((node) => node.type === '&' && !/expression|redirect/.test(node.parent?.type ?? ''));
  if (jobs.length === 0) return [];
  // Whatever leaves the shell, or takes the job from it, may come before the `wait`.
  const leaves = all.some(
    (node) => node.type === 'command' && /^(?:exit|exec|return|disown|break|continue|set|kill|trap)$/.test(nameOf(node)),
  );
  const left = leaves ? jobs : jobs.filter((job) => !isAwaited(job, jobs.length));
  return left.map((node) => askFor('background', node.startIndex, 'a job in the background, which would stay behind; `wait` for it'));
}

/** Other processes, and places whose time of running is not that of the line. */
const borders = /^(?:subshell|command_substitution|process_substitution|function_definition|pipeline|program)$/;

/** Whether a `wait` follows in the same shell, whatever happens before. */
function isAwaited(job: SyntaxNode, jobs: number): boolean {
  for (let node = job; node.parent !== undefined; node = node.parent) {
    const { parent } = node;
    // `{ a & } & wait`: waits for the group and not for the job in it.
    if (node !== job && isJob(node)) return false;
    const behind = parent.namedChildren.filter((child) => child.startIndex > node.startIndex);
    if (behind.some((child) => waits(child, jobs))) return true;
    if (borders.test(parent.type)) return false;
  }
  return false;
}

/** `wait`, or `wait $!` and `wait $a $b` with a word for every job. */
function waits(node: SyntaxNode, jobs: number): boolean {
  const words = awaited(node);
  return words !== undefined && (words === 'all' || words.length >= jobs);
}

/** The jobs that it waits for; undefined where it does something else. `wait $a && wait $b` waits for two. */
function awaited(node: SyntaxNode): 'all' | readonly string[] | undefined {
  if (node.type === 'list') return awaitedTogether(node.namedChildren.map(awaited));
  if (node.type !== 'command' || nameOf(node) !== 'wait') return undefined;
  const words = childrenOf(node, 'argument').map((word) => word.text);
  if (words.length === 0 || (words.length === 1 && /^\$\( *jobs -p *\)$/.test(words[0] ?? ''))) return 'all';
  const known = new Set(['!', ...jobNames(node)]);
  return words.every((word) => known.has(/^"?\$\{?(!|\w+)\}?"?$/.exec(word)?.[1] ?? '')) ? [...new Set(words)] : undefined;
}

function awaitedTogether(parts: readonly ('all' | readonly string[] | undefined)[]): 'all' | readonly string[] | undefined {
  if (!parts.every((part) => part !== undefined)) return undefined;
  return parts.some((part) => part === 'all') ? 'all' : parts.flat();
}

/** Variables of the script that hold the number of a job: `a=$!`. */
function jobNames(node: SyntaxNode): readonly string[] {
  let root = node;
  while (root.parent !== undefined) root = root.parent;
  return allNodes(root)
    .filter((child) => child.type === 'variable_assignment' && /^"?\$!"?$/.test(childOf(child, 'value')?.text ?? ''))
    .map((child) => childOf(child, 'name')?.text ?? '');
}

function nameOf(node: SyntaxNode): string {
  return childOf(node, 'name')?.text ?? '';
}
