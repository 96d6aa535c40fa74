/** Every case for ssh and for paths, of the public corpus and of our own, on a real tree. The others are run for real (effects/corpus.test.ts). */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Decision } from '../../../src/kernel/decision.ts';
import { decidePath } from '../../../src/policy/paths/decide-path.ts';
import { decideSshCommand } from '../../../src/policy/ssh/decide-ssh-command.ts';
import {
  createFixtureTree,
  type FixtureTree,
  type PolicyCase,
  readAdversarial,
  readCorpus,
  readRedTeam,
  readRedTeamPaths,
  readSshCorpus,
} from './fixture-tree.ts';

let tree: FixtureTree;

beforeAll(async () => {
  tree = await createFixtureTree();
});
afterAll(() => tree.remove());

function decide(entry: PolicyCase): Decision {
  if (entry.surface === 'ssh') return decideSshCommand(entry.input).decision;
  const ground = { ...tree.view.ground, platform: entry.platform ?? ('posix' as const) };
  return decidePath(tree.place(entry.input), entry.op ?? 'read', { ...tree.view, ground });
}

/** `leak ssh/family (2 of 9): "line": reason`, one line for each wrong case. */
function wrongOnes(cases: readonly PolicyCase[]): readonly string[] {
  return cases.flatMap((entry) => {
    const decision = decide(entry);
    const isRight =
      (decision.effect === 'allow') === (entry.must === 'allow') &&
      (entry.code === undefined || entry.code === decision.code) &&
      (entry.denied !== true || decision.effect === 'deny');
    if (isRight) return [];
    return [
      `${entry.must === 'block' ? 'leak' : 'refused'} ${entry.surface}/${entry.family} ${entry.id} ${JSON.stringify(entry.input.slice(0, 120))}: ${decision.code}: ${decision.reason.slice(0, 160)}`,
    ];
  });
}

describe('the public corpus', () => {
  const cases = readCorpus();

  it('has not changed', () => {
    expect(cases).toHaveLength(1_034);
  });

  it.each(['ssh', 'path'] as const)('%s: blocks what must be blocked and allows what must be allowed', (surface) => {
    const own = cases.filter((entry) => entry.surface === surface);
    expect(own.length).toBeGreaterThan(100);
    expect(wrongOnes(own)).toEqual([]);
  });
});

describe('what administrators of nodes type', () => {
  const cases = readSshCorpus().map(({ kind, input }) => ({ kind, input, ...decideSshCommand(input).decision }));
  const said = (entries: typeof cases) => entries.map(({ input, effect, reason }) => `${effect} ${input}: ${reason.slice(0, 120)}`);

  it('runs where it only looks, and nothing else does', () => {
    expect(cases.length).toBeGreaterThan(200);
    expect(said(cases.filter(({ kind, effect }) => kind === 'benign' && effect !== 'allow'))).toEqual([]);
    expect(said(cases.filter(({ kind, effect }) => kind === 'harm' && effect !== 'deny'))).toEqual([]);
  });
});

describe('our own cases', () => {
  it('for ssh: the same', () => {
    const own = readAdversarial();
    expect(own.length).toBeGreaterThan(400);
    expect(wrongOnes(own)).toEqual([]);
  });

  it("for ssh: the red team's", () => {
    const own = readRedTeam();
    expect(own.length).toBeGreaterThan(500);
    expect(new Set(own.map((entry) => `${entry.must} ${entry.family}`)).size).toBeGreaterThan(8);
    expect(wrongOnes(own)).toEqual([]);
  });

  it("paths: the red team's", () => {
    const own = readRedTeamPaths();
    expect(own.length).toBeGreaterThan(500);
    expect(wrongOnes(own)).toEqual([]);
  });

  it('says the place and the rule of every refusal', () => {
    const refused = readRedTeam().filter((entry) => entry.must === 'block' && entry.code === undefined);
    const silent = refused.filter((entry) => {
      const { effect, reason, rules } = decide(entry);
      // A question names the program; what it asks of stands in the card.
      if (effect === 'ask') return rules.length === 0;
      return rules.length === 0 || !/at character \d+: \S/.test(reason);
    });
    expect(silent.map((entry) => entry.input.slice(0, 100))).toEqual([]);
  });

  it('paths, Windows and POSIX', () => {
    const file = path.join(import.meta.dirname, '..', '..', 'fixtures', 'policy-corpus', 'adversarial-path.jsonl');
    const own = readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map(
        (line, index): PolicyCase => ({
          id: `path:${index + 1}`,
          surface: 'path',
          family: 'own',
          ...(JSON.parse(line) as Pick<PolicyCase, 'input' | 'must'>),
        }),
      );
    expect(own.length).toBeGreaterThan(80);
    expect(wrongOnes(own)).toEqual([]);
  });
});
