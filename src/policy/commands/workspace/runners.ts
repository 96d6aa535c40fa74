/** Programs with commands of their own inside: find, xargs, npx, shells. */
import type { Decision } from '#kernel/decision';
import { askFor, isUnknownProgram } from './findings.ts';
import type { Invocation, Recursion } from './invocation.ts';
import { judgePath } from './judge-path.ts';
import { foundNames } from './listed-names.ts';
import { judgeParallel } from './parallel-command.ts';
import { givenPositionals, unknownPositionals } from './positional.ts';
import { runOn } from './run-on-names.ts';
import { knownWord, type ShellWord, scriptText, single } from './shell-word.ts';
import { isQuestion } from './tells-of-itself.ts';
import { judgeXargs } from './xargs-command.ts';

type Judge = (invocation: Invocation, recursion: Recursion) => readonly Decision[];

export const runnerJudges: Readonly<Record<string, Judge>> = {
  find: judgeFind,
  gfind: judgeFind,
  xargs: judgeXargs,
  parallel: judgeParallel,
  npx: judgeNpx,
  bunx: judgeNpx,
  concurrently: judgeConcurrently,
  hyperfine: judgeHyperfine,
  trap: judgeTrap,
  ...Object.fromEntries(['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash'].map((name) => [name, judgeShell])),
  source: judgeSource,
  '.': judgeSource,
};

/** Tests of find that take a word. */
const findValued =
  /^-(?:i?name|i?path|i?wholename|i?regex|i?lname|type|xtype|maxdepth|mindepth|[mac]time|[mac]min|size|perm|links|inum|user|group|uid|gid|newer\w*|anewer|cnewer|samefile|regextype|printf|used|fstype)$/;
const findFlags =
  /^(?:[()!,]|-(?:not|a|and|o|or|true|false|empty|readable|writable|executable|print0?|ls|prune|quit|depth|d|xdev|mount|daystart|noleaf|nouser|nogroup|warn|nowarn|P|O\d|delete))$/;

function judgeFind(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { args } = invocation;
  const texts = args.map(single);
  const unknown = args.find((_word, index) => texts[index] === undefined && !/^-i?(?:name|path)$/.test(texts[index - 1] ?? ''));
  if (unknown !== undefined) return [askFor('unclear', unknown.offset, `\`${unknown.source.slice(0, 60)}\` is not known before it runs`)];
  const found = texts.includes('-delete') ? judgeDelete(invocation) : [];
  let index = 0;
  while (index < args.length) {
    const step = judgeFindWord(invocation, index, recursion);
    found.push(...step.found);
    index += step.taken;
  }
  return found;
}

/** `-delete` removes all that is found. */
function judgeDelete({ args, scope, offset }: Invocation): Decision[] {
  return foundNames(args.map((word) => single(word) ?? '')).flatMap((text) => judgePath({ text, glob: false, offset }, 'remove', scope));
}

interface FindStep {
  readonly found: readonly Decision[];
  /** Words used. */
  readonly taken: number;
}

function judgeFindWord(invocation: Invocation, index: number, recursion: Recursion): FindStep {
  const { args, scope, offset } = invocation;
  const word = args[index] ?? knownWord('', { offset, source: '' });
  const text = single(word) ?? '';
  if (/^-(?:exec|execdir|ok|okdir)$/.test(text)) return judgeFindExec(invocation, index, recursion);
  if (/^-(?:newer\w*|anewer|cnewer|samefile)$/.test(text) && !/^-newer.t$/.test(text))
    return { found: pathOf(args[index + 1], 'list', invocation), taken: 2 };
  if (/^-(?:fprint0?|fprintf|fls)$/.test(text)) return { found: pathOf(args[index + 1], 'write', invocation), taken: 2 };
  if (findValued.test(text)) return { found: [], taken: 2 };
  if (findFlags.test(text)) return { found: [], taken: 1 };
  if (text.startsWith('-')) return { found: [askFor('unclear', word.offset, `\`${text}\` of \`find\` is not known`)], taken: 1 };
  return { found: judgePath({ text, glob: word.glob, offset: word.offset }, 'list', scope), taken: 1 };
}

function judgeFindExec(invocation: Invocation, index: number, recursion: Recursion): FindStep {
  const texts = invocation.args.map(single);
  const end = texts.findIndex((text, at) => at > index && (text === ';' || (text === '+' && texts[at - 1] === '{}')));
  if (end < 0) return { found: [askFor('unclear', invocation.offset, `\`${texts[index]}\` without an end`)], taken: texts.length };
  const words = invocation.args.slice(index + 1, end);
  // It runs where each file is, which nobody knows.
  const elsewhere = texts[index]?.endsWith('dir') ? words.slice(1).find((word) => (single(word) ?? '/').includes('/')) : undefined;
  const found =
    elsewhere === undefined
      ? []
      : [askFor('unclear', elsewhere.offset, `\`${elsewhere.source.slice(0, 60)}\` below directories that are found`)];
  return { found: [...found, ...runFound(invocation, words, recursion)], taken: end + 1 - index };
}

