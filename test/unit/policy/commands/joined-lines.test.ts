import { beforeAll, describe, expect, it } from 'vitest';
import { shellGrammar } from '../../../../src/app/shell-grammar.ts';
import { separateLines } from '../../../../src/policy/commands/workspace/joined-lines.ts';
import { loadShellParser, type ShellParser } from '../../../../src/policy/commands/workspace/shell-parser.ts';
import { allNodes } from '../../../../src/policy/commands/workspace/syntax-node.ts';

let parser: ShellParser;
beforeAll(async () => {
  parser = await loadShellParser(shellGrammar());
});

function separated(text: string): string | undefined {
  const root = parser.parse(text);
  return root === undefined ? undefined : separateLines(text, allNodes(root));
}

describe('a line that the grammar joins to the one before', () => {
  it.each([
    ['sort a | uniq -c | sort -rn | head\ncd && rm -rf x', 'sort a | uniq -c | sort -rn | head;cd && rm -rf x'],
    ['a | b | c | d\nsudo ls', 'a | b | c | d;sudo ls'],
  ])('is set apart: %j', (text, expected) => {
    const found = separated(text);
    // Where a later grammar does better there is nothing to set apart.
    expect(found ?? expected).toBe(expected);
  });

  it.each([
    'ls\nls',
    'make \\\n  test',
    "printf 'a\nb' x",
    'echo $(ls\nls) x',
    'a |\n b |\n c |\n d',
    'if a; then\n b c\nfi',
    'x=(a\nb)\necho y',
    'cat > a.txt <<EOF\nhello\nEOF\nls',
    'for f in a b\ndo echo $f\ndone',
  ])('is not seen in %j', (text) => {
    expect(separated(text)).toBeUndefined();
  });
});
