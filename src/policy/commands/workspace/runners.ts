/** Programs with commands of their own inside: find, xargs, npx, shells. */
import type { Decision } from '#kernel/decision';
import { askFor, refuseFor } from './findings.ts';
import type { Invocation, Recursion } from './invocation.ts';
import { judgePath } from './judge-path.ts';
import { knownWord, type ShellWord } from './shell-word.ts';
import { single } from './wrappers.ts';

type Judge = (invocation: Invocation, recursion: Recursion) => readonly Decision[];

export const runnerJudges: Readonly<Record<string, Judge>> = {
  find: judgeFind,
  gfind: judgeFind,
  xargs: judgeXargs,
  npx: judgeNpx,
  ...Object.fromEntries(['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash'].map((name) => [name, judgeShell])),
  source: judgeSource,
  '.': judgeSource,
};

/** Tests of find that take a word; with any of them `-delete` does not take everything. */
const findValued =
  /^-(?:i?name|i?path|i?wholename|i?regex|i?lname|type|xtype|maxdepth|mindepth|[mac]time|[mac]min|size|perm|links|inum|user|group|uid|gid|newer\w*|anewer|cnewer|samefile|regextype|printf|used|fstype)$/;
const findFlags =
  /^(?:[()!,]|-(?:not|a|and|o|or|true|false|empty|readable|writable|executable|print0?|ls|prune|quit|depth|d|xdev|mount|daystart|noleaf|nouser|nogroup|warn|nowarn|P|O\d|delete))$/;
const selecting = /^-(?:i?name|i?path|i?wholename|i?regex|empty|[mac]time|[mac]min|size|newer.*|perm|user)$/;

function judgeFind(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { args, scope, offset } = invocation;
  const texts = args.map(single);
  const unknown = texts.findIndex((text, index) => text === undefined && !/^-i?(?:name|path)$/.test(texts[index - 1] ?? ''));
  if (unknown >= 0)
    return [askFor('unclear', args[unknown]?.offset ?? offset, `\`${args[unknown]?.source ?? ''}\` is not known before it runs`)];
  const found: Decision[] = [];
  const deletes = texts.includes('-delete');
  if (deletes && !texts.some((text) => selecting.test(text ?? '')))
    found.push(refuseFor('remove-all', offset, '`find -delete` without a test removes everything'));
  for (let index = 0; index < args.length; index += 1) {
    const word = args[index];
    const text = texts[index] ?? '';
    if (word === undefined) break;
    if (/^-(?:exec|execdir|ok|okdir)$/.test(text)) {
      const end = texts.findIndex((other, at) => at > index && (other === ';' || (other === '+' && texts[at - 1] === '{}')));
      if (end < 0) return [...found, askFor('unclear', word.offset, `\`${text}\` without an end`)];
      found.push(...runFound(invocation, args.slice(index + 1, end), recursion));
      index = end;
    } else if (/^-(?:newer\w*|anewer|cnewer|samefile)$/.test(text) && !/^-newer.t$/.test(text)) {
      found.push(...pathOf(args[index + 1], 'list', invocation));
      index += 1;
    } else if (findValued.test(text)) index += 1;
    else if (/^-(?:fprint0?|fprintf|fls)$/.test(text)) {
      found.push(...pathOf(args[index + 1], 'write', invocation));
      index += 1;
    } else if (text.startsWith('-') || /^[()!,]$/.test(text)) {
      if (!findFlags.test(text)) found.push(askFor('unclear', word.offset, `\`${text}\` of \`find\` is not known`));
    } else found.push(...judgePath({ text, glob: word.glob, offset: word.offset }, 'list', scope));
  }
  return found;
}

function pathOf(word: ShellWord | undefined, action: 'list' | 'write', { scope, offset }: Invocation): readonly Decision[] {
  const text = single(word);
  if (word === undefined || text === undefined) return [askFor('unclear', offset, 'a file that is not named')];
  return judgePath({ text, glob: word.glob, offset: word.offset }, action, scope);
}

/** `{}` is some file that find met below its starting points. */
function runFound(invocation: Invocation, words: readonly ShellWord[], recursion: Recursion): readonly Decision[] {
  const [name, ...rest] = words.map((word) =>
    single(word)?.includes('{}') ? knownWord(single(word)?.replaceAll('{}', 'found') ?? '', word) : word,
  );
  const program = single(name);
  if (name === undefined || program === undefined || words[0]?.source.includes('{}'))
    return [askFor('runs_other_code', invocation.offset, 'the files that were found would be run')];
  return recursion.invocation({ ...invocation, program, args: rest, offset: name.offset, input: 'none' });
}

/** Commands whose output is names of files in the workspace. */
const nameGivers = /^(?:find|fd|fdfind|git|ls|rg|grep)$/;
/** What may be run on names that something printed. */
const onNames =
  /^(?:cat|head|tail|wc|grep|egrep|fgrep|rg|ls|stat|file|du|diff|sha256sum|sha1sum|md5sum|basename|dirname|echo|printf|sed|prettier|eslint|black|ruff|gofmt|rustfmt|clang-format|shellcheck|shfmt|touch|git)$/;

