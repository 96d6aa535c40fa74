/**
 * Replay (docs/adr/0040-replay.md): the recorded calls, in their order, decided by the present settings and by edited ones, through the stages that
 * decide about a call that is made. Equal calls are decided once. Pure but for the reads that it is handed.
 */
import { hash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { TrailReader } from '#audit/verify-trail';
import type { AuditRecord, ChainVerdict } from '#kernel/audit-event';
import { Fault } from '#kernel/errors';
import type { ReplayOptions, ReplayReport } from '#kernel/policy-view';
import type { Tool } from '#kernel/tool';
import { budgetSpan, scopesOf, spentOf } from '#policy/scopes/scopes';
import { type TimeWindow, windowState } from '#policy/scopes/windows';
import { createAnswers } from './answers.ts';
import { createCallReader, type RecordedCall } from './recorded-call.ts';
import { bindsClusters, decideRecorded, type Side, type Verdict, type World } from './recorded-world.ts';
import { createTally } from './tally.ts';

export interface ReplayParts extends ReplayOptions {
  readonly before: Side;
  readonly after: Side;
  readonly world: World;
  /** Keys that differ, and what of that is looser. */
  readonly differs: readonly string[];
  readonly loosens: readonly string[];
  /** Reads the trail and verifies it on the way. */
  readTrail(reader: TrailReader): Promise<ChainVerdict>;
  /** Records that there are now. */
  readonly size?: number;
}

/** @throws {Fault} `cancelled`; what the store says */
export async function replay(parts: ReplayParts): Promise<ReplayReport> {
  const startedAt = performance.now();
  let run = createRun(parts);
  const verdict = await parts.readTrail({
    onFit: (record) => run.take(record),
    restart: () => {
      run = createRun(parts);
    },
  });
  const report = await run.report();
  const trail = { ok: verdict.ok || verdict.records === 0, message: verdict.message };
  return {
    ...report,
    trail,
    differs: parts.differs,
    loosens: parts.loosens,
    notes: notesOf(parts),
    ms: Math.round(performance.now() - startedAt),
  };
}

/** So many records are taken before whoever waits for the thread gets a turn, and hears how far it is. */
const chunk = 2_000;

function createRun(parts: ReplayParts) {
  const { world, since = 0, signal } = parts;
  const tools = new Map(world.tools.map((tool): [string, Tool] => [tool.name, tool]));
  const read = createCallReader(tools);
  const tally = createTally();
  const answers = createAnswers(parts);
  const sides = [createSide(parts.before, parts), createSide(parts.after, parts)] as const;
  let records = 0;

  const take = (record: AuditRecord): Promise<void> | undefined => {
    records += 1;
    answers.hear(record);
    const found = read(record);
    if (found.kind === 'unfit' && found.at >= since) tally.unfit(found.why, found.at);
    const judged = found.kind === 'call' ? judge(found.call) : undefined;
    return records % chunk === 0 ? pause(judged) : judged;
  };
  const pause = async (judged: Promise<void> | undefined): Promise<void> => {
    await judged;
    if (signal.aborted) throw new Fault('cancelled', 'the replay was cancelled; nothing was changed', { audience: 'user' });
    parts.onProgress?.({ records, ...(parts.size === undefined ? {} : { of: parts.size }) });
    await setImmediate();
  };
  const judge = (call: RecordedCall): Promise<void> | undefined => {
    const [before, after] = sides;
    const key = keyOf(call);
    const first = before.decide(call, key);
    const second = after.decide(call, key);
    if (first instanceof Promise || second instanceof Promise) return Promise.all([first, second]).then(([a, b]) => note(call, a, b));
    note(call, first, second);
    return undefined;
  };
  const note = (call: RecordedCall, before: Verdict, after: Verdict): void => {
    const [one, two] = sides;
    one.count(call, before);
    two.count(call, after);
    if (call.at < since) return;
    tally.note(call, before, after);
    answers.note(call, before);
  };
  return {
    take,
    report: async () => ({ records, ...tally.report(), ...(await answers.report()) }),
  };
}

/** Equal calls that are remembered, by the digest of all that decides about them. */
const mostRemembered = 30_000;

/** Keys that were met lately. */
const metPlaces = 2 ** 16;

/** Says of a key whether it was met before, nearly always rightly: of two that share a place the older one is forgotten. */
function createMet(): (key: string) => boolean {
  const places = new Int32Array(metPlaces);
  return (key) => {
    // FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/).
    let print = 0x811c9dc5;
    for (let index = 0; index < key.length; index += 1) print = Math.imul(print ^ key.charCodeAt(index), 16_777_619);
    const place = print & (metPlaces - 1);
    const isMet = places[place] === print;
    places[place] = print;
    return isMet;
  };
}

/** The decisions of one side: what was spent of budgets is counted as if its settings had held all along. */
function createSide(side: Side, { world, signal }: ReplayParts) {
  const known = new Map<string, Verdict>();
  const isMet = createMet();
  const { settings } = side;
  const budget = createBudget(settings.scopes);
  const openness = createOpenness(settings.windows);
  const scopesFor = createScopeNames(settings.scopes);
  return {
    decide(call: RecordedCall, equals: string): Verdict | Promise<Verdict> {
      const isClusters = call.tool.group === 'cluster';
      const key = isClusters ? `${equals} ${scopesFor(call.agent)} ${openness(call.at)} ${budget.state(call)}` : equals;
      const found = known.get(key);
      if (found !== undefined) return found;
      return decideRecorded(call, { side, world, spent: budget.spent(call) }, signal).then((verdict) => {
        const byNow = verdict.byNow && (!isClusters || bindsClusters(settings));
        // What a rule would have to name is asked for again where it is needed.
        const kept: Verdict = { ...verdict, byNow, targets: [] };
        // Kept from the second time on: most of a long trail comes once, and would only be in the collector's way.
        if (known.size >= mostRemembered) known.clear();
        if (isMet(key)) known.set(key, kept);
        return kept;
      });
    },
    count: budget.count,
  };
}

/** All that a decision can depend on: of the agent its tier and where it comes from, to which each side adds its scopes, and which windows are open. */
function keyOf(call: RecordedCall): string {
  const { tool, input, agent, targets, sandbox, status, code, rules, isStep, message } = call;
  const isRefused = status === 'denied';
  const then = [sandbox, code === 'untrusted_workspace', isStep, rules.join(), isRefused ? [code, message] : 0];
  const text = JSON.stringify([tool.name, input, agent.host, agent.modelTier, targets, then]);
  return text.length < 400 ? text : hash('sha1', text, 'base64');
}

function createScopeNames(scopes: Side['settings']['scopes']) {
  const known = new Map<string, string>();
  return (agent: RecordedCall['agent']): string => {
    if (scopes.length === 0) return '';
    const key = `${agent.host} ${agent.id}`;
    const found =
      known.get(key) ??
      scopesOf(agent, scopes)
        .map(({ name }) => name)
        .join();
    if (known.size > 10_000) known.clear();
    known.set(key, found);
    return found;
  };
}

/** Which windows are open at a moment; asked of each window once for as long as it stays so. */
function createOpenness(windows: readonly TimeWindow[]) {
  const states = windows.map(() => ({ from: 0, until: 0, isOpen: false }));
  return (at: number): string =>
    windows
      .map((window, index) => {
        const state = states[index];
        if (state === undefined) return '';
        if (at < state.from || at >= state.until) {
          const { isOpen, until = Number.POSITIVE_INFINITY } = windowState(window, at);
          Object.assign(state, { from: at, until, isOpen });
        }
        return state.isOpen ? '1' : '0';
      })
      .join('');
}

/** Changes that began, and that this side would not have refused, by agent, over the last 24 hours. */
function createBudget(scopes: Side['settings']['scopes']) {
  const budgeted = scopes.filter(({ changesPerDay }) => changesPerDay !== undefined);
  const made = new Map<string, number[]>();
  const none: ReadonlyMap<string, number> = new Map();
  const spent = ({ at }: RecordedCall): ReadonlyMap<string, number> => {
    if (budgeted.length === 0) return none;
    for (const [id, times] of made) {
      while ((times[0] ?? at) < at - budgetSpan) times.shift();
      if (times.length === 0) made.delete(id);
    }
    return new Map([...made].map(([id, times]) => [id, times.length]));
  };
  return {
    spent,
    state: (call: RecordedCall): string => {
      const own = budgeted.length === 0 ? [] : scopesOf(call.agent, budgeted);
      if (own.length === 0) return '';
      const now = spent(call);
      return own.map((scope) => (spentOf(scope, now) >= (scope.changesPerDay ?? 0) ? '1' : '0')).join('');
    },
    count: ({ agent, at, counts }: RecordedCall, { effect }: Verdict): void => {
      if (budgeted.length === 0 || !counts || effect === 'deny') return;
      const times = made.get(agent.id) ?? [];
      times.push(at);
      made.set(agent.id, times);
    },
  };
}

function notesOf({ before, after, world }: ReplayParts): readonly string[] {
  const limited = [before, after].flatMap(({ settings }) => settings.scopes).some(({ changesPerDay }) => changesPerDay !== undefined);
  const bound = world.clusters.length > 0 && (bindsClusters(before.settings) || bindsClusters(after.settings));
  return [
    'pauses, obstacles on a target, too many open questions, an agent’s lowered tier and what people would answer are not judged',
    ...(bound
      ? ['of clusters, where a guest was is as recorded; its tags, pool, addresses, and all that was beside it, are as they are now']
      : []),
    ...(limited
      ? ['budgets are counted in the order of the trail: every change that began and that the settings would not have refused']
      : []),
  ];
}
