/** Programs that run another one: they are taken away, and what is left is judged. An option that is not known asks. */
import type { Decision } from '#kernel/decision';
import { judgeCarried } from './carriers.ts';
import { judgeAssignment } from './environment.ts';
import { askFor, isUnknownProgram } from './findings.ts';
import type { Invocation, Recursion } from './invocation.ts';
import { printsEnvironment } from './secret-variables.ts';
import { judgeSpelling } from './shell-state.ts';
import { type ShellWord, single } from './shell-word.ts';
import { enterPlaces, type GivenPlace, type PlaceOptions, placeOption } from './wrapper-places.ts';

interface Wrapper extends PlaceOptions {
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
  env: {
    flags: /^(?:-i|-|--ignore-environment|-0|--null)$/,
    valued: /^-u$/,
    enters: /^(?:-C|--chdir=)(.+)$|^(?:-C|--chdir)$/,
    assignments: true,
    alone: true,
  },
  'cross-env': { flags: /^\0$/, assignments: true },
  nice: { flags: /^(?:-\d{1,2}|-n\d{1,2}|--adjustment=\d{1,2})$/, valued: /^-n$/ },
  ionice: { flags: /^-[tc]\d?$/, valued: /^-[cn]$/ },
  timeout: {
    flags: /^(?:-v|--verbose|--foreground|--preserve-status|-k\d+\w?|-s\w+|--kill-after=\S+|--signal=\w+)$/,
    valued: /^-[ks]$/,
    skip: 1,
  },
  gtimeout: { flags: /^\0$/, skip: 1 },
  time: {
    flags: /^(?:-[apv]+|--(?:portability|verbose|append|format=.*))$/,
    valued: /^(?:-f|--format)$/,
    writes: /^(?:-o|--output=)(.+)$|^(?:-o|--output)$/,
    alone: true,
  },
  command: { flags: /^-p$/, looks: /^-[vV]+$/ },
  builtin: { flags: /^\0$/ },
  exec: { flags: /^\0$/, alone: true },
  stdbuf: { flags: /^-[ioe](?:L|0|\d+[KM]?)$/, valued: /^-[ioe]$/ },
  unbuffer: { flags: /^-p$/ },
  chronic: { flags: /^-[ev]$/ },
  // A display in memory for as long as the command runs.
  'xvfb-run': { flags: /^(?:-a|--auto-servernum|--server-num=\d+|--server-args=-screen \d+ [\dx]+)$/, valued: /^-n$/ },
  shx: { flags: /^\0$/ },
  ccache: { flags: /^\0$/ },
  sccache: { flags: /^\0$/ },
  xcrun: {
    flags: /^(?:--sdk=\S+|-v|--verbose|-n|--no-cache|-r|--run|-l|--log)$/,
    valued: /^--(?:sdk|toolchain)$/,
    looks: /^(?:--find|-f|--show-sdk-[\w-]+|--version)$/,
  },
  emcmake: { flags: /^\0$/ },
  emmake: { flags: /^\0$/ },
  emconfigure: { flags: /^\0$/ },
  // Runs a program for another processor; alone it names the machine's.
  arch: { flags: /^-(?:x86_64|arm64e?|i386)$/, alone: true },
  taskset: { flags: /^(?:-c|--cpu-list|(?:0x)?[0-9a-f]+|\d+(?:[-,]\d+)*)$/, skip: 1 },
  caffeinate: { flags: /^-[dims]+$/ },
};

/** Package managers' ways to run a program of the project. */
const runners: Readonly<Record<string, readonly string[]>> = {
  pnpm: ['exec'],
  yarn: ['exec', 'run'],
  uv: ['run', 'pip'],
  poetry: ['run'],
  pipenv: ['run'],
  pdm: ['run'],
  hatch: ['run'],
  rye: ['run'],
  bundle: ['exec'],
  composer: ['exec'],
  npm: ['exec', 'x'],
  stack: ['exec'],
  cabal: ['exec'],
  opam: ['exec'],
  dune: ['exec'],
  conda: ['run'],
  mamba: ['run'],
  micromamba: ['run'],
  pixi: ['run'],
  asdf: ['exec'],
  rbenv: ['exec'],
  pyenv: ['exec'],
};

/** undefined: the program is no wrapper. */
export function unwrap(invocation: Invocation, recursion: Recursion): readonly Decision[] | undefined {
  const wrapper = Object.hasOwn(wrappers, invocation.program) ? wrappers[invocation.program] : undefined;
  if (wrapper !== undefined) return unwrapWith(wrapper, invocation, recursion);
  return judgeCarried(invocation, recursion) ?? unwrapRunner(invocation, recursion);
}

function unwrapWith(wrapper: Wrapper, invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const places: GivenPlace[] = [];
  const options = skipOptions(wrapper, invocation, places);
  if (typeof options === 'object') return options;
  const found: Decision[] = [];
  const scope = enterPlaces(places, invocation, found);
  const start = wrapper.assignments ? takeAssignments(invocation, options, found) : options;
  return [...found, ...runRest({ ...invocation, scope }, start + (wrapper.skip ?? 0), { recursion, alone: wrapper.alone ?? false })];
}

/** The index behind the options, or what they decide. */
function skipOptions(wrapper: Wrapper, invocation: Invocation, places: GivenPlace[]): number | readonly Decision[] {
  const texts = invocation.args.map(single);
  let index = 0;
  while (isOption(texts[index])) {
    const text = texts[index] ?? '';
    if (wrapper.looks?.test(text)) return [];
    if (text === '--') return index + 1;
    const taken = optionWords(wrapper, text);
    places.push(...placeOption(wrapper, text, invocation.args[index + 1]));
    if (taken === 0) return [askFor('unclear', invocation.offset, `\`${text}\` of \`${invocation.program}\` is not known`)];
    index += taken;
  }
  return Math.min(index, texts.length);
}

