/** Each rule carries the command lines that it must allow and must not; here they are tried. */
import { describe, expect, it } from 'vitest';
import { shellGrammar } from '../../../../src/app/shell-grammar.ts';
import type { PathFacts } from '../../../../src/kernel/ports/path-facts.ts';
import { decideReadonlyCommand } from '../../../../src/policy/commands/decide-readonly-command.ts';
import { readonlyRules } from '../../../../src/policy/commands/rules/readonly/readonly-rules.ts';
import { decideWorkspaceCommand } from '../../../../src/policy/commands/workspace/decide-workspace-command.ts';
import { loadShellParser } from '../../../../src/policy/commands/workspace/shell-parser.ts';
import { toolRules } from '../../../../src/policy/commands/workspace/tools/tool-rules.ts';

/** A workspace in which every path is a small file, and `src` and what has no dot is a directory. */
const facts: PathFacts = {
  look: (segments) =>
    segments.at(-1)?.includes('.') && segments.at(-1) !== '..'
      ? { kind: 'file', path: segments, size: 10 }
      : { kind: 'directory', path: segments },
  names: () => ['index.ts', 'util.ts'],
};
const view = { ground: { roots: ['/ws'], platform: 'posix' as const }, facts };
const parser = await loadShellParser(shellGrammar());

interface Examples {
  readonly id: string;
  readonly justification: string;
  readonly match: readonly string[];
  readonly notMatch: readonly string[];
}

type Allows = (line: string) => boolean;
const surfaces: readonly (readonly [string, readonly Examples[], Allows])[] = [
  ['readonly_bash', readonlyRules, (line) => decideReadonlyCommand(line, view).decision.effect === 'allow'],
  ['workspace_command', toolRules, (line) => decideWorkspaceCommand(line, { parser, view }).decision.effect === 'allow'],
];

describe.each(surfaces)('%s', (_name, rules, allows) => {
  it('names every rule once and justifies it', () => {
    expect(new Set(rules.map((rule) => rule.id)).size).toBe(rules.length);
    expect(rules.filter((rule) => rule.justification.length < 10 || rule.match.length === 0)).toEqual([]);
  });

  it.each(rules.map((rule) => [rule.id, rule] as const))('%s', (_id, rule) => {
    const refused = rule.match.filter((line) => !allows(line));
    expect(refused, 'must be allowed').toEqual([]);
    expect(rule.notMatch.filter(allows), 'must not be allowed').toEqual([]);
  });
});

describe('rules of the tools', () => {
  it('name each program once', () => {
    const programs = toolRules.flatMap((rule) => rule.programs);
    expect(programs.filter((program, index) => programs.indexOf(program) !== index)).toEqual([]);
  });
});