function pathOf(word: ShellWord | undefined, action: 'list' | 'write', { scope, offset }: Invocation): readonly Decision[] {
  const text = single(word);
  if (word === undefined || text === undefined) return [askFor('unclear', offset, 'a file that is not named')];
  return judgePath({ text, glob: word.glob, offset: word.offset }, action, scope);
}

/** `{}` is some file that find met below its starting points. */
function runFound(invocation: Invocation, words: readonly ShellWord[], recursion: Recursion): readonly Decision[] {
  const [name, ...rest] = words;
  const program = single(name);
  if (name === undefined || program === undefined || name.source.includes('{}'))
    return [askFor('runs_other_code', invocation.offset, 'the files that were found would be run')];
  const selectsLinks = invocation.args.some(
    (word, index) => single(word) === 'l' && /^-x?type$/.test(single(invocation.args[index - 1]) ?? ''),
  );
  if (selectsLinks && !/^(?:ls|readlink|realpath|stat|file|echo|printf|rm|unlink|basename|dirname|test)$/.test(program))
    return [askFor('SYMLINK_OUTSIDE_WORKSPACE', name.offset, `\`${program}\` would follow links, which may lead outside`)];
  const names = foundNames(invocation.args.map((word) => single(word) ?? ''));
  return runOn({ ...invocation, program, args: rest, offset: name.offset, input: 'none' }, { names, mark: '{}' }, recursion);
}

/** Packages whose name is not their program's. */
const scopedTools: Readonly<Record<string, string>> = {
  '@biomejs/biome': 'biome',
  '@angular/cli': 'ng',
  '@playwright/test': 'playwright',
  '@changesets/cli': 'changeset',
  '@redocly/cli': 'redocly',
  '@stoplight/spectral-cli': 'spectral',
  '@commitlint/cli': 'commitlint',
  '@tailwindcss/cli': 'tailwindcss',
  '@nestjs/cli': 'nest',
  '@cspell/cli': 'cspell',
};

/** Those that fetch nothing by themselves. */
const npxOptions =
  /^(?:--no-install|--no|-q|--quiet|--offline|--prefer-offline|-y|--yes|--bun|-w|--workspace(?:=[\w@/.-]+)?|--workspaces|-ws|--include-workspace-root|--if-present|--)$/;

function judgeNpx(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { args, offset, scope } = invocation;
  const start = args.findIndex(
    (word, index) => !npxOptions.test(single(word) ?? '') && !/^(?:-w|--workspace)$/.test(single(args[index - 1]) ?? ''),
  );
  const name = args[start];
  const program = single(name);
  if (name === undefined || program === undefined) return [askFor('unclear', offset, `\`${invocation.program}\` without a program`)];
  const blocked = [
    askFor('network_blocked', name.offset, `\`${invocation.program} ${program.slice(0, 60)}\` may download a program and run it`),
  ];
  if (Object.hasOwn(scopedTools, program))
    return recursion.invocation({ ...invocation, program: scopedTools[program] ?? '', args: args.slice(start + 1), offset: name.offset });
  if (!/^[a-z][a-z0-9._-]*$/i.test(program)) return blocked;
  const isInstalled = scope.view.facts.look(['node_modules', '.bin', program]).kind === 'file';
  const next = { ...invocation, program, args: args.slice(start + 1), offset: name.offset };
  const judged = recursion.invocation(next);
  // The version of a program that is not there is a download too.
  const asked = next.args.every((word) => isQuestion(single(word) ?? '')) ? recursion.invocation({ ...next, args: [] }) : judged;
  if (asked.every((decision) => !isUnknownProgram(decision))) return judged;
  return isInstalled ? judged.filter((decision) => !isUnknownProgram(decision)) : blocked;
}

/** `concurrently "npm:lint" "tsc -w"`: each word is a command line. */
function judgeConcurrently({ args, offset, ...invocation }: Invocation, recursion: Recursion): readonly Decision[] {
  return args.flatMap((word, index) => {
    const text = scriptText(word);
    if (text === undefined) return [askFor('unclear', word.offset, 'a command that is not known before it runs')];
    const before = single(args[index - 1]) ?? '';
    if (
      text.startsWith('-') ||
      /^(?:-[ncpmstl]|--(?:names|prefix-colors|prefix|max-processes|success|timestamp-format|prefix-length|restart-tries|restart-after|hide))$/.test(
        before,
      )
    )
      return [];
    return /^(?:npm|yarn|pnpm|bun|node):[\w:*.-]+$/.test(text)
      ? []
      : recursion.script(text, { ...invocation, args, offset }, unknownPositionals);
  });
}