function isOption(text: string | undefined): boolean {
  return text?.startsWith('-') ?? false;
}

/** How many words an option takes; none: it is not known. */
function optionWords({ flags, valued, ...places }: Wrapper, text: string): 0 | 1 | 2 {
  if (valued?.test(text)) return 2;
  const [place] = placeOption(places, text, undefined);
  if (place !== undefined) return place.isAttached ? 1 : 2;
  return flags.test(text) ? 1 : 0;
}

function takeAssignments({ args, scope }: Invocation, start: number, found: Decision[]): number {
  let index = start;
  for (; index < args.length; index += 1) {
    const word = args[index];
    const [, name, value = ''] = /^([A-Za-z_]\w*)=(.*)$/s.exec(single(word) ?? word?.source ?? '') ?? [];
    if (word === undefined || name === undefined) break;
    found.push(...judgeTaken(name, value, { word, scope }));
  }
  return index;
}

/** `env PATH="$PATH" x` hands on what is there; `env A="$B" x` some text. */
function judgeTaken(
  name: string,
  value: string,
  { word, scope }: { readonly word: ShellWord; readonly scope: Invocation['scope'] },
): readonly Decision[] {
  const { glob, quoted, offset, source } = word;
  if (single(word) !== undefined) return judgeAssignment({ name, value: { ...word, values: [value] }, offset }, undefined, scope);
  if (value === `$${name}` || value === `"$${name}"`) return [];
  if (!quoted) return [askFor('unclear', offset, `\`${name}\` is given what is not known before it runs`)];
  return judgeAssignment({ name, value: { glob, quoted, offset, source }, offset }, undefined, scope);
}

interface Rest {
  readonly recursion: Recursion;
  readonly alone: boolean;
}

function runRest(invocation: Invocation, index: number, { recursion, alone }: Rest): readonly Decision[] {
  const [name, ...rest] = invocation.args.slice(index);
  if (name === undefined && invocation.program === 'env')
    return invocation.hidesSecrets ? [] : [printsEnvironment(invocation.offset, '`env` without a command')];
  if (name === undefined) return alone ? [] : [askFor('unclear', invocation.offset, `\`${invocation.program}\` without a command`)];
  const program = single(name);
  if (program === undefined || program === '' || name.glob)
    return [askFor('unclear', name.offset, 'the program is not known before it runs')];
  // What these run is a file or a builtin, even where a function has the name.
  const spelled = judgeSpelling(program, undefined, name.offset);
  if (spelled.length > 0) return spelled;
  return recursion.invocation({ ...invocation, program, args: rest, offset: name.offset, functions: noFunctions });
}

const noFunctions: ReadonlySet<string> = new Set();

function unwrapRunner(invocation: Invocation, recursion: Recursion): readonly Decision[] | undefined {
  const verbs = Object.hasOwn(runners, invocation.program) ? runners[invocation.program] : undefined;
  const [verb = '', next] = invocation.args.slice(0, 2).map((word) => single(word) ?? '');
  // `yarn run x` runs a script of the project or a program of the same name.
  const isYarnRun = invocation.program === 'yarn' && verb === 'run';
  return next === undefined || isYarnRun || !verbs?.includes(verb) ? undefined : runInProject(invocation, { verb, next }, recursion);
}

interface ProjectRun {
  readonly verb: string;
  /** The word behind the verb. */
  readonly next: string;
}

/** Options between `run` and the program that fetch and open nothing. */
const quietOptions =
  /^(?:--offline|--frozen|--locked|--no-sync|--no-project|--quiet|-q|--verbose|-v|--no-capture-output|--live-stream|--)$/;
/** Those of environments that take a word: the name of one. */
const namingOptions = /^(?:-n|--name|-e|--environment)$/;
const environments = /^(?:conda|mamba|micromamba|pixi)$/;

/** `taken`: how many words behind the verb are an option. */
function withoutOption(invocation: Invocation, verb: string, taken: number): readonly [Invocation, ProjectRun] {
  const rest = invocation.args.slice(1 + taken);
  return [
    { ...invocation, args: [...invocation.args.slice(0, 1), ...rest] },
    { verb, next: single(rest[0]) ?? '\0' },
  ];
}

/** `stack exec -- sh -c id`: nobody needs a runner for that. */
function isShellText({ args }: Invocation): boolean {
  return /^(?:ba|da|z|k|a)?sh$/.test(single(args[1]) ?? '') && /^-[a-z]*c/.test(single(args[2]) ?? '');
}

function runInProject(invocation: Invocation, { verb, next }: ProjectRun, recursion: Recursion): readonly Decision[] {
  // `uv pip list` is pip; what a project's runner does not find among known programs is a script of the project.
  if (verb === 'pip') return recursion.invocation({ ...invocation, program: 'pip', args: invocation.args.slice(1) });
  if (invocation.program === 'npm') return recursion.invocation({ ...invocation, program: 'npx', args: invocation.args.slice(1) });
  if (quietOptions.test(next)) return runInProject(...withoutOption(invocation, verb, 1), recursion);
  if (environments.test(invocation.program) && namingOptions.test(next))
    return runInProject(...withoutOption(invocation, verb, 2), recursion);
  if (next.startsWith('-')) return [askFor('unclear', invocation.offset, `\`${next}\` of \`${invocation.program}\` is not known`)];
  if (isShellText(invocation))
    return [askFor('runs_other_code', invocation.offset, `\`${invocation.program} ${verb}\` of a shell's command line`)];
  const judged = runRest(invocation, 1, { recursion, alone: false });
  return /^[\w.@:-]+$/.test(next) ? judged.filter((decision) => !isUnknownProgram(decision)) : judged;
}
