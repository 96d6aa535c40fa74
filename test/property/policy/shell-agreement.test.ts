/** The tree that `workspace_command` judges, held against bash itself: no program runs that the policy did not see. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { shellGrammar } from '../../../src/app/shell-grammar.ts';
import type { CommandDecision } from '../../../src/policy/commands/command-decision.ts';
import { decideWorkspaceCommand } from '../../../src/policy/commands/workspace/decide-workspace-command.ts';
import { loadShellParser, type ShellParser } from '../../../src/policy/commands/workspace/shell-parser.ts';
import { createFixtureTree, type FixtureTree, readAdversarial, readCorpus } from '../../integration/policy/fixture-tree.ts';
import { createRandom } from '../../integration/policy/line-generator.ts';
import { randomScript } from './random-script.ts';
import { createShellOracle, type ShellOracle } from './shell-oracle.ts';

let tree: FixtureTree;
let parser: ShellParser;
let oracle: ShellOracle;
beforeAll(async () => {
  tree = await createFixtureTree();
  parser = await loadShellParser(shellGrammar());
  oracle = createShellOracle();
});
afterAll(async () => {
  oracle.remove();
  await tree.remove();
});

function decide(text: string): CommandDecision {
  return decideWorkspaceCommand(text, { parser, view: tree.view });
}

const known = [...readCorpus(), ...readAdversarial('workspace_command')].filter((entry) => entry.surface === 'workspace_command');
const ordinary = known.filter((entry) => entry.must === 'allow').map((entry) => entry.input);
const blocked = known
  .filter((entry) => entry.must === 'block' && !/[\n#]|<</.test(entry.input) && !entry.family.includes('malformed'))
  .map((entry) => entry.input);

/** Whether the oracle can tell anything of it. A directory that was entered changes what `../out` means, and it has none of them. */
function isTelling(script: string): boolean {
  return /s[^a-z]*u[^a-z]*d[^a-z]*o|\.\.\/out/.test(script) && !/\b(?:cd|pushd|popd)\b/.test(script);
}

it('bash does nothing that was not judged, however the line is twisted', () => {
  let ran = 0;
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = createRandom(seed);
      const { decision, canonical } = decide(randomScript(ordinary, (below) => Math.floor(random() * below)));
      if (decision.effect !== 'allow' || canonical === undefined || !isTelling(canonical)) return;
      ran += 1;
      expect(oracle.forbidden(canonical), JSON.stringify(canonical)).toEqual([]);
    }),
    { numRuns: 6_000 },
  );
  expect(ran).toBeGreaterThan(10);
});

it.each([
  ['sudo id', ['started']],
  ['true\n\\sudo id', ['started']],
  ['echo $(s""udo)', ['started']],
  ['if true; then cat a ../out; fi', ['handed']],
  ['rm > x -f ../out', ['handed']],
  ['echo a > ../out', ['written']],
  ['echo sudo ../out', []],
  ["cat <<'E'\n$(sudo)\nE", []],
])('the oracle sees what %j does', (line, seen) => {
  expect(oracle.forbidden(line)).toEqual(seen);
});

/** What a line can end in. */
const endings: readonly string[] = [
  ...['ls', 'ls | cat', 'ls | cat | wc', 'ls | cat | sort | wc', 'ls | cat | sort | uniq | head | wc -l', 'ls |& cat |& sort |& head'],
  ...[
    'ls > out.txt',
    'ls 2>&1',
    'ls > out.txt 2>&1',
    'Z=1',
    'Z=1 ls',
    'export Z=1',
    'Z=1 Y=2',
    'Z=(a b)',
    'ls # note',
    'unset Z',
    'readonly Z=1',
  ],
  ...[
    'time ls',
    '! ls',
    '! ls | cat | sort | head',
    '(ls)',
    '(ls) | cat | sort | head',
    '{ ls; }',
    '{ ls; } | cat | sort | head',
    'true',
    ':',
  ],
  ...['if true; then ls; fi', 'if true; then ls; fi | cat | sort | head', 'for i in 1 2; do echo $i; done | sort | uniq | head'],
  ...[
    'while read -r l; do echo "$l"; done < a.txt',
    'case x in x) ls;; esac',
    '[[ a == b ]]',
    '[[ a == b ]] && ls | cat | sort | head',
    '((1+2))',
  ],
  ...['echo $((1+2))', 'echo "a\nb"', "echo 'a\nb' | cat | sort | head", 'cat <<EOF\nx\nEOF', 'cat <<EOF | sort | uniq | head\nx\nEOF'],
  ...[
    'cat <<EOF > out.txt\nx\nEOF',
    'cat <<<x',
    'f() { ls; }',
    'ls;',
    'ls || ls | cat | sort | head',
    'ls |\ncat |\nsort |\nhead',
    'ls \\\n-la',
  ],
  ...[
    'cat < a.txt | sort | uniq | head',
    'echo $(ls | cat | sort | head)',
    'echo `ls`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's
    'echo ${Z:-y}',
    'test -f a.txt',
    '[ -f a.txt ] && ls',
  ],
  ...[
    'until true; do ls; done',
    'echo a*b',
    'echo {a,b}',
    'echo ~',
    'echo a=b',
    'ls &&\nls',
    'ls\t',
    'printf "%s\\n" a b | sort | uniq | head',
  ],
];

it.each(endings)('%j is ordinary work', (line) => {
  expect(decide(line).decision).toMatchObject({ effect: 'allow' });
});

it('a line is judged the same whatever the line before ends in', () => {
  fc.assert(
    fc.property(fc.constantFrom(...blocked), fc.constantFrom(...endings), fc.constantFrom('\n', '\n\n', '\n  '), (line, before, joint) => {
      fc.pre(decide(line).decision.effect !== 'allow');
      expect(decide(`${before}${joint}${line}`).decision.effect).not.toBe('allow');
    }),
    { numRuns: 4_000 },
  );
});
