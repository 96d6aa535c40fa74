import { describe, expect, it } from 'vitest';
import { parseScript, ShellSyntaxError } from '#demo/ssh/run-script';

function words(script: string): string[][][] {
  return parseScript(script).map((step) => step.pipeline.map((command) => command.words.map((word) => word.text)));
}

describe('words', () => {
  it.each([
    ['cat  a\tb', ['cat', 'a', 'b']],
    ["echo 'a  b' c", ['echo', 'a  b', 'c']],
    ['echo "a \\"b\\" c"', ['echo', 'a "b" c']],
    ["echo ''", ['echo', '']],
    ["echo 'it'\\''s'", ['echo', "it's"]],
    ['echo a\\ b', ['echo', 'a b']],
    ['echo "x"y\'z\'', ['echo', 'xyz']],
    ['ls \\\n  -l', ['ls', '-l']],
    ['grep -H "" /a/*', ['grep', '-H', '', '/a/*']],
  ])('of %j', (script, expected) => {
    expect(words(script)).toEqual([[expected]]);
  });

  it('glob only where they are not quoted', () => {
    const [step] = parseScript('cat /a/* "/b/*" \'c?\' d\\*');
    expect(step?.pipeline[0]?.words.map((word) => word.globs)).toEqual([false, true, false, false, false]);
  });
});

describe('structure', () => {
  it('has pipelines and conditions', () => {
    expect(words('a | b; c && d || e\nf')).toEqual([[['a'], ['b']], [['c']], [['d']], [['e']], [['f']]]);
    expect(parseScript('a; b && c || d').map((step) => step.when)).toEqual([';', ';', '&&', '||']);
  });

  it('has redirections to nowhere', () => {
    const [step] = parseScript('a 2>/dev/null <  /dev/null | b > /dev/null 2>&1');
    expect(step?.pipeline).toMatchObject([
      { dropStderr: true, dropStdout: false, mergeStderr: false },
      { dropStderr: false, dropStdout: true, mergeStderr: true },
    ]);
    expect(step?.pipeline[0]?.words).toHaveLength(1);
  });

  it('may be empty', () => {
    expect([words(''), words('  ;; ')]).toEqual([[], []]);
  });
});

it.each([
  "echo it'\\''s",
  'a $b',
  'a `b`',
  'a $(b)',
  '(a)',
  'a &',
  'a > /etc/passwd',
  'a < /etc/shadow',
  "a 'b",
  'a "b',
  'a "$b"',
  'a <(b)',
  '{ a; } > x',
])('refuses %j', (script) => {
  expect(() => parseScript(script)).toThrow(ShellSyntaxError);
});