function judgeXargs(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { args, offset } = invocation;
  const start = args.findIndex(
    (word, index) => !/^-/.test(single(word) ?? '-') && !/^-(?:n|P|I|L|d|s|a|E)$/.test(single(args[index - 1]) ?? ''),
  );
  const options = args.slice(0, Math.max(start, 0)).filter((word) => single(word)?.startsWith('-') ?? true);
  const odd = options.find(
    (word) => !/^-(?:0|r|t|x|n\d*|P\d*|I\S*|L\d*|d\S*|s\d*|-null|-no-run-if-empty|-max-args=\d+)$/.test(single(word) ?? ''),
  );
  const name = start < 0 ? undefined : args[start];
  const program = single(name);
  if (odd !== undefined || name === undefined || program === undefined)
    return [askFor('unclear', (odd ?? name)?.offset ?? offset, '`xargs` without a command, or with an option that is not known')];
  const inner = recursion.invocation({ ...invocation, program, args: args.slice(start + 1), offset: name.offset, input: 'none' });
  const fromNames = invocation.producer !== undefined && nameGivers.test(invocation.producer);
  const removes = program === 'rm' && invocation.producer !== undefined && /^(?:find|fd|git)$/.test(invocation.producer);
  if (fromNames && (onNames.test(program) || removes)) return inner;
  return [...inner, askFor('unclear', offset, '`xargs` adds words that are not known before it runs')];
}

function judgeNpx(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { args, offset, scope } = invocation;
  const start = args.findIndex((word) => !/^(?:--no-install|--no|-q|--quiet|--offline|--prefer-offline|--)$/.test(single(word) ?? ''));
  const name = args[start];
  const program = single(name);
  if (name === undefined || program === undefined) return [askFor('unclear', offset, '`npx` without a program')];
  const blocked = [askFor('network_blocked', name.offset, `\`npx ${program.slice(0, 60)}\` may download a program and run it`)];
  if (!/^[a-z][a-z0-9._-]*$/i.test(program)) return blocked;
  const isInstalled = scope.view.facts.look(['node_modules', '.bin', program]).kind === 'file';
  const next = { ...invocation, program, args: args.slice(start + 1), offset: name.offset };
  const judged = recursion.invocation(next);
  if (judged.every((decision) => decision.code !== 'unknown_program')) return judged;
  return isInstalled ? judged.filter((decision) => decision.code !== 'unknown_program') : blocked;
}

/** `bash script.sh`, `bash -c '…'`; what comes from elsewhere asks. */
function judgeShell(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { args, offset, program } = invocation;
  for (let index = 0; index < args.length; index += 1) {
    const text = single(args[index]);
    if (text === undefined) return [askFor('unclear', args[index]?.offset ?? offset, 'a script that is not known before it runs')];
    if (/^[-+]o$/.test(text)) index += 1;
    else if (/^-[euxvnflh]*c[euxvn]*$/.test(text) || /^-l?c$/.test(text)) return judgeScriptText(invocation, index, recursion);
    else if (/^--(?:norc|noprofile|login|posix)$|^-[euxvnlf]+$/.test(text)) continue;
    else if (text.startsWith('-'))
      return /^--version$/.test(text)
        ? []
        : [askFor('unclear', args[index]?.offset ?? offset, `\`${text}\` of \`${program}\` is not known`)];
    else return scriptFile(invocation, index);
  }
  return [askFor('runs_other_code', offset, `\`${program}\` takes its commands from standard input`)];
}

function judgeScriptText(invocation: Invocation, index: number, recursion: Recursion): readonly Decision[] {
  const script = invocation.args.slice(index + 1).find((word) => !single(word)?.startsWith('-'));
  const text = single(script);
  if (text === undefined) return [askFor('unclear', invocation.offset, 'a script that is not known before it runs')];
  return recursion.script(text, invocation);
}

/** A script of the workspace runs as any other program of it does. */
function scriptFile(invocation: Invocation, index: number): readonly Decision[] {
  const words = invocation.args.slice(index);
  return words.flatMap((word, at) => {
    if (word.values === undefined) return at === 0 ? [askFor('unclear', word.offset, 'a script that is not known before it runs')] : [];
    return word.values.flatMap((value) =>
      /^\/dev\/|^\/proc\//.test(value)
        ? [askFor('runs_other_code', word.offset, `\`${value}\` is no script of the workspace`)]
        : value.startsWith('-')
          ? []
          : judgePath({ text: value, glob: word.glob, offset: word.offset }, 'read', invocation.scope),
    );
  });
}

function judgeSource(invocation: Invocation): readonly Decision[] {
  const text = single(invocation.args[0]);
  if (text === undefined || invocation.args[0]?.glob)
    return [askFor('runs_other_code', invocation.offset, 'a script that is not known before it runs')];
  return scriptFile(invocation, 0);
}
