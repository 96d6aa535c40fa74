import { beforeAll, describe, expect, it } from 'vitest';
import { shellGrammar } from '../../../../src/app/shell-grammar.ts';
import { normalizeScript, strayContinuation } from '../../../../src/policy/commands/workspace/normalize-script.ts';
import { loadShellParser, type ShellParser } from '../../../../src/policy/commands/workspace/shell-parser.ts';
import { allNodes, type SyntaxNode } from '../../../../src/policy/commands/workspace/syntax-node.ts';

let parser: ShellParser;
beforeAll(async () => {
  parser = await loadShellParser(shellGrammar());
});

function nodesOf(text: string): readonly SyntaxNode[] {
  const root = parser.parse(text);
  if (root === undefined) throw new Error(`${JSON.stringify(text)} is no complete command`);
  return allNodes(root);
}

describe('a line that the grammar joins to the one before', () => {
  it.each([
    ['sort a | uniq -c | sort -rn | head\ncd && rm -rf x', 'sort a | uniq -c | sort -rn | head;cd && rm -rf x'],
    ['a | b | c | d\nsudo ls', 'a | b | c | d;sudo ls'],
    ['true\n\\sudo id', 'true;\\sudo id'],
    ['ls # note\n\\sudo id', 'ls       ;\\sudo id'],
    ['true\n\n\\sudo id', 'true;\n\\sudo id'],
    ['export A=b\n\\sudo id', 'export A=b;\\sudo id'],
    ['echo "a b"\n\\cd /', 'echo "a b";\\cd /'],
  ])('is set apart: %j', (text, expected) => {
    const found = normalizeScript(text, nodesOf(text));
    // Where a later grammar does better there is nothing to set apart.
    expect(found ?? expected).toBe(expected);
  });
});

describe('a word behind the file of a redirection', () => {
  it.each([
    ['rm > log -rf x', 'rm -rf x > log'],
    ['> log rm -rf x', 'rm -rf x > log'],
    ['A=1 > log rm x', 'A=1 rm x > log'],
    ['ls 2>&1 "$(sudo id)"', 'ls "$(sudo id)" 2>&1'],
    ['a | b 2>log c | d', 'a | b c 2>log | d'],
    ['ls > a <(sudo id)', 'ls <(sudo id) > a'],
    ['ls > a > b c', 'ls > a c > b'],
    ['ls > a c > b', 'ls c > a > b'],
  ])('stands before it: %j', (text, expected) => {
    const found = normalizeScript(text, nodesOf(text));
    expect(found ?? expected).toBe(expected);
  });
});

describe('a backslash at the end of a line', () => {
  it.each([
    ['make \\\n  test', 'make   test'],
    ['su\\\ndo id', 'sudo id'],
    ['echo "a \\\nb"', 'echo "a b"'],
    ['cat <<E\na \\\nb\nE', 'cat <<E\na b\nE'],
    ['a \\\n | b \\\n -c', 'a  | b  -c'],
    ['a\\\\\\\nb', 'a\\\\b'],
  ])('joins the lines as bash does: %j', (text, expected) => {
    expect(normalizeScript(text, nodesOf(text))).toBe(expected);
  });

  it.each(["printf 'a \\\nb'", "cat <<'E'\na \\\nb\nE"])('is text where the shell takes it for text: %j', (text) => {
    expect(normalizeScript(text, nodesOf(text))).toBeUndefined();
    expect(strayContinuation(text, nodesOf(text))).toBeUndefined();
  });

  it.each([
    ['ls # note \\\nls', 10],
    ["echo $'a\\\nb'", 8],
  ])('is not touched where it is neither: %j', (text, offset) => {
    expect(normalizeScript(text, nodesOf(text))).toBeUndefined();
    expect(strayContinuation(text, nodesOf(text))).toBe(offset);
  });
});

it.each([
  'ls\nls',
  'a\\\\\nb',
  "printf 'a\nb' x",
  'echo "a\nb"',
  'echo "a$(b)\nc"',
  'echo $(ls\nls) x',
  'a |\n b |\n c |\n d',
  'a &&\nb',
  'if a; then\n b c\nfi',
  'x=(a\nb)\necho y',
  'x=(a\n\\b)',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's
  'echo ${x:-a\nb}',
  '[[ a == b\n&& c == d ]]',
  'echo $(( 1 +\n 2 ))',
  'cat > a.txt <<EOF\nhello\nEOF\nls',
  'cat <<EOF | sort\n$x y\nz\nEOF',
  'for f in a b\ndo echo $f\ndone',
  'case x in\n a) b ;;\n c) d ;;\nesac',
  'f() {\n a\n}\nf',
])('leaves %j as it is', (text) => {
  expect(normalizeScript(text, nodesOf(text))).toBeUndefined();
  expect(strayContinuation(text, nodesOf(text))).toBeUndefined();
});
