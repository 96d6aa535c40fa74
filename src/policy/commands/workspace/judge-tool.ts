/** One invocation against the rule of its program: verb, cautions, paths. */
import type { Decision } from '#kernel/decision';
import { hintsAtSecret } from '../../paths/secret-files.ts';
import { askFor, askForVerb } from './findings.ts';
import type { Invocation } from './invocation.ts';
import { judgePath, type PathAction } from './judge-path.ts';
import { isEndlessDevice, isMachineFact, isSmallAmount } from './machine-facts.ts';
import { type ShellWord, single } from './shell-word.ts';
import type { Caution, ToolRule, VerbGroup } from './tool-rule.ts';

/** What a word stands for. */
type Place = 'option' | 'operand' | 'text' | 'code';

interface Placed {
  readonly word: ShellWord;
  readonly place: Place;
  /** Behind `--`, where nothing is an option. */
  readonly literal: boolean;
}

/** What speaks against it. A word that the text does not tell asks, except where the rule takes it. */
export function judgeTool(rule: ToolRule, invocation: Invocation): readonly Decision[] {
  if (rule.verbs === undefined) return judgeWords(rule, undefined, invocation);
  const group = verbGroup(rule, rule.verbs, invocation.args);
  const words = judgeWords(rule, group, invocation);
  if (group !== undefined) return [...judgeGroup(group, invocation), ...words];
  const hidden = hiddenGroups(rule, rule.verbs, invocation.args).flatMap((other) => judgeGroup(other, invocation));
  return rule.takesAnyVerb ? [...hidden, ...words] : [...hidden, unknownVerb(invocation), ...words];
}

function judgeGroup(group: VerbGroup, { args, program, offset }: Invocation): readonly Decision[] {
  if (group.concern === undefined || asksForHelp(group, args) || isLifted(group, args)) return [];
  return [askFor(group.concern, offset, `\`${program}\`: ${group.message ?? 'needs a person'}`)];
}

/**
 * SECURITY: `pnpm --loglevel silent add x`. A word behind an option may be that option's value, and no table knows all of them; so where it
 * is no verb that is known, the next one is looked at as well.
 */
function hiddenGroups(rule: ToolRule, groups: readonly VerbGroup[], args: readonly ShellWord[]): readonly VerbGroup[] {
  const texts = args.map((word) => single(word) ?? '');
  const found: VerbGroup[] = [];
  for (
    let index = verbIndex(rule, texts);
    index > 0 && index < texts.length && mayTakeNext(texts[index - 1]);
    index = nextOperand(texts, index)
  ) {
    const verb = texts[nextOperand(texts, index)];
    const group = verb === undefined ? undefined : groups.find(({ verbs }) => verbs.includes(verb));
    if (group !== undefined) return [...found, group];
  }
  return found;
}

function mayTakeNext(option = ''): boolean {
  return option.startsWith('-') && option !== '--' && !option.includes('=');
}

function nextOperand(texts: readonly string[], after: number): number {
  const next = texts.findIndex((text, index) => index > after && !text.startsWith('-'));
  return next < 0 ? texts.length : next;
}

/** `npm ci --omit=dev --help`: behind `--` or a word that is not known it would be another program's to read. */
function asksForHelp({ concern }: VerbGroup, args: readonly ShellWord[]): boolean {
  const texts = args.map((word) => single(word) ?? '--');
  return (
    concern === 'network_blocked' &&
    texts.at(-1) === '--help' &&
    texts.slice(1).every((text) => /^--?[\w-]+(?:=[\w.-]*)?$/.test(text)) &&
    !texts.includes('--')
  );
}

/** The first word that is no option names the verb. */
function verbGroup(rule: ToolRule, groups: readonly VerbGroup[], args: readonly ShellWord[]): VerbGroup | undefined {
  const texts = args.map(single);
  const verb = texts[verbIndex(rule, texts)] ?? texts[0];
  return groups.find((group) => group.verbs.includes(verb));
}

function verbIndex({ textOptions = [], valueOptions = [] }: ToolRule, texts: readonly (string | undefined)[]): number {
  const valued = [...textOptions, ...valueOptions];
  return texts.findIndex((text, index) => text !== undefined && !text.startsWith('-') && !valued.includes(texts[index - 1] ?? ''));
}

