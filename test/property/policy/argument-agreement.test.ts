/** The words that the policy believes a program gets, held against those that bash hands to it. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { shellGrammar } from '../../../src/app/shell-grammar.ts';
import { createPathFacts } from '../../../src/connectors/workspace-files/path-facts.ts';
import { decideWorkspaceCommand } from '../../../src/policy/commands/workspace/decide-workspace-command.ts';
import type { Invocation } from '../../../src/policy/commands/workspace/invocation.ts';
import { loadShellParser, type ShellParser } from '../../../src/policy/commands/workspace/shell-parser.ts';
import { createRandom } from '../../integration/policy/line-generator.ts';
import { type ArgumentOracle, createArgumentOracle, type Start } from './argument-oracle.ts';
import { judgedAs } from './believed-words.ts';
import { wordScript } from './random-words.ts';

let parser: ShellParser;
let oracle: ArgumentOracle;
beforeAll(async () => {
  parser = await loadShellParser(shellGrammar());
  oracle = createArgumentOracle();
});
afterAll(() => oracle.remove());

interface Compared {
  readonly allowed: boolean;
  readonly starts: readonly Start[];
  /** Starts that nobody judged. */
  readonly unjudged: readonly Start[];
}

function compare(script: string): Compared {
  const invocations: Invocation[] = [];
  const view = { ground: { roots: [oracle.workspace], platform: 'posix' as const }, facts: createPathFacts(oracle.workspace) };
  const { decision, canonical } = decideWorkspaceCommand(script, { parser, view, onInvocation: (next) => invocations.push(next) });
  if (decision.effect !== 'allow' || canonical === undefined) return { allowed: false, starts: [], unjudged: [] };
  const starts = oracle.starts(canonical);
  return { allowed: true, starts, unjudged: starts.filter((start) => judgedAs(start, invocations).length === 0) };
}

it('bash hands programs the words that were judged, in the directories that were judged, and writes nothing outside', () => {
  let told = 0;
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const random = createRandom(seed);
      const script = wordScript((below) => Math.floor(random() * below));
      const { starts, unjudged } = compare(script);
      expect(unjudged, JSON.stringify(script)).toEqual([]);
      expect(oracle.wroteOutside(), JSON.stringify(script)).toBe(false);
      if (starts.length > 0) told += 1;
    }),
    { numRuns: 600 },
  );
  expect(told).toBeGreaterThan(50);
});

it.each([
  ["wc 'a b' $'c\\'d' {x,y}z *.txt", [['wc', 'a b', "c'd", 'xz', 'yz', 'a.txt', 'b.txt']]],
  // Behind a pipe no word of the shell.
  [': <<E | time wc a.txt\nE', [['time', 'wc', 'a.txt']]],
  ['x=a.txt; f() { wc "$@" $x; }; f b "c d"', [['wc', 'b', 'c d', 'a.txt']]],
  [
    'find sub -name a.txt -exec wc {} +',
    [
      ['find', 'sub', '-name', 'a.txt', '-exec', 'wc', '{}', '+'],
      ['wc', 'sub/a.txt'],
    ],
  ],
])('sees the words of %j, and they were judged', (script, calls) => {
  const { allowed, starts, unjudged } = compare(script);
  expect(allowed).toBe(true);
  expect(starts.map(({ program, args }) => [program, ...args])).toEqual(calls);
  expect(unjudged).toEqual([]);
});

it('would tell of other words, another program and another place', () => {
  const invocations: Invocation[] = [];
  const view = { ground: { roots: [oracle.workspace], platform: 'posix' as const }, facts: createPathFacts(oracle.workspace) };
  decideWorkspaceCommand('wc a.txt "$x"; rm *.txt', { parser, view, onInvocation: (next) => invocations.push(next) });
  const isJudged = (program: string, args: readonly string[], directory = oracle.workspace) =>
    judgedAs({ program, args, directory }, invocations).length > 0;
  expect(isJudged('wc', ['a.txt', 'anything'])).toBe(true);
  expect(isJudged('rm', ['a.txt', 'b.txt'])).toBe(true);
  expect(isJudged('wc', ['b.txt', 'anything'])).toBe(false);
  expect(isJudged('cat', ['a.txt', 'anything'])).toBe(false);
  expect(isJudged('rm', ['../a.txt'])).toBe(false);
  expect(isJudged('wc', ['a.txt'], `${oracle.workspace}/sub`)).toBe(false);
});
