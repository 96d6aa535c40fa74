/**
 * Tools that have work of their own and run another program for it (`bear -- make`, `lerna exec tsc`, `coverage run x.py`): that program is
 * judged as itself. Without one they are judged by their rule.
 */
import type { Decision } from '#kernel/decision';
import { askFor, isUnknownProgram } from './findings.ts';
import type { Invocation, Recursion } from './invocation.ts';
import { unknownPositionals } from './positional.ts';
import { type ShellWord, single } from './shell-word.ts';

interface Carrier {
  /** The verbs that make it run another program, each behind options of the one before; none: it always does. */
  readonly verbs: readonly RegExp[];
  /** Options that take the next word. */
  readonly valued?: RegExp;
  /** What runs stands behind `--` only. */
  readonly dashed?: true;
  /** What it runs are the words of this program. */
  readonly as?: string;
  /** Options behind the verbs are that program's. */
  readonly bare?: true;
  /** Only the name of the program is a word of the line, the others are its own. */
  readonly nameOnly?: true;
}

const nothing = /^\0$/;
const coverage =
  /^(?:--(?:lines|branches|functions|statements|reporter|include|exclude|src|report-dir|reports-dir|temp-directory|temp-dir|cwd|config|extension|resolve|nycrc-path)|-[rxnbfloe])$/;

const carriers: Readonly<Record<string, readonly Carrier[]>> = {
  bear: [{ verbs: [], valued: /^(?:--output|-o|--config)$/ }],
  'scan-build': [
    { verbs: [], valued: /^(?:-o|--use-cc|--use-c\+\+|--use-analyzer|-enable-checker|-disable-checker|-analyzer-config|-maxloop)$/ },
  ],
  infer: [{ verbs: [/^(?:run|capture|compile)$/], dashed: true }],
  coverage: [{ verbs: [/^run$/], valued: /^--context$/, as: 'python' }],
  c8: [{ verbs: [], valued: coverage }],
  nyc: [{ verbs: [], valued: coverage }],
  lerna: [{ verbs: [/^exec$/], valued: /^--(?:scope|ignore|since|concurrency)$/ }],
  nx: [{ verbs: [/^exec$/], valued: /^(?:-p|--projects)$/ }],
  pnpm: [{ verbs: [/^exec$/], valued: /^(?:--filter|-F|-C|--dir|--workspace-concurrency)$/ }],
  yarn: [
    { verbs: [/^workspaces$/, /^foreach$/, /^(?:exec|run)$/], valued: /^(?:--from|--include|--exclude|--since|-j|--jobs)$/ },
    { verbs: [/^exec$/] },
  ],
  nbqa: [{ verbs: [], nameOnly: true }],
  libtool: [{ verbs: [] }],
  meson: [{ verbs: [/^devenv$/], valued: /^(?:-C|-w|--workdir)$/ }],
  tox: [{ verbs: [/^(?:exec|e)$/], dashed: true }],
  mix: [{ verbs: [/^cmd$/], valued: /^(?:--app)$/ }, { verbs: [/^do$/, /^cmd$/] }],
  mise: [{ verbs: [/^(?:exec|x)$/], dashed: true }],
  cmake: [
    { verbs: [/^env$/], as: 'env', bare: true },
    { verbs: [/^time$/], as: 'time', bare: true },
  ],
};
/** Verbs of coverage tools that run nothing. */
const reports = /^(?:report|check-coverage|merge|instrument|combine|html|xml|json|lcov|erase|debug|annotate|help)$/;

/** undefined: it is no such tool, or runs nothing here. */
export function judgeCarried(invocation: Invocation, recursion: Recursion): readonly Decision[] | undefined {
  const known = Object.hasOwn(carriers, invocation.program) ? carriers[invocation.program] : undefined;
  for (const carrier of known ?? []) {
    const start = startOf(carrier, invocation.args);
    if (start !== undefined) return [...judgeOptions(invocation, start), ...judgeRest(carrier, invocation, { start, recursion })];
  }
  return undefined;
}

/** Where the other program stands. */
function startOf(carrier: Carrier, args: readonly ShellWord[]): number | undefined {
  const texts = args.map((word) => single(word) ?? '\0');
  const from = behindVerbs(carrier, texts);
  const start = from === undefined ? texts.length : behindOwn(carrier, texts, from);
  const tells = carrier.verbs.length === 0 && reports.test(texts[start] ?? '');
  return start >= texts.length || tells ? undefined : start;
}

function behindVerbs({ verbs, valued = nothing }: Carrier, texts: readonly string[]): number | undefined {
  let index = 0;
  for (const verb of verbs) {
    index = behindOptions(texts, index, valued);
    if (!verb.test(texts[index] ?? '\0')) return undefined;
    index += 1;
  }
  return index;
}

/** Behind the options that follow the verbs. */
function behindOwn({ valued = nothing, dashed, bare }: Carrier, texts: readonly string[], from: number): number {
  if (bare) return from;
  if (!dashed) return behindOptions(texts, from, valued);
  const dashes = texts.indexOf('--', from);
  return dashes < 0 ? texts.length : dashes + 1;
}

function behindOptions(texts: readonly string[], from: number, valued: RegExp): number {
  let index = from;
  // `-m x` is a program of its own, and so is what `-E` of cmake names.
  while (index < texts.length && /^-./.test(texts[index] ?? '') && texts[index] !== '-m') {
    if (texts[index] === '--') return index + 1;
    index += valued.test(texts[index] ?? '') ? 2 : 1;
  }
  return index;
}

/** Its own words in front: nothing that leads outside. */
function judgeOptions({ program, args }: Invocation, start: number): readonly Decision[] {
  return args
    .slice(0, start)
    .filter((word) => /(?:^|=)(?:\/|~)|(?:^|[=/])\.\.(?:\/|$)/.test(single(word) ?? '/'))
    .map((word) => askFor('PATH_OUTSIDE_WORKSPACE', word.offset, `\`${word.source.slice(0, 60)}\` of \`${program}\` leads outside`));
}

function judgeRest(
  { as, nameOnly }: Carrier,
  invocation: Invocation,
  { start, recursion }: { readonly start: number; readonly recursion: Recursion },
): readonly Decision[] {
  const [name, ...rest] = invocation.args.slice(start);
  if (as !== undefined) return recursion.invocation({ ...invocation, program: as, args: invocation.args.slice(start) });
  const program = single(name);
  if (name === undefined || program === undefined) return [askFor('unclear', invocation.offset, 'the program is not known before it runs')];
  // `lerna exec "tsc -p ."`
  if (/\s/.test(program)) return recursion.script(program, invocation, unknownPositionals);
  const judged = recursion.invocation({ ...invocation, program, args: nameOnly ? [] : rest, offset: name.offset });
  return /^[\w@.:-]+$/.test(program) ? judged.filter((decision) => !isUnknownProgram(decision)) : judged;
}