/** `hyperfine --prepare 'make clean' 'make'`: each word is a command line. */
function judgeHyperfine(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  return invocation.args.flatMap((word, index) => {
    const text = scriptText(word);
    const before = single(invocation.args[index - 1]) ?? '';
    if (text === undefined) return [askFor('unclear', word.offset, 'a command that is not known before it runs')];
    if (
      /^(?:-[wrmMnuN]|--(?:warmup|runs|min-runs|max-runs|command-name|export-(?:json|markdown|csv)|time-unit|style))$/.test(before) &&
      before !== '-N'
    )
      return judgePath({ text, glob: word.glob, offset: word.offset }, 'write', invocation.scope);
    if (!text.startsWith('-')) return recursion.script(text, invocation, unknownPositionals);
    const isKnown =
      /^(?:-[wrmMnuNipsc]|--(?:warmup|runs|min-runs|max-runs|command-name|export-\w+|time-unit|style|ignore-failure|prepare|setup|cleanup|conclude|show-output)(?:=\w+)?)$/.test(
        text,
      );
    return isKnown ? [] : [askFor('unclear', word.offset, `\`${text.slice(0, 60)}\` of \`hyperfine\` is not known`)];
  });
}

/** `trap 'echo "failed at $LINENO"' ERR`: it runs wherever an error is, so there it may only say something. */
function onlySays(script: string | undefined, signals: readonly (string | undefined)[]): boolean {
  const text = '[^;&|<>`$()\\n]*';
  return (
    signals.join(' ') === 'ERR' &&
    new RegExp(`^echo ${text}(?:\\$(?:LINENO|\\?|0|BASH_COMMAND)${text})*(?:; *exit(?: \\d+)?)?;?$`).test(script ?? '')
  );
}

/** `trap 'rm -f x' EXIT`: the text runs when the shell ends. */
function judgeTrap(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const [script, ...signals] = invocation.args.map(scriptText);
  const atEnd = signals.length > 0 && signals.every((signal) => /^(?:EXIT|0|INT|TERM|HUP|SIGINT|SIGTERM)$/.test(signal ?? ''));
  if (onlySays(script, signals)) return [];
  if (script === undefined || !atEnd) return [askFor('unclear', invocation.offset, '`trap` of other than the end of the script')];
  // A function of the line; its body is judged where it stands.
  const called = /^(\w+)(?: "?\$\?"?)?(?:; *exit(?: \d+)?)?;?$/.exec(script.trim())?.[1];
  if (called !== undefined && invocation.functions.has(called)) {
    recursion.atEnd((scope) => {
      recursion.call(called, scope);
      return [];
    });
    return [];
  }
  if (script === '-' || script === '') return [];
  recursion.atEnd((scope) => recursion.script(script, { ...invocation, scope }, recursion.variables));
  return [];
}

/** `bash script.sh`, `bash -c '…'`; what comes from elsewhere asks. */
function judgeShell(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { args, offset, program } = invocation;
  const texts = args.map(single);
  const index = shellOptions(texts);
  const text = texts[index];
  if (index >= args.length) return [askFor('runs_other_code', offset, `\`${program}\` takes its commands from standard input`)];
  if (text === undefined) return [askFor('unclear', offset, 'a script that is not known before it runs')];
  if (/^-[euxvnflh]*c[euxvn]*$/.test(text)) return judgeScriptText(invocation, index, recursion);
  if (!/^[-+]/.test(text)) return scriptFile(invocation, index);
  return text === '--version' ? [] : [askFor('unclear', offset, `\`${text}\` of \`${program}\` is not known`)];
}

/** How many of the words are options that only change how a script runs. */
function shellOptions(texts: readonly (string | undefined)[]): number {
  const index = texts.findIndex(
    (text, at) =>
      !/^[-+][euxvnlf]*o$/.test(texts[at - 1] ?? '') &&
      !/^(?:[-+][euxvnlf]*o|--(?:norc|noprofile|login|posix)|[-+][euxvnlf]+)$/.test(text ?? ''),
  );
  return index < 0 ? texts.length : index;
}

function judgeScriptText(invocation: Invocation, index: number, recursion: Recursion): readonly Decision[] {
  const words = invocation.args.slice(index + 1);
  const start = words.findIndex((word) => !single(word)?.startsWith('-'));
  const text = start < 0 ? undefined : scriptText(words[start]);
  if (text === undefined) return [askFor('unclear', invocation.offset, 'a script that is not known before it runs')];
  return recursion.script(text, invocation, givenPositionals(words.slice(start + 1)));
}

/** A script of the workspace runs as any other program of it does. */
function scriptFile(invocation: Invocation, index: number): readonly Decision[] {
  const [script, ...rest] = invocation.args.slice(index);
  const text = single(script);
  if (script === undefined || text === undefined)
    return [askFor('unclear', invocation.offset, 'a script that is not known before it runs')];
  if (/^\/(?:dev|proc)\//.test(text)) return [askFor('runs_other_code', script.offset, `\`${text}\` is no script of the workspace`)];
  return [script, ...rest].flatMap((word) => {
    const value = single(word);
    return value === undefined || value.startsWith('-')
      ? []
      : judgePath({ text: value, glob: word.glob, offset: word.offset }, 'read', invocation.scope);
  });
}

function judgeSource(invocation: Invocation): readonly Decision[] {
  const text = single(invocation.args[0]);
  // Assignments of plain text, by which scripts tell systems apart.
  if (text === '/etc/os-release' || text === '/etc/lsb-release') return [];
  if (text === undefined || invocation.args[0]?.glob)
    return [askFor('runs_other_code', invocation.offset, 'a script that is not known before it runs')];
  return scriptFile(invocation, 0);
}
