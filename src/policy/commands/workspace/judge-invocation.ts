/** One invocation against everything that is known about its program. Empty: nothing speaks against it. */
import { allow, ask, type Decision, deny } from '#kernel/decision';
import { fitsUserRule, type UserRule } from '../user-rule.ts';
import { judgeCopiedFiles } from './dd-command.ts';
import { judgeFilled } from './environment.ts';
import { askFor, isUnknownProgram, refuseFor } from './findings.ts';
import { judgeGit } from './git-command.ts';
import { judgeInterpreter } from './interpreters.ts';
import type { Invocation, Recursion } from './invocation.ts';
import { judgePath } from './judge-path.ts';
import { judgeTool } from './judge-tool.ts';
import { linksToTemporary, noteLinks, seenFromHere } from './link-command.ts';
import { looksAtMachine } from './machine-facts.ts';
import { judgeOwnCommand } from './own-command.ts';
import { judgeCode } from './program-code.ts';
import { builtInScript, scriptOrTool } from './project-script.ts';
import { needsNetwork, refusalGroup } from './refused-programs.ts';
import { runnerJudges } from './runners.ts';
import { poolAddress, startsServer } from './script-words.ts';
import { single } from './shell-word.ts';
import { judgeStaged } from './staged-files.ts';
import { tellsOfItself } from './tells-of-itself.ts';
import type { ToolRule } from './tool-rule.ts';
import { namedSecret } from './tools/looks.ts';
import { toolRules } from './tools/tool-rules.ts';
import { unwrap } from './wrappers.ts';

const rulesByProgram = new Map(toolRules.flatMap((rule) => rule.programs.map((program) => [program, rule] as const)));
/** `arm-none-eabi-objdump`, `gcc-13`, `x86_64-w64-mingw32-g++`: a tool for another machine, or of a version. */
const crossTool =
  /^(?:(?:aarch64|arm\w*|avr|mips\w*|riscv\d*|powerpc\w*|ppc\w*|s390x|sparc\w*|i[3-6]86|x86_64|xtensa|m68k|msp430|nios2|sh4|loongarch64|or1k|tricore|wasm32)(?:-[a-z0-9_]+){0,3}-)?(gcc|g\+\+|cc|c\+\+|cpp|clang|clang\+\+|ld|as|ar|nm|objdump|objcopy|size|strip|readelf|ranlib|strings|addr2line|gcov|gfortran|clang-format|clang-tidy)(?:-\d+(?:\.\d+)?)?$/;
/** Where a project's own programs lie; they are the tools of the same name. */
const projectBins = /(?:^|\/)(?:node_modules\/\.bin|\.venv\/bin|venv\/bin|vendor\/bin)\/([^/]+)$/;
/** Files of the workspace that start a known tool. */
const scriptTools: Readonly<Record<string, string>> = {
  gradlew: 'gradle',
  mvnw: 'mvn',
  rails: 'rails',
  rake: 'rake',
  rspec: 'rspec',
  bazelisk: 'bazel',
};

export function judgeInvocation(invocation: Invocation, recursion: Recursion, userRules: readonly UserRule[]): readonly Decision[] {
  const built = [...judgeBuiltIn(invocation, recursion), ...judgeStaged(invocation, recursion)];
  if (userRules.length === 0) return built;
  const words = [invocation.program, ...invocation.args.map((word) => (word.values?.length === 1 ? (word.values[0] ?? '') : '\0'))];
  const users = userRules.filter((rule) => fitsUserRule(rule, words));
  const stricter = users.filter((rule) => rule.effect !== 'allow').map(userDecision);
  const isDefault = built.length > 0 && built.every((decision) => decision.code === 'unknown_program');
  const lifted = isDefault ? users.find((rule) => rule.effect === 'allow') : undefined;
  return [...(lifted === undefined ? built : [userDecision(lifted)]), ...stricter];
}

function judgeBuiltIn(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const own = judgeOwnCommand(invocation);
  if (own !== undefined) return own;
  return invocation.functions.has(invocation.program) ? [] : judgeProgram(invocation, recursion);
}

