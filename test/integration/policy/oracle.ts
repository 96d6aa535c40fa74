/** The differential oracle: what the policy allows is run, and nothing may come of it. */
import { rmSync } from 'node:fs';
import { decideSshCommand } from '../../../src/policy/ssh/decide-ssh-command.ts';
import { createFixtureTree, readAdversarial, readCorpus } from './fixture-tree.ts';
import { createLineGenerator, createRandom } from './line-generator.ts';
import { canary, createWatch } from './sandbox-run.ts';

export interface OracleReport {
  readonly generated: number;
  readonly run: number;
  /** `"line" ran as "canonical": what went wrong`. */
  readonly failures: readonly string[];
}

export interface OracleOptions {
  readonly seed: number;
  /** Stops when so many allowed lines have run. */
  readonly runs: number;
}

/** Generates lines until `runs` different allowed ones were executed. Needs bubblewrap and bash. */
export async function runOracle({ seed, runs }: OracleOptions): Promise<OracleReport> {
  const tree = await createFixtureTree(` ${canary}`);
  const watch = createWatch(tree.base, tree.root);
  const known = [...readCorpus(), ...readAdversarial()].filter((entry) => entry.surface === 'ssh').map((entry) => entry.input);
  const random = createRandom(seed);
  const generator = createLineGenerator(known, random);
  const seen = new Set<string>();
  const failures: string[] = [];
  let generated = 0;
  try {
    while (seen.size < runs && generated < runs * 400) {
      const line = tree.place(random() < 0.4 ? generator.grammatical() : generator.mutated());
      generated += 1;
      const { canonical } = decideSshCommand(line);
      if (canonical === undefined || seen.has(canonical)) continue;
      seen.add(canonical);
      const wrong = watch.run(canonical);
      if (wrong !== undefined) failures.push(`${JSON.stringify(line)} ran as ${JSON.stringify(canonical)}: ${wrong}`);
    }
  } finally {
    rmSync(`${tree.base}-watch`, { recursive: true, force: true });
    await tree.remove();
  }
  return { generated, run: seen.size, failures };
}
