import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { codeSpan, escapeMarkdown, plainNotice, plainProgress, plainStatus } from '#hosts/vscode/markdown';

const hostile = fc.string({
  unit: fc.oneof(fc.constantFrom(...Array.from('[](){}<>`*_|!#\\&;:/.@$~\n\t')), fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })),
});

describe('escapeMarkdown', () => {
  it('leaves no punctuation that markdown could read', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const rest = escapeMarkdown(text).replace(/\\[!-/:-@[-`{-~]/g, '');
        expect(rest).not.toMatch(/[!-/:-@[-`{-~]/);
        expect(rest).not.toMatch(/[\n\r\u2028\u2029\u202e\u200b]/);
      }),
    );
  });

  it.each([
    ['[x](command:banksman.deny)', '\\[x\\]\\(command\\:banksman\\.deny\\)'],
    ['https://evil.example', 'https\\:\\/\\/evil\\.example'],
    ['<img src=x>', '\\<img src\\=x\\>'],
    ['$(error)', '\\$\\(error\\)'],
  ])('%s', (text, escaped) => {
    expect(escapeMarkdown(text)).toBe(escaped);
  });
});

describe('codeSpan', () => {
  it('is one span whatever is inside', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const span = codeSpan(text);
        const fence = /^`+/.exec(span)?.[0] ?? '';
        const inside = span.slice(fence.length, -fence.length);
        expect(span.endsWith(fence)).toBe(true);
        // CommonMark §6.1: it ends at the first run of backticks of exactly the fence's length.
        const runs: string[] = inside.match(/`+/g) ?? [];
        expect(runs.every((run) => run.length < fence.length)).toBe(true);
        expect(inside).not.toContain('\n');
      }),
    );
  });
});

/** The workbench's own pattern for links in notifications (`parseLinkedText`, 1.139). */
const linkInNotice = /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)/i;

it.each(['[Approve](command:banksman.review?%5B%22req-1%22%5D)', 'VM 100 ([web](command:x)) on pve', '[a](https://evil.example "t")'])(
  'makes no link of %s in a notification',
  (name) => {
    expect(name).toMatch(linkInNotice);
    expect(plainNotice(name)).not.toMatch(linkInNotice);
  },
);

it('makes no icon of a name in the status bar', () => {
  expect(plainStatus('approved: $(shield) $(check)')).toBe('approved: $ (shield) $ (check)');
});

it('makes neither of what a call says on its way', () => {
  const said = plainProgress('task: [Allow](command:banksman.deny) $(check) \u202eevil');
  expect(said).not.toMatch(linkInNotice);
  expect(said).not.toMatch(/\$\(|\u202e/);
});
