/**
 * What people were asked, what they answered, and which rule would have saved them that: as narrow as covers it, beside all else that it
 * lets through. Pure.
 */
import type { AuditRecord } from '#kernel/audit-event';
import { textOf } from '#kernel/json';
import type { ReplayOptions, ReplayReport, RuleSuggestion } from '#kernel/policy-view';
import type { Target } from '#kernel/resource';
import { ruleSubject } from '#policy/auto-approve';
import { liveRules } from '../config/live-settings.ts';
import type { RecordedCall } from './recorded-call.ts';
import { decideRecorded, type Side, type Verdict, type World } from './recorded-world.ts';
import { wordsOf } from './tally.ts';

/** Kinds of calls that are kept to try a rule on; answers that are remembered. */
const mostAsked = 10_000;
const mostTried = 300;
const mostAnswers = 200_000;
const mostSuggestions = 20;

/** Calls that are one to a rule: the same tool, the same command, path or place. */
interface Asked {
  readonly call: RecordedCall;
  readonly pattern: string | undefined;
  readonly words: string;
  readonly requests: Set<string>;
  calls: number;
}

interface Answer {
  readonly by: string;
  readonly at: number;
  readonly isYes: boolean;
}

type Report = Pick<ReplayReport, 'questions' | 'suggestions'>;

export function createAnswers({ before, world, signal }: { readonly before: Side; readonly world: World } & Pick<ReplayOptions, 'signal'>) {
  const answers = new Map<string, Answer>();
  const asked = new Map<string, Asked>();
  const tried = new Map<string, RecordedCall[]>();
  const questions = new Set<string>();
  const red = new Set<string>();
  const tryOn = (call: RecordedCall): void => {
    const of = tried.get(call.tool.name) ?? [];
    if (of.length < mostTried) of.push(call);
    tried.set(call.tool.name, of);
  };
  return {
    hear({ name, time, attributes }: AuditRecord): void {
      if (name !== 'approval.approved' && name !== 'approval.denied') return;
      const id = textOf(attributes['request_id']);
      if (id === undefined || answers.size >= mostAnswers) return;
      answers.set(id, { by: textOf(attributes['by']) ?? 'somebody', at: Date.parse(time), isYes: name === 'approval.approved' });
    },
    note(call: RecordedCall, verdict: Verdict): void {
      if (call.requestId !== undefined && questions.size < mostAnswers) questions.add(call.requestId);
      if (verdict.effect === 'deny' || verdict.tier === 'red') tryOn(call);
      if (verdict.effect !== 'ask') return;
      if (verdict.tier === 'yellow') addAsked(asked, call, verdict.rules);
      else if (verdict.tier === 'red' && call.requestId !== undefined && red.size < mostAnswers) red.add(call.requestId);
    },
    async report(): Promise<Report> {
      const known = [...questions].flatMap((id) => answers.get(id) ?? []);
      const approved = known.filter(({ isYes }) => isYes).length;
      const suggestions = await suggest({ asked: [...asked.values()], answers, tried, decide });
      return { questions: { asked: questions.size, approved, denied: known.length - approved, red: red.size }, suggestions };
    },
  };

  async function decide(call: RecordedCall, pattern: string): Promise<Verdict> {
    const rules = [...(await before.settings.rules()), ...liveRules([{ pattern, counts: 'allow' }])];
    return decideRecorded(call, { side: before, world, spent: new Map(), rules }, signal);
  }
}

/** What was asked for another reason is another question, though one rule would answer both. */
function addAsked(asked: Map<string, Asked>, call: RecordedCall, rules: readonly string[]): void {
  const pattern = subjectOf(call);
  const key = `${pattern ?? `${call.tool.name} ${wordsOf(call)}`} ${rules.join()}`;
  const found = asked.get(key);
  if (found === undefined && asked.size >= mostAsked) return;
  const one = found ?? { call, pattern, words: wordsOf(call), requests: new Set<string>(), calls: 0 };
  asked.set(key, one);
  one.calls += 1;
  if (call.requestId !== undefined && one.requests.size < 1_000) one.requests.add(call.requestId);
}

interface Suggesting {
  readonly asked: readonly Asked[];
  readonly answers: ReadonlyMap<string, Answer>;
  readonly tried: ReadonlyMap<string, readonly RecordedCall[]>;
  decide(call: RecordedCall, pattern: string): Promise<Verdict>;
}

/** What somebody approved at least twice, and nobody ever refused. */
async function suggest({ asked, ...parts }: Suggesting): Promise<readonly RuleSuggestion[]> {
  const answersOf = ({ requests }: Asked) => [...requests].flatMap((id) => parts.answers.get(id) ?? []);
  const liked = asked.filter((one) => one.pattern !== undefined && answersOf(one).length > 0 && answersOf(one).every(({ isYes }) => isYes));
  const same = Map.groupBy(liked, ({ pattern = '' }) => pattern);
  const exact = [...same].flatMap(([pattern, covers]) => (covers.flatMap(answersOf).length < 2 ? [] : [{ pattern, covers }]));
  const wide = globsFor(liked.map(({ pattern }) => pattern ?? '')).map(({ pattern, covers }) => ({
    pattern,
    covers: liked.filter((one) => one.pattern !== undefined && covers.includes(one.pattern)),
  }));
  const candidates = [...wide, ...exact]
    .map((one) => ({ ...one, given: one.covers.flatMap(answersOf) }))
    .sort((a, b) => b.given.length - a.given.length)
    .slice(0, 3 * mostSuggestions);
  const found: RuleSuggestion[] = [];
  for (const candidate of candidates) {
    if (found.length === mostSuggestions) break;
    const one = await tryRule(candidate, { asked, ...parts });
    if (one !== undefined) found.push(one);
  }
  return found;
}

