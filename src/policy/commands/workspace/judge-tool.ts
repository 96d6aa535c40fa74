/** One invocation against the rule of its program: verb, cautions, paths. */
import type { Decision } from '#kernel/decision';
import { askFor } from './findings.ts';
import type { Invocation } from './invocation.ts';
import { judgePath, type PathAction } from './judge-path.ts';
import type { ShellWord } from './shell-word.ts';
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
  const group = verbGroup(rule, invocation.args);
  if (rule.verbs !== undefined && group === 'none') {
    return rule.id === 'workspace.check' || rule.id === 'workspace.bundler'
      ? judgeWords(rule, undefined, invocation)
      : [unknownVerb(invocation), ...judgeWords(rule, undefined, invocation)];
  }
  if (group === undefined || group === 'none') return judgeWords(rule, undefined, invocation);
  const concern =
    group.concern === undefined
      ? []
      : [askFor(group.concern, invocation.offset, `\`${invocation.program}\`: ${group.message ?? 'needs a person'}`)];
  return [...concern, ...judgeWords(rule, group, invocation)];
}

/** The first word that is no option names the verb. */
function verbGroup(rule: ToolRule, args: readonly ShellWord[]): VerbGroup | 'none' | undefined {
  if (rule.verbs === undefined) return undefined;
  const texts = args.map((word) => word.values?.[0]);
  const valued = [...(rule.textOptions ?? []), ...(rule.valueOptions ?? [])];
  const isValue = (index: number) => valued.includes(texts[index - 1] ?? '');
  const verb =
    texts.find((text, index) => text !== undefined && !text.startsWith('-') && !isValue(index)) ?? (args.length > 0 ? texts[0] : undefined);
  return rule.verbs.find((group) => group.verbs.includes(verb)) ?? 'none';
}

function unknownVerb({ program, args, offset }: Invocation): Decision {
  return askFor('unknown_program', offset, `\`${program} ${args[0]?.source.slice(0, 40) ?? ''}\` is not known`);
}

function judgeWords(rule: ToolRule, group: VerbGroup | undefined, invocation: Invocation): readonly Decision[] {
  const cautions = [...(rule.cautions ?? []), ...(group?.cautions ?? [])];
  const action = group?.paths ?? rule.paths;
  const textOptions = group?.textOptions ?? rule.textOptions ?? [];
  return place(rule, textOptions, invocation.args).flatMap((placed) =>
    judgeWord(placed, {
      rule,
      cautions,
      action,
      invocation,
      takesUnknown: rule.takesUnknown ?? false,
      takesPipes: rule.takesPipes ?? false,
    }),
  );
}

function place(rule: ToolRule, textOptions: readonly string[], args: readonly ShellWord[]): readonly Placed[] {
  const given = (options: readonly string[]) =>
    args.some((word) => options.some((option) => word.values?.[0] === option || word.values?.[0]?.startsWith(`${option}=`)));
  let expectsText = rule.textFirst !== undefined && (rule.textFirst === true || !given(rule.textFirst));
  let literal = false;
  let next: Place | undefined;
  return args.map((word) => {
    const text = word.values?.[0] ?? '';
    const isOption = !literal && text.startsWith('-') && text.length > 1;
    const placed: Placed = {
      word,
      literal,
      place: next ?? (isOption ? 'option' : expectsText ? (rule.codeFault === undefined ? 'text' : 'code') : 'operand'),
    };
    if (next === undefined && !isOption) expectsText = false;
    if (next === undefined && text === '--') literal = true;
    next = next !== undefined || !isOption ? undefined : textOptions.includes(text) ? 'text' : isCodeNext(rule, text) ? 'code' : undefined;
    return placed;
  });
}

function isCodeNext({ codeOption }: ToolRule, text: string): boolean {
  const match = codeOption?.exec(text);
  return match !== undefined && match !== null && (match[1] ?? '') === '' && !text.includes('=');
}

interface Look {
  readonly rule: ToolRule;
  readonly cautions: readonly Caution[];
  readonly action: PathAction | 'text';
  readonly invocation: Invocation;
  readonly takesUnknown: boolean;
  readonly takesPipes: boolean;
}

function judgeWord({ word, place: where, literal }: Placed, look: Look): readonly Decision[] {
  if (word.values === undefined) {
    // The commands inside `<(…)` were judged by themselves; reading what they print is reading.
    if (look.takesPipes && word.source.startsWith('<(')) return [];
    if (look.takesUnknown || (where === 'text' && word.quoted)) return [];
    return [askFor('unclear', word.offset, `\`${word.source.slice(0, 60)}\` is not known before it runs`)];
  }
  return word.values.flatMap((value) => judgeValue({ ...word, text: value }, { ...look, where, literal }));
}

type ValueWord = ShellWord & { readonly text: string };

function judgeValue(word: ValueWord, look: Look & { readonly where: Place; readonly literal: boolean }): readonly Decision[] {
  const { where, action, invocation } = look;
  const cautioned = where === 'text' && look.action !== 'text' && look.rule.textFirst !== true ? [] : cautionsOn(word, look);
  if (action === 'text' || where === 'text' || cautioned.length > 0) return cautioned;
  const code = where === 'code' ? word.text : where === 'option' ? look.rule.codeOption?.exec(word.text)?.[1] : undefined;
  if (code !== undefined && code !== '') return judgeCode(code, word, look);
  if (action === 'write' && /^\/dev\/(?:stdin|fd\/)/.test(word.text))
    return [askFor('runs_other_code', word.offset, `\`${word.text}\` may hold instructions`)];
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(word.text))
    return [askFor('network_blocked', word.offset, `\`${word.text.slice(0, 80)}\` is an address`)];
  const path = where === 'option' ? attachedPath(word.text) : operandPath(word.text);
  return path === undefined ? [] : judgePath({ text: path, glob: word.glob, offset: word.offset }, action, invocation.scope);
}

function judgeCode(code: string, { offset }: ValueWord, { rule }: Look): readonly Decision[] {
  const fault = rule.codeFault?.(code);
  return fault === undefined ? [] : [askFor('runs_other_code', offset, fault)];
}

function cautionsOn(word: ValueWord, { cautions, literal, invocation }: Look & { readonly literal: boolean }): readonly Decision[] {
  if (literal && word.text.startsWith('-')) return [];
  return cautions
    .filter((caution) => caution.word.test(word.text))
    .map((caution) =>
      askFor(caution.concern, word.offset, `\`${word.text.slice(0, 60)}\` of \`${invocation.program}\`: ${caution.message}`),
    );
}

/** `--out=/x`, `-I/x`, `-C../x`: the path in an option, if it names one that could leave the workspace. */
function attachedPath(text: string): string | undefined {
  const value = /^--?[\w-]+=(.*)$/s.exec(text)?.[1] ?? /^-[A-Za-z]{1,2}((?:\/|\.\.).*)$/s.exec(text)?.[1];
  if (value === undefined || !/^(?:\/|~|\.)|(?:^|\/)\.\.(?:\/|$)/.test(value)) return undefined;
  // Headers and libraries of the system are what compilers are for.
  return /^-(?:I|L|isystem)\/usr\//.test(text) && !text.includes('..') ? undefined : value;
}

function operandPath(text: string): string | undefined {
  const value = /^[\w.-]+=((?:\/|\.\.|~).*)$/s.exec(text)?.[1] ?? text;
  // A regular expression or the like; a real path with a backslash is none of ours.
  return /[\\%]/.test(value) && !value.startsWith('/') && !value.includes('..') ? undefined : value;
}
