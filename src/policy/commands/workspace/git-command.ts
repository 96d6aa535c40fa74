/** `git` as a whole: options before the verb, settings that only this run has, reads of the configuration, secrets in the history. */
import type { Decision } from '#kernel/decision';
import { isSecretPath } from '../../paths/secret-files.ts';
import { askFor } from './findings.ts';
import { judgeGitRun } from './git-run.ts';
import type { Invocation, Recursion } from './invocation.ts';
import { judgePath, type PathScope } from './judge-path.ts';
import { judgeTool } from './judge-tool.ts';
import { type ShellWord, single } from './shell-word.ts';
import type { ToolRule } from './tool-rule.ts';

const plainOption =
  /^(?:--no-pager|-P|--no-optional-locks|--literal-pathspecs|--glob-pathspecs|--noglob-pathspecs|--icase-pathspecs|--no-replace-objects|--no-lazy-fetch|--bare|--version|--help|-v|-h)$/;
/** SECURITY: settings that name no program, file or place. */
const plainSetting = new RegExp(
  `^(?:${[
    'user\\.(?:name|email)|author\\.(?:name|email)|committer\\.(?:name|email)',
    '(?:color|advice|column)\\.\\w+(?:\\.\\w+)?|core\\.(?:quotepath|autocrlf|abbrev|eol|filemode|ignorecase|longpaths|safecrlf|whitespace|precomposeunicode|preloadindex)',
    'diff\\.(?:context|algorithm|renames|renamelimit|noprefix|mnemonicprefix|colormoved|interhunkcontext|indentheuristic|wserrorhighlight|submodule)',
    'merge\\.(?:conflictstyle|ff|renames|renamelimit|log|stat)|log\\.(?:date|decorate|abbrevcommit|follow|mailmap)|status\\.\\w+|grep\\.(?:linenumber|patterntype|column)',
    'init\\.defaultbranch|pull\\.(?:rebase|ff)|push\\.default|rebase\\.(?:autostash|autosquash|abbreviatecommands|stat)|branch\\.sort|tag\\.sort|commit\\.(?:verbose|status|cleanup)|gc\\.auto(?:detach)?|rerere\\.enabled|maintenance\\.auto|stash\\.\\w+|blame\\.\\w+',
  ].join(
    '|',
  )})=|^(?:core\\.pager|pager\\.\\w+)=(?:cat|false)?$|^(?:commit|tag)\\.gpgsign=(?:false|0|no)$|^core\\.(?:hookspath=/dev/null|fsmonitor=(?:false)?)$`,
  'i',
);

export function judgeGit(rule: ToolRule, invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const start = verbIndex(invocation.args.map((word) => single(word) ?? ''));
  const runs = judgeGitRun({ ...invocation, args: verbAndRest(invocation, start) }, recursion);
  const after = { ...invocation, args: runs.args };
  const [verb, ...rest] = after.args;
  const settings = single(verb) === 'config' ? judgeSettings(rest, invocation) : undefined;
  return [
    ...runs.found,
    ...judgeRoot(invocation, start),
    ...(settings ?? judgeTool(rule, withoutPattern(after))),
    ...secretsOfHistory(rest),
  ];
}

/** Options of `git grep` whose next word is a number. */
const counted = /^(?:-[hiIlLnopqvwEFGPW]*[ABCm]|--(?:max-count|max-depth|after-context|before-context|context|threads))$/;
/** Options of it that give the pattern, or are not known. */
const givesPattern =
  /^(?:-[a-zA-Z]*[ef]|--(?!(?:cached|no-index|untracked|recursive|ignore-case|word-regexp|invert-match|full-name|extended-regexp|basic-regexp|perl-regexp|fixed-strings|line-number|column|files-with-matches|name-only|files-without-match|only-matching|null|count|color|no-color|break|heading|show-function|function-context|all-match|quiet|text|max-count|max-depth|after-context|before-context|context|threads|exclude-standard|no-exclude-standard)(?:=|$)|$))/;

