/** The sums of a replay: bounded, however many calls there are. */
import { textOf } from '#kernel/json';
import type { ReplayedChange, ReplayedDecision, ReplayReport } from '#kernel/policy-view';
import { showPlainly } from '#kernel/text/text';
import { type RecordedCall, recordedEffect } from './recorded-call.ts';
import { directionOf, type Verdict } from './recorded-world.ts';

/** So many kinds of changes are kept apart; of each so many agents and examples. */
const mostKinds = 2_000;
const mostListed = 200;
const mostAgents = 200;
const mostExamples = 3;

interface Kind {
  readonly change: Pick<ReplayedChange, 'tool' | 'direction' | 'before' | 'after'>;
  readonly agents: Map<string, number>;
  readonly examples: { readonly record: number; readonly words: string }[];
  calls: number;
  byNow: number;
  first: number;
  last: number;
}

type Sums = Omit<ReplayReport, 'records' | 'trail' | 'differs' | 'loosens' | 'questions' | 'suggestions' | 'notes' | 'ms'>;

export function createTally() {
  const sums = { calls: 0, judged: 0, same: 0, looser: 0, tighter: 0, other: 0, byNow: 0, known: 0, agree: 0 };
  const span = { first: Number.POSITIVE_INFINITY, last: 0 };
  const unjudged = new Map<string, number>();
  const kinds = new Map<string, Kind>();
  const seen = (at: number): void => {
    sums.calls += 1;
    span.first = Math.min(span.first, at);
    span.last = Math.max(span.last, at);
  };
  const unfit = (why: string): void => {
    const known = unjudged.has(why) || unjudged.size < 100 ? why : 'for other reasons';
    unjudged.set(known, (unjudged.get(known) ?? 0) + 1);
  };
  return {
    unfit(why: string, at: number): void {
      seen(at);
      unfit(why);
    },
    note(call: RecordedCall, before: Verdict, after: Verdict): void {
      seen(call.at);
      const why = unjudgedWhy(call, before, after);
      if (why !== undefined) {
        unfit(why);
        return;
      }
      sums.judged += 1;
      const byNow = before.byNow || after.byNow;
      if (byNow) sums.byNow += 1;
      const then = recordedEffect(call);
      if (then !== undefined) sums.known += 1;
      if (then === before.effect) sums.agree += 1;
      const direction = directionOf(before, after);
      if (direction === undefined) {
        sums.same += 1;
        return;
      }
      sums[direction] += 1;
      addTo(kinds, { call, before, after, direction, byNow });
    },
    report: () => reportOf(sums, { span, unjudged, kinds: [...kinds.values()] }),
  };
}

type Counts = Record<'calls' | 'judged' | 'same' | 'looser' | 'tighter' | 'other' | 'byNow' | 'known' | 'agree', number>;

interface Tallied {
  readonly span: { readonly first: number; readonly last: number };
  readonly unjudged: ReadonlyMap<string, number>;
  readonly kinds: readonly Kind[];
}

function reportOf({ known, agree, other, ...sums }: Counts, { span, unjudged, kinds }: Tallied): Sums {
  const listed = [...kinds].sort((a, b) => weightOf(b) - weightOf(a)).slice(0, mostListed);
  const changed = sums.looser + sums.tighter + other;
  return {
    ...{ ...sums, changed, agreement: { known, same: agree } },
    notJudged: [...unjudged].map(([why, count]) => ({ why, calls: count })).sort((a, b) => b.calls - a.calls),
    changes: listed.map(changeOf),
    moreChanges: changed - listed.reduce((all, kind) => all + kind.calls, 0),
    ...(sums.calls === 0 ? {} : { first: new Date(span.first).toISOString(), last: new Date(span.last).toISOString() }),
  };
}

/** What went ahead then and cannot even be resolved now is no statement about settings. */
function unjudgedWhy(call: RecordedCall, before: Verdict, after: Verdict): string | undefined {
  const unknown = [before, after].find(({ isUnknown }) => isUnknown === true);
  if (unknown !== undefined) return showPlainly(unknown.reason, 160);
  const odd = [before, after].find(({ effect, code }) => effect === 'error' && code !== call.code);
  if (odd === undefined) return undefined;
  if (odd.code === 'invalid_input') return `its arguments do not fit what \`${call.tool.name}\` takes in this version`;
  return `what it named cannot be found now: ${odd.code}`;
}

interface Noted {
  readonly call: RecordedCall;
  readonly before: Verdict;
  readonly after: Verdict;
  readonly direction: ReplayedChange['direction'];
  readonly byNow: boolean;
}

/** Of kinds that are too many the sums alone are kept. */
function addTo(kinds: Map<string, Kind>, noted: Noted): void {
  const { call, before, after } = noted;
  const key = JSON.stringify([call.tool.name, before.effect, before.rules[0] ?? before.code, after.effect, after.rules[0] ?? after.code]);
  const found = kinds.get(key);
  if (found === undefined && kinds.size >= mostKinds) return;
  const kind = found ?? newKind(noted);
  kinds.set(key, kind);
  countIn(kind, noted);
}

function newKind({ call, before, after, direction }: Noted): Kind {
  const change = { tool: call.tool.name, direction, before: plain(before), after: plain(after) };
  return { change, agents: new Map(), examples: [], calls: 0, byNow: 0, first: call.at, last: call.at };
}

function countIn(kind: Kind, { call, byNow }: Noted): void {
  kind.calls += 1;
  if (byNow) kind.byNow += 1;
  kind.first = Math.min(kind.first, call.at);
  kind.last = Math.max(kind.last, call.at);
  const { id } = call.agent;
  if (kind.agents.has(id) || kind.agents.size < mostAgents) kind.agents.set(id, (kind.agents.get(id) ?? 0) + 1);
  if (kind.examples.length < mostExamples) kind.examples.push({ record: call.record, words: wordsOf(call) });
}

function plain({ effect, code, reason, rules }: Verdict): ReplayedDecision {
  return { effect, code, reason, rules };
}

/** Looser ones first: those are what a person has to know. */
function weightOf({ change, calls }: Kind): number {
  return calls + (change.direction === 'looser' ? 1e12 : change.direction === 'other' ? 1e11 : 0);
}

function changeOf({ change, agents, examples, calls, byNow, first, last }: Kind): ReplayedChange {
  const most = [...agents].sort(([, a], [, b]) => b - a).slice(0, 5);
  return {
    ...change,
    ...{ calls, byNow, examples },
    agents: most.map(([id, count]) => ({ id, calls: count })),
    first: new Date(first).toISOString(),
    last: new Date(last).toISOString(),
  };
}

/** A call in a line: what it is about, else its arguments. */
export function wordsOf({ tool, targets, input }: RecordedCall): string {
  const named = targets.flatMap((target) => {
    const about = ['text', 'path', 'name', 'service', 'storage', 'host']
      .map((key) => textOf(target[key]))
      .find((word) => word !== undefined);
    const number = typeof target['vmid'] === 'number' ? String(target['vmid']) : undefined;
    const place = target['kind'] === 'command' ? undefined : textOf(target['node']);
    const words = [number, about, place === undefined ? undefined : `on ${place}`].filter((word) => word !== undefined);
    return words.length === 0 ? [] : [words.join(' ')];
  });
  const text = named.length > 0 ? named.join(', ') : JSON.stringify(input);
  return showPlainly(`${tool.name} ${text}`, 160);
}
