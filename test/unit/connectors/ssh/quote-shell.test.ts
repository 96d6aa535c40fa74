import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { quoteShell } from '#connectors/ssh/remote-command';

describe('quoteShell', () => {
  it('gives a real shell exactly the text, whatever it is', () => {
    // All at once: a process for each would take long. NUL cannot be carried, and parts the answers.
    const texts = fc.sample(
      fc.string({ unit: 'grapheme', maxLength: 60 }).filter((text) => !text.includes('\0')),
      400,
    );
    const nasty = [
      "'",
      "''",
      "'\\''",
      '$(id)',
      '`id`',
      '\\',
      '"',
      '\n',
      '!!',
      '*',
      '~',
      '-n',
      '',
      ' ',
      ';',
      '\r',
      '#',
      '$IFS',
      '\u001b[0m',
    ];
    const all = [...nasty, ...texts];
    const script = all.map((text) => `printf '%s\\0' ${quoteShell(text)}`).join('\n');
    const answers = execFileSync('sh', { input: script, encoding: 'utf8' }).split('\0').slice(0, -1);
    expect(answers).toEqual(all);
  });

  it('holds when it is applied twice, as it is over ssh', () => {
    const text = `it's $HOME "and" \\ 'more'`;
    expect(execFileSync('sh', ['-c', `sh -c ${quoteShell(`printf %s ${quoteShell(text)}`)}`], { encoding: 'utf8' })).toBe(text);
  });

  it('refuses NUL, which would cut the word', () => {
    expect(() => quoteShell('a\0b')).toThrow(TypeError);
  });
});
