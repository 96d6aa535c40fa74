/** Scripts of the project that a package manager runs: `npm run lint`, `yarn lint`. */
import type { Decision } from '#kernel/decision';
import { askFor, isUnknownProgram } from './findings.ts';
import type { Invocation, Recursion } from './invocation.ts';
import { judgePath } from './judge-path.ts';
import { printsEnvironment } from './secret-variables.ts';
import { single } from './shell-word.ts';

/** `npm run env` is no script of the project: npm prints what it would give to one. */
export function builtInScript({ args, offset }: Invocation): readonly Decision[] {
  const [verb, script] = args.map((word) => single(word) ?? '').filter((text) => !text.startsWith('-'));
  return /^(?:run|run-script|rum|urn)$/.test(verb ?? '') && script === 'env' ? [printsEnvironment(offset, '`npm run env`')] : [];
}

/** Options in front that take a word. */
const valued = /^(?:--filter|-F|--workspace|-C|--dir|--cwd)$/;
/** Verbs that are no program's name; scripts of these names are the project's as well. */
const verbs = /^(?:run|test|t|build|lint|exec|why|list|ls|workspaces|workspace|bin|licenses)$/;

/** `yarn lint`: a script of the project or a program of it; a known program is judged as itself. */
export function scriptOrTool(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { args } = invocation;
  const texts = args.map((word) => word.values?.[0] ?? '');
  if (texts.length === 1 && /^(?:--version|-v|--help)$/.test(texts[0] ?? '')) return [];
  const start = texts.findIndex((text, index) => !text.startsWith('-') && !valued.test(texts[index - 1] ?? ''));
  // `yarn workspace NAME add x` is `yarn add x` there.
  if (texts[start] === 'workspace' && texts.length > start + 2) return recursion.invocation({ ...invocation, args: args.slice(start + 2) });
  const isRun = texts[start] === 'run';
  const named = { ...invocation, args: args.slice(isRun ? start + 1 : Math.max(start, 0)) };
  return (isRun ? judgeSource(named) : undefined) ?? judgeNamed(named, isRun, recursion);
}

/** `bun run src/index.ts`: a file of the project; undefined where it is none. */
function judgeSource({ program, args: [word], scope }: Invocation): readonly Decision[] | undefined {
  const text = single(word);
  if (word === undefined || text === undefined || program !== 'bun' || !/^[\w./-]+\.[cm]?[jt]sx?$/.test(text)) return undefined;
  return judgePath({ text, glob: false, offset: word.offset }, 'read', scope);
}

/** The name is the first of the words. */
function judgeNamed(invocation: Invocation, isRun: boolean, recursion: Recursion): readonly Decision[] {
  const [word, ...args] = invocation.args;
  const name = single(word) ?? '';
  const { offset } = word ?? invocation;
  if (!/^[\w:.-]+$/.test(name)) return [askFor('unclear', offset, `\`${invocation.program}\` without a script's name`)];
  if (isRun && name === 'env') return [printsEnvironment(offset, `\`${invocation.program} run env\``)];
  if (isRun || verbs.test(name)) return [];
  const judged = recursion.invocation({ ...invocation, program: name, args, offset });
  return judged.filter((decision) => !isUnknownProgram(decision));
}