function unknownVerb({ program, args, offset }: Invocation): Decision {
  return askForVerb(offset, `\`${program} ${args[0]?.source.slice(0, 40) ?? ''}\` is not known`);
}

function judgeWords(rule: ToolRule, group: VerbGroup | undefined, invocation: Invocation): readonly Decision[] {
  const look = lookOf(rule, group, invocation);
  return [
    ...judgeScriptInput(rule, invocation),
    ...choosesSecrets(rule, invocation.args),
    ...place(rule, look.textOptions, invocation.args).flatMap((placed) => judgeWord(placed, look)),
  ];
}

/** What holds for the verb; what it does not say, the rule says. */
function lookOf(rule: ToolRule, group: VerbGroup | undefined, invocation: Invocation): Look {
  const { cautions = [], paths = rule.paths, textOptions = rule.textOptions ?? [], takesNames = false } = group ?? {};
  return { rule, cautions: [...(rule.cautions ?? []), ...cautions], action: paths, invocation, textOptions, takesNames };
}

/** SQL or the like that is piped in. */
function judgeScriptInput({ codeBehindFirst }: ToolRule, { input, inputText, program, offset }: Invocation): readonly Decision[] {
  // A file of the workspace is a script of it, as for `bash build.sh`.
  if (codeBehindFirst === undefined || input === 'none' || input === 'file') return [];
  const fault = inputText === undefined ? 'instructions that are not known before it runs' : codeBehindFirst(inputText);
  return fault === undefined ? [] : [askFor('runs_other_code', offset, `\`${program}\`: ${fault}`)];
}

/** `--include=.env`: the files that are read are named by a pattern. */
function choosesSecrets({ choosing }: ToolRule, args: readonly ShellWord[]): readonly Decision[] {
  if (choosing === undefined) return [];
  return args.flatMap((word, index) => {
    const attached = choosing.exec(single(word) ?? '');
    const pattern = attached === null ? undefined : attached[1] || single(args[index + 1]);
    if (pattern === undefined || pattern.startsWith('!') || !hintsAtSecret(pattern)) return [];
    return [askFor('SECRET_FILE', word.offset, `\`${pattern.slice(0, 60)}\` picks out files that stand for secrets`)];
  });
}

interface Placing {
  expectsText: boolean;
  literal: boolean;
  /** What the next words are, where an option said so. */
  next: readonly Place[];
  operands: number;
}

function place(rule: ToolRule, textOptions: readonly string[], args: readonly ShellWord[]): readonly Placed[] {
  const state: Placing = { expectsText: expectsText(rule, args), literal: false, next: [], operands: 0 };
  return args.map((word) => {
    const text = single(word) ?? '';
    const isOption = !state.literal && text.startsWith('-') && text.length > 1;
    const placed: Placed = {
      word,
      literal: state.literal,
      place: state.next[0] ?? (isOption ? 'option' : operandPlace(rule, state.expectsText)),
    };
    const isValue = state.next.length > 0;
    if (isValue) state.next = state.next.slice(1);
    else state.next = isOption ? valuePlaces(rule, textOptions, text) : [];
    if (!isValue) pass(state, text, isOption);
    return isValue ? placed : behindFirst(rule, state, placed);
  });
}

function behindFirst(rule: ToolRule, state: Placing, placed: Placed): Placed {
  if (placed.place !== 'operand' || rule.codeBehindFirst === undefined) return placed;
  state.operands += 1;
  return state.operands === 1 ? placed : { ...placed, place: 'code' };
}

function pass(state: Placing, text: string, isOption: boolean): void {
  if (!isOption) state.expectsText = false;
  if (text === '--') state.literal = true;
}

/** Whether the first operand is text, because no option gave it. */
function expectsText({ textFirst, textGiven }: ToolRule, args: readonly ShellWord[]): boolean {
  if (textGiven !== undefined && args.some((word) => textGiven.test(single(word) ?? ''))) return false;
  if (textFirst === undefined || textFirst === true) return textFirst ?? false;
  return !args.some((word) => textFirst.some((option) => single(word) === option || single(word)?.startsWith(`${option}=`)));
}

function operandPlace(rule: ToolRule, isText: boolean): Place {
  if (!isText) return 'operand';
  return rule.codeFault === undefined ? 'text' : 'code';
}

