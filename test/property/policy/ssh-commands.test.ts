/** Laws of the ssh surface, tried on generated lines. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decideSshCommand } from '../../../src/policy/ssh/decide-ssh-command.ts';
import type { Dialect } from '../../../src/policy/ssh/line.ts';
import { quoteWord } from '../../../src/policy/ssh/line.ts';
import { sshPages } from '../../../src/policy/ssh/pages/index.ts';
import { readStrictLine } from '../../../src/policy/ssh/read-line.ts';
import { readAdversarial, readCorpus, readRedTeam, readSshCorpus } from '../../integration/policy/fixture-tree.ts';
import { createLineGenerator, createRandom } from '../../integration/policy/line-generator.ts';
import { type ArgumentOracle, createArgumentOracle } from './argument-oracle.ts';

/** Lines near the known ones, most of them refused, a good part allowed. */
function nearKnown(): fc.Arbitrary<string> {
  const known = [...readCorpus(), ...readAdversarial()].filter((entry) => entry.surface === 'ssh').map((entry) => entry.input);
  const allowed = known.filter((_line, index) => index % 2 === 0);
  return fc.integer().map((seed) => {
    const random = createRandom(seed);
    const generator = createLineGenerator(random() < 0.5 ? known : allowed, random);
    return random() < 0.5 ? generator.grammatical() : generator.mutated();
  });
}

const lines = nearKnown();

describe('a line', () => {
  it('never becomes more allowed by another command', () => {
    fc.assert(
      fc.property(lines, lines, fc.constantFrom(' | ', ' && ', '; ', ' || ', ' & ', '\n'), fc.boolean(), (line, other, joint, before) => {
        const alone = decideSshCommand(line).decision;
        // A filter that lacks its input gets it from a pipe.
        fc.pre(alone.effect !== 'allow' && !alone.reason.includes('would wait for input') && !/["'\\]/.test(line) && line.trim() !== '');
        expect(decideSshCommand(before ? other + joint + line : line + joint + other).decision.effect).not.toBe('allow');
      }),
      { numRuns: 3_000 },
    );
  });

  it('decides its canonical form the same way, and that is its own canonical form', () => {
    fc.assert(
      fc.property(lines, (line) => {
        const { decision, canonical } = decideSshCommand(line);
        expect(canonical !== undefined).toBe(decision.effect !== 'deny');
        if (canonical === undefined) return;
        const again = decideSshCommand(canonical);
        expect([again.decision.effect, again.canonical]).toEqual([decision.effect, canonical]);
      }),
      { numRuns: 5_000 },
    );
  });

  it('answers every text with a place or an allowance, and never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), lines), (line) => {
        const { decision } = decideSshCommand(line);
        expect(decision.rules.length).toBeGreaterThan(0);
        expect(`${decision.effect}: ${decision.reason}`).toMatch(/^(?:allow: .|ask: `|deny: refused at character \d+: )/);
      }),
      { numRuns: 3_000 },
    );
  });
});

describe('an allowed ssh line', () => {
  const allowed = [
    ...[...readCorpus(), ...readAdversarial(), ...readRedTeam()].filter((entry) => entry.surface === 'ssh' && entry.must === 'allow'),
    ...readSshCorpus().filter((entry) => entry.kind === 'benign'),
  ].map((entry) => entry.input);
  const dialect: Dialect = { nonAscii: false, limits: { length: 2_000, words: 64, commands: 12 } };
  const payloads = [
    '; reboot;',
    '`reboot`',
    '$(reboot)',
    '\nreboot\n',
    '> /etc/x',
    '>> x',
    '< /etc/shadow',
    '| sh |',
    '& reboot &',
    '|| reboot ||',
  ].concat(['&& reboot &&', '<(reboot)', '$IFS', '2> /etc/x', '# ', '\\\n', '(reboot)', '{ reboot; }', "$'\\x41'", '~root', '!!']);
  /** Where words begin, and the end: never within quotes. */
  const places = (line: string): readonly number[] => {
    const read = readStrictLine(line, dialect);
    const words = read.ok ? read.pipelines.flatMap((pipeline) => pipeline.commands.flatMap((command) => command.words)) : [];
    return [...words.map((word) => word.offset), line.length];
  };

  it('is not allowed with anything of the shell between its words', () => {
    expect(allowed.length).toBeGreaterThan(2_000);
    fc.assert(
      fc.property(fc.constantFrom(...allowed), fc.constantFrom(...payloads), fc.nat(), (line, payload, at) => {
        const spots = places(line);
        const spot = spots[at % spots.length] ?? 0;
        const changed = `${line.slice(0, spot)} ${payload} ${line.slice(spot)}`;
        // `echo !!` and a word behind the patterns of others are texts.
        fc.pre(payload !== '!!' || !/^(?:echo|printf)|(?:e?grep|jq|tr|awk|sed) /.test(line));
        expect(decideSshCommand(changed).decision.effect, changed).not.toBe('allow');
      }),
      { numRuns: 6_000 },
    );
  });

  it('has the words that were read in its canonical form', () => {
    fc.assert(
      fc.property(fc.constantFrom(...allowed), (line) => {
        const { canonical = '' } = decideSshCommand(line);
        const words = (text: string) => {
          const read = readStrictLine(text, dialect);
          return read.ok ? read.pipelines.map(({ commands }) => commands.map((command) => command.words.map((word) => word.text))) : text;
        };
        expect(words(canonical)).toEqual(words(line));
      }),
      { numRuns: 2_000 },
    );
  });
});

/** Login shells of nodes, each with its options before `-c`. */
const shells: readonly (readonly string[])[] = [['/bin/bash', '--norc', '--noprofile'], ['/bin/sh']];

describe('what shells make of it', () => {
  const dialect: Dialect = {
    nonAscii: true,
    limits: { length: 4_096, words: 100, commands: 10 },
  };
  let oracle: ArgumentOracle;
  const names = sshPages.flatMap(([programs]) => programs);

  beforeAll(() => {
    oracle = createArgumentOracle(names);
  });
  afterAll(() => oracle.remove());

  const calls = (line: string, shell: readonly string[]) => oracle.starts(line, shell).map(({ program, args }) => [program, ...args]);

  it('the programs are called with exactly the words that were checked', () => {
    let compared = 0;
    fc.assert(
      fc.property(lines, (line) => {
        const { canonical } = decideSshCommand(line);
        // `||` and `&&` stop early here: each dumper succeeds.
        if (canonical === undefined || canonical.includes('||')) return;
        const lexed = readStrictLine(canonical, dialect);
        if (!lexed.ok) throw new Error(`the canonical form does not lex: ${canonical}`);
        const commands = lexed.pipelines.flatMap((pipeline) => pipeline.commands);
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
