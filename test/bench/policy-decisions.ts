/**
 * How long a decision takes: `node test/bench/policy-decisions.ts` prints p50 and p99 per surface over the benign lines of the corpus, for
 * a process that has just started (the first 5 rounds) and for one that has run for a while (once V8 has compiled the code), and exits 1 when a
 * median of the second kind is above 100 µs. Run it on an idle machine.
 */
import { decideCommand } from '../../src/policy/effects/decide-command.ts';
import { decidePath } from '../../src/policy/paths/decide-path.ts';
import { decideSshCommand } from '../../src/policy/ssh/decide-ssh-command.ts';
import { createFixtureTree, readCorpus } from '../integration/policy/fixture-tree.ts';
import { quantiles } from './measure.ts';

const limitMicroseconds = 100;
const rounds = { first: 5, warmUp: 60, counted: 40 };

const tree = await createFixtureTree();
const deciders = {
  ssh: (line: string) => decideSshCommand(line),
  workspace_command: (text: string) =>
    decideCommand({ kind: 'command', access: 'operate', surface: 'workspace_command', text }, { userRules: [], view: { judged: true } }),
  path: (line: string) => decidePath(line, 'read', tree.view),
};
const corpus = readCorpus().filter((entry) => entry.must === 'allow');

for (const [surface, decide] of Object.entries(deciders)) {
  const lines = corpus.filter((entry) => entry.surface === surface).map((entry) => tree.place(entry.input));
  const measure = (times: number) => quantiles(Array.from({ length: times }, () => lines.map((line) => timed(() => decide(line)))).flat());
  const first = measure(rounds.first);
  measure(rounds.warmUp);
  const { p50, p99 } = measure(rounds.counted);
  console.log(`${surface.padEnd(18)} p50 ${p50.toFixed(1)} µs, p99 ${p99.toFixed(1)} µs (just started: p50 ${first.p50.toFixed(1)} µs)`);
  if (p50 > limitMicroseconds) process.exitCode = 1;
}
await tree.remove();

/** In microseconds. */
function timed(work: () => unknown): number {
  const start = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - start) / 1_000;
}