/** What the words behind an option are, where the option takes some. */
function valuePlaces(rule: ToolRule, textOptions: readonly string[], option: string): readonly Place[] {
  if (rule.pairOptions?.includes(option)) return ['text', 'text'];
  if (rule.namedFiles?.includes(option)) return ['text', 'operand'];
  if (textOptions.includes(option)) return ['text'];
  if (isCodeNext(rule, option)) return ['code'];
  return rule.beforeText?.test(option) ? ['operand'] : [];
}

function isCodeNext({ codeOption }: ToolRule, text: string): boolean {
  const match = codeOption?.exec(text);
  return match !== undefined && match !== null && (match[1] ?? '') === '' && !text.includes('=');
}

interface Look {
  readonly rule: ToolRule;
  readonly cautions: readonly Caution[];
  readonly action: PathAction | 'text';
  readonly textOptions: readonly string[];
  readonly takesNames: boolean;
  readonly invocation: Invocation;
}

function judgeWord({ word, place: where, literal }: Placed, look: Look): readonly Decision[] {
  if (word.values === undefined) {
    // The commands inside `<(…)` were judged by themselves; reading what they print is reading.
    if (look.rule.takesPipes && word.source.startsWith('<(')) return [];
    if (look.takesNames && /^"[A-Za-z][\w.-]*\$[^/]*"$/.test(word.source)) return [];
    if (look.rule.takesUnknown || (where === 'text' && word.quoted) || isAttachedText(word, look)) return [];
    return [askFor('unclear', word.offset, `\`${word.source.slice(0, 60)}\` is not known before it runs`)];
  }
  return word.values.flatMap((value) => judgeValue({ ...word, text: value }, { ...look, where, literal }));
}

/** `--author="$(…)"`: whatever it becomes, it is the text of that option. */
function isAttachedText({ quoted, source }: ShellWord, { textOptions }: Look): boolean {
  return quoted && textOptions.some((option) => option.startsWith('--') && source.startsWith(`${option}=`));
}

type ValueWord = ShellWord & { readonly text: string };

function judgeValue(word: ValueWord, look: Look & { readonly where: Place; readonly literal: boolean }): readonly Decision[] {
  const isPlainText = look.where === 'text' && look.action !== 'text' && look.rule.textFirst !== true;
  const cautioned = isPlainText ? [] : cautionsOn(word, look);
  if (look.action === 'text') return [...cautioned, ...namesElsewhere(word, look)];
  if (look.where === 'text' || cautioned.length > 0) return cautioned;
  const code = codeOf(word, look);
  return code === '' ? judgePlace(word, look.action, look) : judgeCode(code, word, look);
}

/** `echo /outside/*` prints the names that are there. */
function namesElsewhere({ text, glob, offset }: ValueWord, { where, invocation }: Look & { readonly where: Place }): readonly Decision[] {
  const leads = glob && where !== 'text' && /^\/|(?:^|\/)\.\.\//.test(text) && !isMachineFact(text, 'list');
  return leads ? judgePath({ text, glob, offset }, 'list', invocation.scope) : [];
}

/** The program of its own that the word holds, or nothing. */
function codeOf({ text }: ValueWord, { where, rule }: Look & { readonly where: Place }): string {
  if (where === 'code') return text;
  return where === 'option' ? (rule.codeOption?.exec(text)?.[1] ?? '') : '';
}

function judgePlace(
  word: ValueWord,
  action: PathAction,
  { where, rule, invocation }: Look & { readonly where: Place },
): readonly Decision[] {
  const { text, offset } = word;
  if (isNoPath(rule, where, text)) return [];
  if (action === 'write' && /^\/dev\/(?:stdin|fd\/)/.test(text))
    return [askFor('runs_other_code', offset, `\`${text}\` may hold instructions`)];
  if (rule.printsOnly && (isMachineFact(text, action) || (isEndlessDevice(text) && takesPart(invocation)))) return [];
  return judgeNamed(word, where, { action, invocation });
}

function judgeNamed(
  { text, glob, offset }: ValueWord,
  where: Place,
  { action, invocation }: { readonly action: PathAction; readonly invocation: Invocation },
): readonly Decision[] {
  const database = /^sqlite3?:\/\/\/?(.*)$/s.exec(text)?.[1];
  if (database !== undefined) return judgePath({ text: database, glob, offset }, action, invocation.scope);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return [askFor('network_blocked', offset, `\`${text.slice(0, 80)}\` is an address`)];
  const path = where === 'option' ? attachedPath(text) : operandPath(text);
  // A blank alone separates columns.
  return path === undefined || /^\s$/.test(path) ? [] : judgePath({ text: path, glob, offset }, action, invocation.scope);
}

