/** Commands that git is told to run: `git bisect run npm test`, `git rebase -x 'npm test' main`. They are judged as themselves. */
import type { Decision } from '#kernel/decision';
import { askFor } from './findings.ts';
import type { Invocation, Recursion } from './invocation.ts';
import { type ShellWord, single } from './shell-word.ts';

export interface GitRun {
  readonly found: readonly Decision[];
  /** The verb and its words without the commands. */
  readonly args: readonly ShellWord[];
}

/** `after`: git with the verb as its first word. */
export function judgeGitRun(after: Invocation, recursion: Recursion): GitRun {
  const [verb, next] = after.args.map((word) => single(word) ?? '');
  if (verb === 'bisect' && next === 'run') return { found: judgeBisect(after, recursion), args: after.args.slice(0, 1) };
  return verb === 'rebase' ? judgeRebase(after, recursion) : { found: [], args: after.args };
}

function judgeBisect(after: Invocation, recursion: Recursion): readonly Decision[] {
  const [name, ...args] = after.args.slice(2);
  const program = single(name);
  if (!program || name?.glob) return [askFor('unclear', after.offset, 'the program of `git bisect run` is not known before it runs')];
  return judgeTested({ ...after, program, args, input: 'none', functions: noFunctions }, (tested) => recursion.invocation(tested));
}

/** What tests and builds a project: that is what these commands are for. What else they run asks. */
const testers =
  /^(?:npm|pnpm|yarn|bun|npx|node|pytest|tox|nox|cargo|go|make|ctest|cmake|ninja|meson|bazel|mvn|gradle|dotnet|swift|mix|rspec|rake|bundle|phpunit|composer|deno|zig|stack|cabal|sbt|flutter|dart|uv|poetry|jest|vitest|tsc|eslint|ruff|mypy|(?:\.\/)?(?:gradlew|mvnw))$/;

function judgeTested(tested: Invocation, judge: (tested: Invocation) => readonly Decision[]): readonly Decision[] {
  if (testers.test(tested.program)) return judge(tested);
  return [askFor('runs_other_code', tested.offset, `\`git\` is told to run \`${tested.program.slice(0, 60)}\``)];
}

const noFunctions: ReadonlySet<string> = new Set();

function judgeRebase(after: Invocation, recursion: Recursion): GitRun {
  const found: Decision[] = [];
  const args: ShellWord[] = [];
  for (let index = 0; index < after.args.length; index += 1) {
    const word = after.args[index];
    if (word === undefined) continue;
    const [isExec, attached] = execOption(single(word) ?? '');
    if (!isExec) args.push(word);
    else if (attached !== undefined) found.push(...judgeText(attached, after, recursion));
    else {
      index += 1;
      found.push(...judgeText(single(after.args[index]), after, recursion));
    }
  }
  return { found, args };
}

/** Whether it is `-x` or `--exec`, and the command that stands in the same word. */
function execOption(text: string): readonly [boolean, string | undefined] {
  const [, option, command] = /^(--exec|-x)(?:=([\s\S]*))?$/.exec(text) ?? [];
  return option === undefined || (option === '-x' && command !== undefined) ? [false, undefined] : [true, command];
}

function judgeText(text: string | undefined, after: Invocation, recursion: Recursion): readonly Decision[] {
  const [program = ''] = text?.trimStart().split(/\s/, 1) ?? [];
  return judgeTested({ ...after, program }, () => (text === undefined ? [] : recursion.script(text, after, recursion.variables)));
}
