/** Laws of `workspace_command`, tried on generated lines. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shellGrammar } from '../../../src/app/shell-grammar.ts';
import type { Decision } from '../../../src/kernel/decision.ts';
import { decideWorkspaceCommand } from '../../../src/policy/commands/workspace/decide-workspace-command.ts';
import { loadShellParser, type ShellParser } from '../../../src/policy/commands/workspace/shell-parser.ts';
import { createFixtureTree, type FixtureTree, readAdversarial, readCorpus } from '../../integration/policy/fixture-tree.ts';
import { createLineGenerator, createRandom } from '../../integration/policy/line-generator.ts';

let tree: FixtureTree;
let parser: ShellParser;
beforeAll(async () => {
  tree = await createFixtureTree();
  parser = await loadShellParser(shellGrammar());
});
afterAll(() => tree.remove());

function decide(line: string): Decision {
  return decideWorkspaceCommand(line, { parser, view: tree.view }).decision;
}

const known = [...readCorpus(), ...readAdversarial('workspace_command')].filter((entry) => entry.surface === 'workspace_command');
const blocked = known
  .filter(
    (entry) =>
      entry.must === 'block' && !entry.family.includes('malformed') && !/["'`\\\n#]|<</.test(entry.input) && entry.input.trim() !== '',
  )
  .map((entry) => entry.input);
const allowed = known.filter((entry) => entry.must === 'allow' && !/<<|#/.test(entry.input)).map((entry) => entry.input);
const mutated = fc.integer().map((seed) => {
  const random = createRandom(seed);
  return createLineGenerator(
    'readonly_bash',
    known.map((entry) => entry.input),
    random,
  ).mutated();
});

/** Places in which a command may stand; whatever is around it, it is still run. */
const settings: readonly ((line: string, other: string) => string)[] = [
  (line, other) => `${other}; ${line}`,
  (line, other) => `${other} && ${line}`,
  (line, other) => `${other} || ${line}`,
  (line, other) => `${other}\n${line}`,
  (line) => `(${line})`,
  (line) => `{ ${line}; }`,
  (line) => `! ${line}`,
  (line) => `if ${line}; then true; fi`,
  (line) => `if true; then ${line}; fi`,
  (line) => `while ${line}; do break; done`,
  (line) => `for i in 1; do ${line}; done`,
  (line) => `case x in x) ${line};; esac`,
  (line) => `f() { ${line}; }; f`,
  (line) => `echo "$(${line})"`,
  (line) => `X=$(${line})`,
  (line) => `cat <(${line})`,
  (line) => `echo \${X:-$(${line})}`,
  (line) => `cat <<EOF\n$(${line})\nEOF`,
  (line) => `[ -n "$(${line})" ]`,
  (line) => `[[ -n $(${line}) ]]`,
];

describe('workspace_command', () => {
  it('never becomes more allowed by what stands around a command', () => {
    fc.assert(
      fc.property(fc.constantFrom(...blocked), fc.constantFrom(...allowed), fc.constantFrom(...settings), (line, other, setting) => {
        // A directory that was entered changes what the paths behind it mean.
        // So does a variable that was given a value.
        const isGiven = line.includes('$') && /=|\b(?:for|read)\b/.test(other);
        fc.pre(decide(line).effect !== 'allow' && !/\bcd\b/.test(other) && !isGiven);
        expect(decide(setting(line, other)).effect).not.toBe('allow');
      }),
      { numRuns: 2_000 },
    );
  });

  it('still allows ordinary work next to other ordinary work', () => {
    fc.assert(
      fc.property(fc.constantFrom(...allowed), fc.constantFrom(...allowed), fc.constantFrom(' ; ', '\n'), (line, other, joint) => {
        // A directory that was entered changes what the paths behind it mean.
        const both = `${line}${joint}${other}`;
        fc.pre(!/\bcd\b|\bset\b|\bexit\b|source|^\./m.test(both) && !/\w+=/.test(both) && !/\(\)/.test(both));
        expect(decide(tree.place(both))).toMatchObject({ effect: 'allow' });
      }),
      { numRuns: 500 },
    );
  });

  it('answers every text and never throws', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          mutated,
          fc.string({ unit: 'binary' }),
          fc.string({ unit: fc.constantFrom(...'ab $(){}[]<>|&;"\'`\\*?~=#!/-\n'.split('')) }),
        ),
        (line) => {
          const decision = decide(line);
          expect(`${decision.effect}: ${decision.reason}`).toMatch(
            /^(?:allow: .|(?:ask|deny): refused at character \d+: |(?:ask|deny): the rule )/,
          );
        },
      ),
      { numRuns: 4_000 },
    );
  });
});