function judgeProgram(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { program, offset } = invocation;
  // Where the systems keep their own programs; what else is named by a path is that file.
  const installed = /^\/(?:usr\/)?bin\/([\w.+-]+)$/.exec(program)?.[1];
  if (installed !== undefined) return judgeBuiltIn({ ...invocation, program: installed, functions: noFunctions }, recursion);
  if (program.includes('/')) return judgeByPath(invocation, recursion);
  const group = refusalGroup(program);
  const told = onlyTells(invocation, group);
  if (told !== undefined) return told;
  const wrapped = unwrap(invocation, recursion);
  if (wrapped !== undefined) return wrapped;
  if (group !== undefined) return [refuseFor(group, offset, `\`${program}\` (${group.replace('-', ' ')}) is not run by agents`)];
  if (needsNetwork(program)) return [askFor('network_blocked', offset, `\`${program}\` needs the network`)];
  return judgeByName(invocation, recursion);
}

/** It looks at the machine, or says which version it is. */
function onlyTells(invocation: Invocation, group: string | undefined): readonly Decision[] | undefined {
  const texts = invocation.args.map((word) => single(word) ?? '\0');
  return looksAtMachine(invocation.program, texts) ? [] : tellsOfItself(invocation, group);
}

const noFunctions: ReadonlySet<string> = new Set();

function judgeByName(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { program, offset } = invocation;
  const runner = Object.hasOwn(runnerJudges, program) ? runnerJudges[program] : undefined;
  if (runner !== undefined) return runner(invocation, recursion);
  const interpreted = judgeInterpreter(invocation, recursion);
  if (interpreted !== undefined) return interpreted;
  const rule = rulesByProgram.get(program) ?? rulesByProgram.get(crossTool.exec(program)?.[1] ?? '');
  if (rule === undefined) return [askFor('unknown_program', offset, `\`${program.slice(0, 60)}\` is not among the known programs`)];
  return judgeByRule(rule, invocation, recursion);
}

function judgeByRule(rule: ToolRule, invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { program, args, hidesSecrets } = invocation;
  if (rule.needsOperand && args.length === 0) return program === 'printenv' && hidesSecrets ? [] : [withoutOperand(invocation)];
  const own = Object.hasOwn(ruleJudges, rule.id) ? ruleJudges[rule.id] : undefined;
  return own === undefined ? judgeTool(rule, invocation) : own(rule, invocation, recursion);
}

/** Alone it waits for input, or prints every variable. */
function withoutOperand({ program, offset }: Invocation): Decision {
  return askFor(/^(?:printenv|set)$/.test(program) ? 'SECRET_VARIABLE' : 'unclear', offset, `\`${program}\` without an operand`);
}

/** `zip -r a.zip . -x 'node_modules/*' '.git/*'`: what is left out, or chosen, is no file that is packed. */
function withoutPatterns(invocation: Invocation): Invocation {
  let isPattern = false;
  const args = invocation.args.filter((word) => {
    const text = single(word) ?? '';
    if (text.startsWith('-')) isPattern = /^-[xi]$/.test(text);
    return !isPattern;
  });
  return invocation.program === 'zip' ? { ...invocation, args } : invocation;
}

type RuleJudge = (rule: ToolRule, invocation: Invocation, recursion: Recursion) => readonly Decision[];