/** `head -c 16`, `od -N4`: what it reads of an endless file has an end. */
function takesPart(invocation: Invocation): boolean {
  if (invocation.takesPart) return true;
  const line = invocation.args.map((word) => single(word) ?? '').join(' ');
  const amount = /(?:^| )(?:-[cNnl]|--(?:bytes|read-bytes|length|len)=?) ?(\w+)(?: |$)/.exec(line)?.[1];
  return /^(?:head|od|xxd|hexdump)$/.test(invocation.program) && amount !== undefined && isSmallAmount(amount);
}

/** Where a page will be found on its server, and patterns of what is left out. */
const namesNoPlace =
  /^--(?:base|base-?href|base-?path|base-?url|public-?url|public-?path|deploy-?url|url-prefix|(?:extend-|force-)?exclude|exclude-dir|ignore-pattern|test-?path-?pattern|test-?path-?ignore-?patterns)=/i;

/** `awk -F/`, `sort -t/`, `tar --exclude=.git`: the text of a text option; `dotnet build /p:X=1`. */
function isNoPath(rule: ToolRule, where: Place, text: string): boolean {
  if (where === 'option' && namesNoPlace.test(text)) return true;
  if (rule.slashOptions === true && /^\/[A-Za-z]+(?::[^/~]*)?$/.test(text)) return true;
  const leaves = /=(?:\/|~)|(?:^|[=/])\.\.(?:\/|$)/.test(text);
  const takesText = (option: string) => (/^-\w$/.test(option) ? text.startsWith(option) : !leaves && text.startsWith(`${option}=`));
  return where === 'option' && (rule.textOptions ?? []).some(takesText);
}

function judgeCode(code: string, { offset }: ValueWord, { rule }: Look): readonly Decision[] {
  const fault = (rule.codeBehindFirst ?? rule.codeFault)?.(code);
  return fault === undefined ? [] : [askFor('runs_other_code', offset, fault)];
}

function cautionsOn(word: ValueWord, { cautions, literal, invocation }: Look & { readonly literal: boolean }): readonly Decision[] {
  if (literal && word.text.startsWith('-')) return [];
  return cautions
    .filter((caution) => caution.word.test(word.text) && !isLifted(caution, invocation.args))
    .map((caution) =>
      askFor(caution.concern, word.offset, `\`${word.text.slice(0, 60)}\` of \`${invocation.program}\`: ${caution.message}`),
    );
}

/** `npm ci --offline`, `make -n deploy`. */
function isLifted({ unless }: Caution | VerbGroup, args: readonly ShellWord[]): boolean {
  return unless !== undefined && args.some((word) => unless.test(single(word) ?? ''));
}

/** `--out=/x`, `-I/x`, `-czf/x`, `-Wl,-Map=../x`: the path in an option, if it names one that could leave the workspace. */
function attachedPath(text: string): string | undefined {
  const assigned = /^--?[\w-]+=(.*)$/s.exec(text)?.[1];
  const value = assigned ?? /^-[A-Za-z]+((?:\/|\.\.).*)$/s.exec(text)?.[1];
  const parts = /:\/\//.test(text) ? /[=,]/ : /[=,:]/;
  const path = [value, ...(/[=,]/.test(text) ? text.split(parts).slice(1) : [])].find(
    (part) => part !== undefined && /^(?:\/|~|\.)|(?:^|\/)\.\.(?:\/|$)/.test(part),
  );
  // Headers and libraries of the system are what compilers are for.
  return /^-(?:I|L|isystem|Wl,-rpath[=,])\/usr\//.test(text) && !text.includes('..') ? undefined : path;
}

function operandPath(text: string): string | undefined {
  const value = /^[\w.:,=-]+=((?:\/|\.\.|~).*)$/s.exec(text)?.[1] ?? text;
  // A regular expression or the like; a real path with a backslash is none of ours.
  return /[\\%]/.test(value) && !value.startsWith('/') && !value.includes('..') ? undefined : value;
}
