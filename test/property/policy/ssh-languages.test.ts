/** Programs of awk and sed near the ones that pages take: those that are taken are run for real, and none writes a file or runs a program. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decideSshCommand } from '../../../src/policy/ssh/decide-ssh-command.ts';
import { quoteWord } from '../../../src/policy/ssh/line.ts';

let room: string;
beforeAll(() => {
  room = mkdtempSync(path.join(tmpdir(), 'languages-'));
});
afterAll(() => rmSync(room, { recursive: true, force: true }));

interface Language {
  readonly programs: readonly string[];
  /** What is put between, or in the place of, the parts of a program. */
  readonly spices: readonly string[];
  readonly arguments: readonly string[];
}

const languages: Readonly<Record<string, Language>> = {
  awk: {
    programs: [
      '{print $1, $NF}',
      'NR>1 && $3 == "x" {print $1":"$2; n++}',
      '{sum+=$6} END {print sum/1024}',
      '{a[$1]++} END {for (k in a) print k, a[k]}',
      '!seen[$0]++',
      '/a/,/b/',
      '{if ($1 > 2) print "x"; t = t + length($2)}',
      'BEGIN {FS=":"} {printf "%s %d\\n", $1, NR}',
    ],
    spices: [
      '>',
      '>>',
      '|',
      '"leak"',
      '"touch leak"',
      'getline',
      'system',
      '(',
      ')',
      '!',
      'print',
      '$1',
      ',',
      ';',
      '<',
      '/a/',
      '++',
      '=',
      '{',
      '}',
      '-',
      '&',
    ],
    arguments: [],
  },
  sed: {
    programs: ['1,5p', '/a/d;/^$/d', 's/a/b/g', 's|a|b|;s#c#d#', '$!d', '/a/,+2p', '3q'],
    spices: [
      'w leak',
      'w',
      'e touch leak',
      'e',
      'W leak',
      ';',
      '/',
      '|',
      '\\',
      '[',
      ']',
      '\\/',
      'g',
      '{',
      '}',
      ' leak',
      '\\n',
      '#',
      'r',
      ',',
    ],
    arguments: ['-n'],
  },
};

describe.each(Object.entries(languages))('%s', (program, { programs, spices, arguments: options }) => {
  it('writes and runs nothing that is taken', () => {
    const parts = (text: string) => text.split(/(?<=\W)|(?=\W)/);
    const near = fc
      .tuple(
        fc.constantFrom(...programs),
        fc.array(fc.tuple(fc.nat(), fc.nat(2), fc.constantFrom(...spices)), { minLength: 1, maxLength: 4 }),
      )
      .map(([text, changes]) =>
        changes.reduce((now, [at, gone, spice]) => now.toSpliced(at % (now.length + 1), gone, spice), parts(text)).join(''),
      );
    const tried = fc.sample(near, 20_000);
    const taken = [...new Set(tried)].filter((text) => decideSshCommand(`df | ${program} ${quoteWord(text)}`).decision.effect === 'allow');
    expect(taken.length).toBeGreaterThan(100);
    for (const text of taken) {
      spawnSync(program, [...options, text], {
        cwd: room,
        input: 'a b c\n1 2 3\nx:y\n',
        timeout: 5_000,
        env: { PATH: process.env['PATH'] },
      });
      expect([text, readdirSync(room)]).toEqual([text, []]);
    }
  }, 120_000);
});