/** Rules whose words mean more than a table can say. */
const ruleJudges: Readonly<Record<string, RuleJudge>> = {
  'workspace.npm': (rule, invocation) => (isPlainInit(invocation) ? [] : [...judgeTool(rule, invocation), ...builtInScript(invocation)]),
  'workspace.deno': (rule, invocation) => evaluated(invocation, /^eval$/) ?? judgeTool(rule, invocation),
  'workspace.pnpm': (rule, invocation, recursion) =>
    evaluated(invocation, /^(?:-e|--eval|-p|--print)$/) ??
    judgeTool(rule, invocation).flatMap((decision) =>
      decision.code === 'unknown_program' ? scriptOrTool(invocation, recursion) : [decision],
    ),
  'workspace.write': (rule, invocation) => (invocation.program === 'ln' ? judgeLink(rule, invocation) : judgeTool(rule, invocation)),
  // What is typed at a pager may run a command.
  'workspace.pager': (rule, invocation) => [
    ...judgeTool(rule, invocation),
    ...(invocation.input === 'text' && invocation.args.length > 0
      ? [askFor('runs_other_code', invocation.offset, `\`${invocation.program}\` with input of its own`)]
      : []),
  ],
  'workspace.printf': (rule, invocation) => [...judgeTool(rule, invocation), ...printedInto(invocation)],
  'workspace.macros': (rule, invocation) => [...judgeTool(rule, invocation), ...macrosFromInput(invocation)],
  'workspace.dd': (rule, invocation) => [...judgeTool(rule, invocation), ...judgeCopiedFiles(invocation)],
  'workspace.top': (rule, invocation) => [...judgeTool(rule, invocation), ...repeats(invocation)],
  'workspace.endless-text': (_rule, invocation) => (invocation.takesPart ? [] : [neverEnds(invocation)]),
  'workspace.substitute': (rule, invocation) => [...judgeTool(rule, invocation), ...filledFromInput(invocation)],
  'workspace.archive': (rule, invocation) => judgeTool(rule, withoutPatterns(invocation)),
  // `set -- a b` sets `$1` and `$2`, which nothing trusts from then on.
  'workspace.set': (rule, invocation) => (single(invocation.args[0]) === '--' ? [] : judgeTool(rule, invocation)),
  'workspace.git': judgeGit,
  'workspace.query': (rule, invocation) => judgeTool(rule, withoutQueryVerb(invocation)),
  'workspace.cargo': (rule, invocation) => judgeTool(rule, withoutToolchain(invocation)),
};

/** `deno eval CODE`, `bun -e CODE`; undefined: it is not that, or more than that. */
function evaluated(invocation: Invocation, word: RegExp): readonly Decision[] | undefined {
  const [verb, code, ...more] = invocation.args;
  const isCode = invocation.program !== 'pnpm' && invocation.program !== 'yarn' && more.length === 0 && code !== undefined;
  return isCode && word.test(single(verb) ?? '') ? judgeCode(code, invocation) : undefined;
}

/** `npm init -y` makes a `package.json`; with a name it downloads. */
function isPlainInit({ args }: Invocation): boolean {
  const [verb = '', ...more] = args.map((word) => single(word) ?? '\0');
  return (
    /^(?:init|innit)$/.test(verb) && more.length > 0 && more.every((text) => /^(?:-y|--yes|-f|--force|--private|--silent)$/.test(text))
  );
}

/** `top` and `vmstat 1` go on until somebody stops them. */
function repeats(invocation: Invocation): readonly Decision[] {
  const texts = invocation.args.map((word) => single(word) ?? '');
  const isOnce =
    invocation.program === 'top'
      ? texts.some((text) => /n ?\d*$/.test(text)) || texts.some((text) => /^-\w*b/.test(text) && texts.includes('-n'))
      : texts.filter((text) => /^\d+$/.test(text)).length !== 1;
  return isOnce || invocation.takesPart ? [] : [neverEnds(invocation)];
}

function neverEnds({ program, offset }: Invocation): Decision {
  return askFor('never_ends', offset, `\`${program}\` goes on until it is stopped`);
}

/** `echo '$TOKEN' | envsubst`. */
function filledFromInput({ inputText, program, offset }: Invocation): readonly Decision[] {
  const fault = namedSecret(inputText ?? '');
  return fault === undefined ? [] : [askFor('SECRET_VARIABLE', offset, `\`${program}\`: ${fault}`)];
}

/** `echo 'syscmd(id)' | m4`. A file of the workspace is a script of it. */
function macrosFromInput({ input, program, offset }: Invocation): readonly Decision[] {
  const isGiven = input === 'text' || input === 'pipe';
  return isGiven ? [askFor('runs_other_code', offset, `\`${program}\` takes its program from standard input`)] : [];
}

