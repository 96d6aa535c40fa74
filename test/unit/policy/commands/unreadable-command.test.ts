/** What no parser understands is refused with its place, not asked about: a person could not say what it does (docs/design.md#the-promises). */
import { describe, expect, it } from 'vitest';
import { shellGrammar } from '#app/shell-grammar';
import { decideReadonlyCommand } from '#policy/commands/decide-readonly-command';
import { decideWorkspaceCommand } from '#policy/commands/workspace/decide-workspace-command';
import { loadShellParser } from '#policy/commands/workspace/shell-parser';

const parser = await loadShellParser(shellGrammar());
const view = {
  ground: { roots: ['/ws'], platform: 'posix' as const },
  facts: { look: (path: readonly string[]) => ({ kind: 'missing' as const, path }), names: () => [] },
};

describe('a command that is none', () => {
  it.each([
    ["echo 'a", 5],
    ['ls && && ls', 4],
    ['ls )', 4],
    ['ls; for x in', 1],
    ['cat <<EOF\nabc', 5],
    ['echo "$(ls"', 6],
    ["bash -c 'if true'", 1],
  ])('%j is refused, with the place', (text, place) => {
    const { decision, canonical } = decideWorkspaceCommand(text, { parser, view });
    expect(decision).toMatchObject({ effect: 'deny', code: 'COMMAND_BLOCKED', rules: ['workspace.syntax'] });
    expect(decision.reason).toMatch(new RegExp(`^refused at character ${place}: .*cannot be read as a complete command`));
    expect(canonical).toBeUndefined();
    expect(decideReadonlyCommand(text, view).decision.effect).toBe('deny');
  });

  it.each(['(', '$(', 'if ', '{ ', '`'])('many times %j is refused, too', (text) => {
    const deep = text.repeat(9_999 / text.length);
    expect(decideWorkspaceCommand(deep, { parser, view }).decision.effect).toBe('deny');
  });

  it('is told from one that only looks odd', () => {
    for (const text of ['if true; then ls; fi', 'echo "a$(ls)"', 'for f in *.ts; do wc -l "$f"; done', 'cat <<EOF\nabc\nEOF'])
      expect(decideWorkspaceCommand(text, { parser, view }).decision.effect, text).not.toBe('deny');
  });
});
