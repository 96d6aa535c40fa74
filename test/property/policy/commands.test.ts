/** Laws of what the text of a command in the workspace still decides. */

import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CommandResource } from '#kernel/resource';
import { decideCommand, readCommands } from '#policy/effects/decide-command';
import { type UserRule, userRuleSchema } from '#policy/user-rules';

const view = { judged: true } as const;
const command = (text: string): CommandResource => ({ kind: 'command', access: 'operate', surface: 'workspace_command', text });
const deny: UserRule = userRuleSchema.parse({
  id: 'mine',
  surface: 'workspace_command',
  effect: 'deny',
  program: 'prog',
  args: ['verb'],
  more: 'any',
  justification: 'because',
  match: ['prog verb'],
});
const decide = (text: string) => decideCommand(command(text), { userRules: [deny], view });

const sign = fc.constantFrom(
  ...'ab \t\n\'"\\$(){}[]`;&|<>#*?~!=-0'.split(''),
  '$(',
  '${',
  '<<',
  "$'",
  '$((',
  '))',
  'prog',
  'verb',
  '\u00a0',
  '\u202e',
);
const shellText = fc.array(sign, { maxLength: 60 }).map((signs) => signs.join(''));

describe('any text', () => {
  it('is decided, with a rule, and without a person where nobody made a rule', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), shellText), (text) => {
        expect(decide(text).rules.length).toBeGreaterThan(0);
        expect(decideCommand(command(text), { userRules: [], view }).effect).not.toBe('ask');
      }),
      { numRuns: 5_000 },
    );
  });

  it('is decided in time, however deep and long it is', () => {
    for (const piece of ['$(', '${', '"$(', '`', '((', 'sh -c "', "eval '", '<(', 'cat <<E\n', 'sudo ', 'x;', '\\'])
      expect(['allow', 'ask', 'deny']).toContain(decide(piece.repeat(40_000 / piece.length)).effect);
  });
});

/** One character, as it may be written in a word of its own. */
const letters = (word: string) =>
  fc.tuple(
    ...word
      .split('')
      .map((letter) =>
        fc.constantFrom(letter, `'${letter}'`, `"${letter}"`, `\\${letter}`, `$'${letter}'`, `''${letter}`, `\\\n${letter}`),
      ),
  );
const written = (word: string) => letters(word).map((parts) => parts.join(''));
const blank = fc.constantFrom(' ', '  ', '\t', ' \\\n ');
const before = fc.constantFrom(
  '',
  'ls; ',
  'ls && ',
  'true | ',
  '(',
  '{ ',
  'if ',
  'A=1 ',
  'sudo ',
  'env B=2 ',
  '> f ',
  'echo $(',
  'echo "$(',
  'cat <(',
  '! ',
  '\n',
  'x() { ',
);
const closes: Readonly<Record<string, string>> = {
  '(': ')',
  '{ ': '; }',
  'if ': '; then ls; fi',
  'echo $(': ')',
  'echo "$(': ')"',
  'cat <(': ')',
  'x() { ': '; }',
};

describe('a rule that names a program and a word', () => {
  it('is not lifted by how the words are quoted, nor by what stands before and behind', () => {
    fc.assert(
      fc.property(
        before,
        fc.tuple(written('prog'), blank, written('verb')).map((parts) => parts.join('')),
        fc.constantFrom('', ' x', ' "$y"', ' > f', ' 2>&1'),
        (start, words, end) => {
          const text = `${start}${words}${end}${closes[start] ?? ''}`;
          expect(decide(text), text).toMatchObject({ effect: 'deny', rules: ['user.mine'] });
        },
      ),
      { numRuns: 4_000 },
    );
  });

  it('sees the words that bash makes of such a command', () => {
    const texts = fc
      .sample(fc.tuple(written('prog'), blank, written('verb'), blank, written('a#b c')), { numRuns: 60, seed: 7 })
      .map((parts) => parts.join(''));
    const script = `prog() { printf '%s\\0' prog "$@" $'\\n'; }\n${texts.join('\n')}`;
    const made = execFileSync('bash', ['--norc', '--noprofile', '-c', script], { encoding: 'utf8', cwd: '/' });
    const seen = texts.map((text) => readCommands(text).commands[0]?.map((word) => word.text));
    expect(seen).toEqual(
      made
        .split('\n\0')
        .slice(0, -1)
        .map((line) => line.split('\0').slice(0, -1)),
    );
  });
});
