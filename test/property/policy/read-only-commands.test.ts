/** Laws of the two read-only surfaces, tried on generated lines. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decideReadonlyCommand } from '../../../src/policy/commands/decide-readonly-command.ts';
import { decideSshCommand, sshRules } from '../../../src/policy/commands/decide-ssh-command.ts';
import { readonlyRules } from '../../../src/policy/commands/rules/readonly/readonly-rules.ts';
import { quoteWord } from '../../../src/policy/commands/strict/canonical-line.ts';
import { lexStrictLine } from '../../../src/policy/commands/strict/lex-strict-line.ts';
import type { Dialect } from '../../../src/policy/commands/strict/strict-line.ts';
import { createFixtureTree, type FixtureTree, readAdversarial, readCorpus } from '../../integration/policy/fixture-tree.ts';
import { createLineGenerator, createRandom } from '../../integration/policy/line-generator.ts';
import { type ArgumentOracle, createArgumentOracle } from './argument-oracle.ts';

let tree: FixtureTree;
beforeAll(async () => {
  tree = await createFixtureTree();
});
afterAll(() => tree.remove());

const surfaces = ['readonly_bash', 'ssh'] as const;
type Surface = (typeof surfaces)[number];

function decide(surface: Surface, line: string) {
  return surface === 'ssh' ? decideSshCommand(line) : decideReadonlyCommand(line, tree.view);
}

/** Lines near the known ones, most of them refused, a good part allowed. */
function lines(surface: Surface): fc.Arbitrary<string> {
  const known = [...readCorpus(), ...readAdversarial(surface)].filter((entry) => entry.surface === surface).map((entry) => entry.input);
  const allowed = known.filter((_line, index) => index % 2 === 0);
  return fc.integer().map((seed) => {
    const random = createRandom(seed);
    const generator = createLineGenerator(surface, random() < 0.5 ? known : allowed, random);
    return random() < 0.5 ? generator.grammatical() : generator.mutated();
  });
}

describe.each(surfaces)('%s', (surface) => {
  it('never becomes more allowed by another command', () => {
    fc.assert(
      fc.property(
        lines(surface),
        lines(surface),
        fc.constantFrom(' | ', ' && ', '; ', ' || ', ' & ', '\n'),
        fc.boolean(),
        (line, other, joint, before) => {
          const alone = decide(surface, line).decision;
          // A filter that lacks its input gets it from a pipe.
          fc.pre(alone.effect !== 'allow' && !alone.reason.includes('would wait for input') && !/["'\\]/.test(line) && line.trim() !== '');
          expect(decide(surface, before ? other + joint + line : line + joint + other).decision.effect).not.toBe('allow');
        },
      ),
      { numRuns: 3_000 },
    );
  });

  it('decides its canonical form the same way, and that is its own canonical form', () => {
    fc.assert(
      fc.property(lines(surface), (line) => {
        const { decision, canonical } = decide(surface, tree.place(line));
        expect(canonical !== undefined).toBe(decision.effect === 'allow');
        if (canonical === undefined) return;
        const again = decide(surface, canonical);
        expect([again.decision.effect, again.canonical]).toEqual(['allow', canonical]);
      }),
      { numRuns: 5_000 },
    );
  });

  it('answers every text with a place or an allowance, and never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), lines(surface)), (line) => {
        const { decision } = decide(surface, line);
        expect(decision.rules.length).toBeGreaterThan(0);
        expect(`${decision.effect}: ${decision.reason}`).toMatch(
          /^(?:allow: .|deny: refused at character \d+: |deny: the patterns match too many names)/,
        );
      }),
      { numRuns: 3_000 },
    );
  });
});

/** Login shells of nodes, each with its options before `-c`. */
const shells: readonly (readonly string[])[] = [['/bin/bash', '--norc', '--noprofile'], ['/bin/sh']];

describe('what shells make of it', () => {
  const dialect: Dialect = {
    separators: ['&&', '||', ';'],
    nonAscii: true,
    files: true,
    limits: { length: 4_096, words: 100, commands: 10 },
  };
  let oracle: ArgumentOracle;
  const names = [...readonlyRules, ...sshRules].map((rule) => rule.program);

  beforeAll(() => {
    oracle = createArgumentOracle(names);
  });
  afterAll(() => oracle.remove());

  const calls = (line: string, shell: readonly string[]) => oracle.starts(line, shell).map(({ program, args }) => [program, ...args]);

  it.each(surfaces)('%s: the programs are called with exactly the words that were checked', (surface) => {
    let compared = 0;
    fc.assert(
      fc.property(lines(surface), (line) => {
        const { canonical } = decide(surface, tree.place(line));
        // `||` and `&&` stop early here: each dumper succeeds.
        if (canonical === undefined || canonical.includes('||')) return;
        const lexed = lexStrictLine(canonical, dialect);
        if (!lexed.ok) throw new Error(`the canonical form does not lex: ${canonical}`);
        const commands = lexed.pipelines.flatMap((pipeline) => pipeline.commands);
        // The file is not there where the oracle runs, so the shell would start nothing.
        if (commands.some((command) => command.input !== undefined)) return;
        if (
          commands.some((command) => command.words.some((word) => word.glob !== undefined) || !names.includes(command.words[0]?.text ?? ''))
        )
          return;
        const expected = commands.map((command) => command.words.map((word) => word.text)).map((words) => JSON.stringify(words));
        for (const shell of shells) {
          const found = calls(canonical, shell).map((words) => JSON.stringify(words));
          expect(found.toSorted(), `${shell.join(' ')}: ${canonical}`).toEqual(expected.toSorted());
        }
        compared += 1;
      }),
      { numRuns: 3_000 },
    );
    expect(compared).toBeGreaterThan(20);
  });

  it('takes a quoted word as itself, whatever is in it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: fc.constantFrom(...'ab *?[]{}~$`"\'\\!#&;|<>()=%^/.-ü€\n\t'.split('')) }), {
          minLength: 1,
          maxLength: 4,
        }),
        (words) => {
          const line = ['ls', ...words.map(quoteWord)].join(' ');
          for (const shell of shells) expect(calls(line, shell)).toEqual([['ls', ...words]]);
        },
      ),
      { numRuns: 40 },
    );
  });
});