/** `git grep -n '/api' src`: the pattern is no file. SECURITY: only a word that is known, and only where no option gave the pattern. */
function withoutPattern(invocation: Invocation): Invocation {
  const texts = invocation.args.map(single);
  if (texts[0] !== 'grep' || texts.some((text) => text !== undefined && givesPattern.test(text))) return invocation;
  const at = texts.findIndex((text, index) => index > 0 && !text?.startsWith('-') && !counted.test(texts[index - 1] ?? ''));
  const isPath = texts.slice(0, at).includes('--');
  return at < 0 || isPath || texts[at] === undefined
    ? invocation
    : { ...invocation, args: invocation.args.filter((_word, index) => index !== at) };
}

function verbIndex(texts: readonly string[]): number {
  const index = texts.findIndex((text, at) => !text.startsWith('-') && !/^-[Cc]$/.test(texts[at - 1] ?? ''));
  return index < 0 ? texts.length : index;
}

/** Options before the verb: only ones that cannot run anything; `-C` names a place that is looked at. */
function judgeRoot({ args, scope }: Invocation, start: number): readonly Decision[] {
  const found: Decision[] = [];
  for (let index = 0; index < start; index += 1) {
    const text = single(args[index]) ?? '';
    if (plainOption.test(text)) continue;
    const value = judgeRootValue(text, args[index + 1], scope);
    if (value === undefined)
      found.push(askFor('runs_other_code', args[index]?.offset ?? 0, `\`${text.slice(0, 60)}\` before the verb of \`git\``));
    else {
      found.push(...value);
      index += 1;
    }
  }
  return found;
}

/** The value of `-C` or `-c`; undefined where it is not known to be harmless. */
function judgeRootValue(option: string, value: ShellWord | undefined, scope: PathScope): readonly Decision[] | undefined {
  if (option === '-c') return plainSetting.test(single(value) ?? '') ? [] : undefined;
  if (option !== '-C' || value?.values === undefined) return undefined;
  return value.values.flatMap((text) => judgePath({ text, glob: false, offset: value.offset }, 'list', scope));
}

function verbAndRest({ args }: Invocation, start: number): readonly ShellWord[] {
  const version = args.find((word) => /^(?:--version|-v)$/.test(single(word) ?? ''));
  return start === args.length && version !== undefined ? [{ ...version, values: ['version'] }] : args.slice(start);
}

const settingName = /^[a-z][\w-]*(?:\.[^\s=]+)?\.[a-z][\w-]*$/i;
/** Settings whose value is a credential, or may hold one. */
const secretSetting = /^(?:credential|http|sendemail|imap|url)\b|token|password|secret|extraheader/i;

/** All settings of this repository, or those of sections that hold no credentials. */
const listsPlain =
  /^(?:-l|--list|list|--get-regexp \^?(?:branch|remote|core|color|alias|diff|merge|push|pull|init|submodule|user)\b[\w.\\*$-]*)$/;

/** Reading single settings, or all of this repository; undefined where it is a change. */
function judgeSettings(args: readonly ShellWord[], { offset }: Invocation): readonly Decision[] | undefined {
  const texts = args
    .map((word) => single(word) ?? '\0')
    .filter((text) => !/^(?:--local|--show-origin|--show-scope|--name-only|-z|--null|--type=\w+|--bool|--int|--path)$/.test(text));
  const [first = '', ...rest] = texts;
  if (listsPlain.test(texts.join(' '))) return [];
  const names = /^(?:--get|--get-all|--get-regexp|get)$/.test(first) ? rest : texts;
  const [name = '', ...more] = names;
  if (texts.length === 2 && plainSetting.test(texts.join('='))) return [];
  if (more.length > 0 || !settingName.test(name)) return undefined;
  return secretSetting.test(name) ? [askFor('SECRET_FILE', offset, `the setting \`${name.slice(0, 60)}\` may hold a credential`)] : [];
}

/** `HEAD:.env`, `:config/id_rsa`: a file as it was. */
function secretsOfHistory(args: readonly ShellWord[]): readonly Decision[] {
  return args.flatMap((word) => {
    const path = /^[^\s:]*:(?:\d:)?([^\s:]+)$/.exec(single(word) ?? '')?.[1];
    if (path === undefined || !isSecretPath(path.split('/'))) return [];
    return [askFor('SECRET_FILE', word.offset, `\`${path.slice(0, 60)}\`: a secret from the history`)];
  });
}