/** Only then it is tried: of many calls few begin as the pattern does. */
function mayFit(pattern: string, subject: string | undefined): boolean {
  const [begin = ''] = pattern.split('*', 1);
  return subject === undefined || subject.startsWith(begin);
}

interface Candidate {
  readonly pattern: string;
  readonly covers: readonly Asked[];
  readonly given: readonly Answer[];
}

/** undefined: it does not answer what it should, or lets through what no rule may. */
async function tryRule({ pattern, covers, given }: Candidate, parts: Suggesting): Promise<RuleSuggestion | undefined> {
  const lets = async (call: RecordedCall) => (await parts.decide(call, pattern)).effect === 'allow';
  const stay = parts.tried.get(covers[0]?.call.tool.name ?? '') ?? [];
  for (const { call } of covers) if (!(await lets(call))) return undefined;
  for (const call of stay) if (await lets(call)) return undefined;
  const others = await otherCalls({ pattern, covers, given }, parts);
  const by = Map.groupBy(given, ({ by: who }) => who);
  const times = given.map(({ at }) => at);
  return {
    ...{ pattern, action: 'allow', questions: given.length, triedOn: stay.length },
    approvedBy: [...by].map(([who, all]) => ({ by: who, questions: all.length })),
    first: new Date(Math.min(...times)).toISOString(),
    last: new Date(Math.max(...times)).toISOString(),
    covers: covers.slice(0, 50).map(({ words }) => words),
    alsoLets: others.slice(0, 50),
    alsoLetsCalls: others.reduce((all, { calls }) => all + calls, 0),
  };
}

async function otherCalls({ pattern, covers }: Candidate, { asked, answers, decide }: Suggesting): Promise<RuleSuggestion['alsoLets']> {
  const tool = covers[0]?.call.tool.name;
  const others: RuleSuggestion['alsoLets'][number][] = [];
  for (const one of asked) {
    if (one.call.tool.name !== tool || covers.includes(one) || !mayFit(pattern, one.pattern)) continue;
    if ((await decide(one.call, pattern)).effect !== 'allow') continue;
    const denied = [...one.requests].filter((id) => answers.get(id)?.isYes === false).length;
    others.push({ words: one.words, calls: one.calls, denied });
  }
  return others;
}

/** `tool:run_command:npm test`; undefined: the call has no subject, or one that a pattern would read as wider than it is. */
function subjectOf({ tool, targets }: RecordedCall): string | undefined {
  const host = targets.find(({ kind }) => kind === 'destination')?.['host'];
  if (typeof host === 'string') return `destination:${host}`;
  // Sound: a record keeps each target's kind and what names it, and no more is read here.
  const { names } = ruleSubject(tool.name, 'yellow', targets as unknown as readonly Target[]);
  // Of a node's names the one with its cluster is the narrower.
  const name = names.find((one) => one.includes('/') && textOf(targets[0]?.['cluster']) !== undefined) ?? names[0];
  return name === undefined || name.includes('*') || name.length > 250 ? undefined : `tool:${tool.name}:${name}`;
}

/** So many have to be alike before one pattern stands for them. */
const fewest = 3;

/** Patterns with one star for patterns that differ in one word of a command, or in the file of one folder. */
function globsFor(patterns: readonly string[]): readonly { readonly pattern: string; readonly covers: readonly string[] }[] {
  const families = new Map<string, Set<string>>();
  for (const pattern of new Set(patterns))
    for (const glob of globsOf(pattern)) families.set(glob, (families.get(glob) ?? new Set()).add(pattern));
  const wide = [...families].filter(([, covers]) => covers.size >= fewest);
  // Of patterns for the same calls the longest is the narrowest.
  const narrowest = new Map<string, string>();
  for (const [glob, covers] of wide) {
    const key = [...covers].sort((a, b) => (a < b ? -1 : 1)).join('\n');
    if ((narrowest.get(key)?.length ?? 0) < glob.length) narrowest.set(key, glob);
  }
  return [...narrowest].map(([key, pattern]) => ({ pattern, covers: key.split('\n') }));
}

const fileTools = ['tool:write_file:', 'tool:edit_file:'];

function globsOf(pattern: string): readonly string[] {
  if (fileTools.some((prefix) => pattern.startsWith(prefix))) {
    const [, folder, ending = ''] = /^(.*\/)[^/]*?(\.[A-Za-z0-9]{1,8})?$/.exec(pattern) ?? [];
    return folder === undefined ? [] : [`${folder}*${ending}`, `${folder}*`];
  }
  const [, prefix = '', text = ''] = /^(tool:[a-z_]+:)(.+)$/s.exec(pattern) ?? [];
  const words = text.split(' ');
  // The program itself stays.
  return words.length > 12 ? [] : words.flatMap((_, index) => (index === 0 ? [] : [prefix + words.with(index, '*').join(' ')]));
}