function judgeLink(rule: ToolRule, invocation: Invocation): readonly Decision[] {
  const found = [...judgeTool(rule, seenFromHere(invocation)), ...linksToTemporary(invocation)];
  noteLinks(invocation);
  return found;
}

/** `printf -v NAME …` sets the variable; nothing is known of it from then on. */
function printedInto({ args, offset }: Invocation): readonly Decision[] {
  const option = single(args[0]);
  if (option === undefined || !/^-[^-]/.test(option)) return [];
  const name = option === '-v' ? single(args[1]) : undefined;
  const isPlain = name !== undefined && /^[A-Za-z_]\w*$/.test(name);
  return isPlain ? judgeFilled(name, offset) : [askFor('unclear', offset, 'an assignment by `-v` to what is no plain name')];
}

/** `yq eval '.a' x.yml` is `yq '.a' x.yml`. */
function withoutQueryVerb(invocation: Invocation): Invocation {
  const isVerb = invocation.program === 'yq' && /^(?:e|eval|ea|eval-all)$/.test(single(invocation.args[0]) ?? '');
  return isVerb ? { ...invocation, args: invocation.args.slice(1) } : invocation;
}

/** `cargo +nightly fmt`: another installed tool chain. */
function withoutToolchain(invocation: Invocation): Invocation {
  const isNamed = /^\+(?:stable|beta|nightly(?:-\d{4}-\d\d-\d\d)?|1\.\d+(?:\.\d+)?)$/.test(single(invocation.args[0]) ?? '');
  return isNamed ? { ...invocation, args: invocation.args.slice(1) } : invocation;
}

/** A program named by its path is that file, whatever it is called. */
function judgeByPath(invocation: Invocation, recursion: Recursion): readonly Decision[] {
  const { program, offset, scope, args } = invocation;
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(program)) return [askFor('network_blocked', offset, `\`${program.slice(0, 80)}\` is an address`)];
  const name = program.slice(program.lastIndexOf('/') + 1);
  const group = refusalGroup(name);
  if (group !== undefined) return [refuseFor(group, offset, `\`${program}\` (${group.replace('-', ' ')}) is not run by agents`)];
  const named = { text: program, glob: false, offset };
  const there = judgePath(named, 'list', scope);
  const inside = there.length > 0 ? there : judgePath(named, 'write', scope);
  if (inside.length > 0)
    return inside.map(() => askFor('unknown_program', offset, `\`${program.slice(0, 80)}\` is no program of the workspace`));
  const tool = projectBins.exec(program)?.[1] ?? scriptTools[name];
  if (tool !== undefined) return recursion.invocation({ ...invocation, program: tool }).filter((decision) => !isUnknownProgram(decision));
  if (startsServer(program, args)) return [askFor('never_ends', offset, `\`${program}\` as a server that runs until it is stopped`)];
  return args.flatMap((word) =>
    (word.values ?? []).flatMap((value) =>
      /^(?:\/|~|\.\.)/.test(value) || /(?:^|\/)\.\.(?:\/|$)/.test(value)
        ? judgePath({ text: value, glob: word.glob, offset: word.offset }, 'read', scope)
        : tellingWord(value, word.offset),
    ),
  );
}

/** What a word says of a program of the workspace: a debugger that is opened, a pool that is mined for. */
function tellingWord(value: string, offset: number): readonly Decision[] {
  if (poolAddress.test(value)) return [askFor('network_blocked', offset, `\`${value.slice(0, 80)}\` is an address`)];
  return /^--(?:inspect|remote-debugging)/.test(value) ? [askFor('runs_other_code', offset, `\`${value}\` opens a debugger`)] : [];
}

function userDecision(rule: UserRule): Decision {
  const make = { allow, ask, deny }[rule.effect];
  const code = { allow: 'allowed', ask: 'confirmation_required', deny: 'COMMAND_BLOCKED' }[rule.effect];
  return make(code, `the rule \`${rule.id}\` of the settings: ${rule.justification}`, [`user.${rule.id}`]);
}
