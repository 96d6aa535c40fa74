/** Programs that run another one: they are taken away, and what is left is judged. An option that is not known asks. */
import type { Decision } from '#kernel/decision';
import { judgeAssignment } from './environment.ts';
import { askFor } from './findings.ts';
import type { Invocation, Recursion } from './invocation.ts';
import type { ShellWord } from './shell-word.ts';

interface Wrapper {
  /** Options without a value. */
  readonly flags: RegExp;
  /** Options that take the next word. */
  readonly valued?: RegExp;
  /** Words between the options and the command (`timeout 5 …`). */
  readonly skip?: number;
  /** `NAME=value` words before the command. */
  readonly assignments?: true;
  /** Asks about a command instead of running it. */
  readonly looks?: RegExp;
  /** Without a command: harmless. */
  readonly alone?: true;
}

const wrappers: Readonly<Record<string, Wrapper>> = {
  env: { flags: /^(?:-i|-|--ignore-environment|-0|--null)$/, valued: /^-u$/, assignments: true, alone: true },
  'cross-env': { flags: /^\0$/, assignments: true },
  nice: { flags: /^(?:-\d{1,2}|-n\d{1,2}|--adjustment=\d{1,2})$/, valued: /^-n$/ },
  ionice: { flags: /^-[tc]\d?$/, valued: /^-[cn]$/ },
  timeout: {
    flags: /^(?:-v|--verbose|--foreground|--preserve-status|-k\d+\w?|-s\w+|--kill-after=\S+|--signal=\w+)$/,
    valued: /^-[ks]$/,
    skip: 1,
  },
  gtimeout: { flags: /^\0$/, skip: 1 },
  time: { flags: /^-[pv]$/ },
  command: { flags: /^-p$/, looks: /^-[vV]+$/ },
  builtin: { flags: /^\0$/ },
  exec: { flags: /^\0$/, alone: true },
  stdbuf: { flags: /^-[ioe](?:L|0|\d+[KM]?)$/, valued: /^-[ioe]$/ },
  unbuffer: { flags: /^-p$/ },
};

/** Package managers' ways to run a program of the project. */
const runners: Readonly<Record<string, readonly string[]>> = {
  pnpm: ['exec'],
  yarn: ['exec', 'run'],
  uv: ['run'],
  poetry: ['run'],
  pipenv: ['run'],
  pdm: ['run'],
  hatch: ['run'],
  rye: ['run'],
  bundle: ['exec'],
  composer: ['exec'],
  npm: ['exec', 'x'],
};

/** undefined: the program is no wrapper. */
export function unwrap(invocation: Invocation, recursion: Recursion): readonly Decision[] | undefined {
  const wrapper = Object.hasOwn(wrappers, invocation.program) ? wrappers[invocation.program] : undefined;
  if (wrapper !== undefined) return unwrapWith(wrapper, invocation, recursion);
  return unwrapRunner(invocation, recursion);
}

function unwrapWith(wrapper: Wrapper, invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { args, program, offset } = invocation;
  let index = 0;
  for (; index < args.length; index += 1) {
    const text = single(args[index]);
    if (text === undefined || !text.startsWith('-')) break;
    if (wrapper.looks?.test(text)) return [];
    if (text === '--') {
      index += 1;
      break;
    }
    if (wrapper.valued?.test(text)) index += 1;
    else if (!wrapper.flags.test(text))
      return [askFor('unclear', args[index]?.offset ?? offset, `\`${text}\` of \`${program}\` is not known`)];
  }
  const found: Decision[] = [];
  if (wrapper.assignments) index = takeAssignments(invocation, index, found);
  return [...found, ...runRest(invocation, index + (wrapper.skip ?? 0), { recursion, alone: wrapper.alone ?? false })];
}

function takeAssignments({ args, scope }: Invocation, start: number, found: Decision[]): number {
  let index = start;
  for (; index < args.length; index += 1) {
    const word = args[index];
    const match = /^([A-Za-z_]\w*)=(.*)$/s.exec(single(word) ?? '');
    if (word === undefined || match === null) break;
    found.push(
      ...judgeAssignment({ name: match[1] ?? '', value: { ...word, values: [match[2] ?? ''] }, offset: word.offset }, undefined, scope),
    );
  }
  return index;
}

interface Rest {
  readonly recursion: Recursion;
  readonly alone: boolean;
}

function runRest(invocation: Invocation, index: number, { recursion, alone }: Rest): readonly Decision[] {
  const [name, ...rest] = invocation.args.slice(index);
  if (name === undefined) return alone ? [] : [askFor('unclear', invocation.offset, `\`${invocation.program}\` without a command`)];
  const program = single(name);
  if (program === undefined || program === '' || name.glob)
    return [askFor('unclear', name.offset, 'the program is not known before it runs')];
  return recursion.invocation({ ...invocation, program, args: rest, offset: name.offset });
}

function unwrapRunner(invocation: Invocation, recursion: Recursion): readonly Decision[] | undefined {
  const verbs = Object.hasOwn(runners, invocation.program) ? runners[invocation.program] : undefined;
  const [verb, next] = invocation.args;
  if (verbs === undefined || verb === undefined || next === undefined || !verbs.includes(single(verb) ?? '')) return undefined;
  if (invocation.program === 'npm') return recursion.invocation({ ...invocation, program: 'npx', args: invocation.args.slice(1) });
  // `yarn run x` runs a script of the project or a program of the same name.
  if (invocation.program === 'yarn' && single(verb) === 'run') return undefined;
  if (single(next)?.startsWith('-'))
    return [askFor('unclear', next.offset, `\`${next.source}\` of \`${invocation.program}\` is not known`)];
  return runRest(invocation, 1, { recursion, alone: false });
}

/** The one text of a word, if it has one. */
export function single(word: ShellWord | undefined): string | undefined {
  return word?.values?.length === 1 ? word.values[0] : undefined;
}
