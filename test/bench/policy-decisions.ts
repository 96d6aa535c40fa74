/**
 * How long a decision takes: `node test/bench/policy-decisions.ts` prints p50 and p99 per surface over the benign lines of the corpus, and
 * exits 1 when a median is above 100 µs. Run it on an idle machine.
 */
import { shellGrammar } from '../../src/app/shell-grammar.ts';
import { decideReadonlyCommand } from '../../src/policy/commands/decide-readonly-command.ts';
import { decideSshCommand } from '../../src/policy/commands/decide-ssh-command.ts';
import { decideWorkspaceCommand } from '../../src/policy/commands/workspace/decide-workspace-command.ts';
import { loadShellParser } from '../../src/policy/commands/workspace/shell-parser.ts';
import { decidePath } from '../../src/policy/paths/decide-path.ts';
import { createFixtureTree, readCorpus } from '../integration/policy/fixture-tree.ts';

const limitMicroseconds = 100;
const rounds = 40;

const tree = await createFixtureTree();
const parser = await loadShellParser(shellGrammar());
const deciders = {
  ssh: (line: string) => decideSshCommand(line),
  readonly_bash: (line: string) => decideReadonlyCommand(line, tree.view),
  workspace_command: (line: string) => decideWorkspaceCommand(line, { parser, view: tree.view }),
  path: (line: string) => decidePath(line, 'read', tree.view),
};
const corpus = readCorpus().filter((entry) => entry.must === 'allow');

for (const [surface, decide] of Object.entries(deciders)) {
  const lines = corpus.filter((entry) => entry.surface === surface).map((entry) => tree.place(entry.input));
  for (let round = 0; round < 5; round += 1) lines.forEach(decide);
  const times = Array.from({ length: rounds }, () => lines.map((line) => timed(() => decide(line)))).flat();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0;
  console.log(`${surface.padEnd(18)} p50 ${at(0.5).toFixed(1)} µs, p99 ${at(0.99).toFixed(1)} µs, ${times.length} decisions`);
  if (at(0.5) > limitMicroseconds) process.exitCode = 1;
}
await tree.remove();

/** In microseconds. */
function timed(work: () => unknown): number {
  const start = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - start) / 1_000;
}
