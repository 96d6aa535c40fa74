/** The reckoning at the end: what agents were told, what clusters did, what people answered and what the trail says must be one story. */
import type { LocalApp } from '#app/create-app';
import type { RequestRecord } from '#kernel/approval/request';
import { callOf } from '#kernel/attempt';
import type { AuditRecord } from '#kernel/audit-event';
import { textOf } from '#kernel/json';
import { type Answered, type CallKind, type Effect, readJournal, type Told } from './journal.ts';

export interface Reckoning {
  readonly calls: number;
  /** From the first call's beginning to the last one's. */
  readonly seconds: number;
  /** Of processes that were killed meanwhile: nobody was there to be told. */
  readonly orphans: number;
  readonly effects: number;
  readonly done: number;
  readonly unknown: number;
  readonly notDone: number;
  readonly answers: number;
  readonly records: number;
  /** By how calls ended: `ok`, `denied scope`, … */
  readonly ends: ReadonlyMap<string, number>;
  /** Of calls that were answered with `ok`, in ms. */
  readonly times: Readonly<Record<CallKind, readonly number[]>>;
  /** Each breaks a promise. */
  readonly broken: readonly string[];
}

interface Journals {
  readonly told: readonly string[];
  readonly effects: readonly string[];
  readonly answers: readonly string[];
  /** Journals of processes that were killed: their last calls have no end. */
  readonly killed?: ReadonlySet<string>;
}

/** One asked change, over all calls that asked for it. */
interface Change {
  readonly requests: RequestRecord[];
  effects: number;
  done: number;
  unknown: number;
}

export async function reckon(app: LocalApp, journals: Journals): Promise<Reckoning> {
  const told = journals.told.flatMap((file) => readTold(file, journals.killed?.has(file) ?? false));
  const effects = journals.effects.flatMap((file) => readJournal(file) as readonly Effect[]);
  const answers = journals.answers.flatMap((file) => readJournal(file) as readonly Answered[]);
  const records = await app.audit.tail(5_000_000);
  const requests = await allRequests(app);
  const trail = byRequest(records);
  const changes = changesOf(requests, effects, trail);
  const broken = [
    ...told.flatMap(({ broken: flaws }) => flaws),
    ...attemptFlaws(records),
    ...grantFlaws(requests, trail, answers),
    ...changeFlaws(changes),
  ];
  broken.push(
    ...toldFlaws(
      told.flatMap(({ lines }) => lines),
      changes,
    ),
  );
  const verdict = await app.audit.verify();
  if (!verdict.ok) broken.push(`the trail does not verify: ${verdict.message}`);
  const ended = told.flatMap(({ lines }) => lines.flatMap(({ end }) => (end === undefined ? [] : [end])));
  const sum = (key: 'done' | 'unknown') => [...changes.values()].reduce((total, change) => total + change[key], 0);
  return {
    calls: ended.length,
    seconds: spanOf(told.flatMap(({ lines }) => lines)),
    orphans: told.reduce((total, { orphans }) => total + orphans, 0),
    ...{ effects: effects.length, done: sum('done'), unknown: sum('unknown'), answers: answers.length, records: records.length },
    notDone: records.filter(({ name, attributes }) => name === 'attempt.resolved' && attributes['end'] === 'not_done').length,
    ends: counted(ended.map(({ status, code }) => (status === code ? status : `${status} ${code}`))),
    times: timesOf(told.flatMap(({ lines }) => lines)),
    broken,
  };
}

function spanOf(lines: readonly Told[]): number {
  const begun = lines.map(({ at }) => at).sort((one, other) => one - other);
  return Math.max(1, ((begun.at(-1) ?? 0) - (begun[0] ?? 0)) / 1_000);
}

function timesOf(lines: readonly Told[]): Reckoning['times'] {
  const of = (kind: CallKind) => lines.flatMap((line) => (line.kind === kind && line.end?.status === 'ok' ? [line.end.ms] : []));
  return { read: of('read'), change: of('change'), foreign: of('foreign'), peek: of('peek') };
}

/** Each call that began in a process that lived on has an end. */
function readTold(file: string, killed: boolean) {
  const open = new Map<string, Told>();
  const lines = readJournal(file) as readonly Told[];
  for (const line of lines) {
    const key = `${line.agent} ${line.at} ${line.call}`;
    if (line.end === undefined) open.set(key, line);
    else open.delete(key);
  }
  const crossed = lines.flatMap(({ agent, call, crossed: how }) => (how === undefined ? [] : [`crossed: ${agent} call ${call}: ${how}`]));
  const unanswered = killed ? [] : [...open.values()].map(({ agent, call, kind }) => `unanswered: ${agent} call ${call} (${kind})`);
  return { lines, orphans: killed ? open.size : 0, broken: [...crossed, ...unanswered] };
}

async function allRequests(app: LocalApp): Promise<readonly RequestRecord[]> {
  const all: RequestRecord[] = [];
  for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
    const page = await app.approvals.list({ limit: 500, ...(cursor === undefined ? {} : { cursor }) });
    all.push(...page.records);
    cursor = page.cursor;
  }
  return all;
}

type Trail = ReadonlyMap<string, readonly AuditRecord[]>;

function byRequest(records: readonly AuditRecord[]): Trail {
  const found = new Map<string, AuditRecord[]>();
  for (const record of records) {
    const id = textOf(record.attributes['request_id']);
    if (id !== undefined) found.set(id, [...(found.get(id) ?? []), record]);
  }
  return found;
}

const endNames: ReadonlySet<string> = new Set(['tool.finished', 'tool.denied', 'attempt.resolved']);

/** Of each call that the trail says began: one beginning, one end. */
function attemptFlaws(records: readonly AuditRecord[]): readonly string[] {
  const calls = new Map<string, { begun: number; ends: number }>();
  for (const record of records) {
    const call = callOf(record);
    if (call === undefined) continue;
    const found = calls.get(call) ?? { begun: 0, ends: 0 };
    if (record.name === 'tool.started') found.begun += 1;
    if (endNames.has(record.name)) found.ends += 1;
    calls.set(call, found);
  }
  return [...calls].flatMap(([call, { begun, ends }]) => {
    if (begun > 1) return [`twice: call ${call} began ${begun} times`];
    if (begun === 1 && ends !== 1) return [`lost: call ${call} has ${ends} ends`];
    return [];
  });
}

/** What ran was approved by a person, and each approval ran at most once. */
function grantFlaws(requests: readonly RequestRecord[], trail: Trail, answers: readonly Answered[]): readonly string[] {
  const approved = new Set(answers.filter(({ answer }) => answer === 'approve').map(({ request }) => request));
  return requests.flatMap(({ id, action }) => {
    const records = trail.get(id) ?? [];
    const count = (name: string) => records.filter((record) => record.name === name).length;
    const [consumed, begun] = [count('approval.consumed'), count('tool.started')];
    const others = records.filter(({ name, attributes }) => name === 'tool.started' && agentOf(attributes) !== action.agentId);
    return [
      ...(consumed > 1 || begun > 1 ? [`twice: ${id} was used ${consumed} times and began ${begun} times`] : []),
      ...(begun > consumed ? [`lost: ${id} began without its approval being used`] : []),
      ...(begun > 0 && !approved.has(id) ? [`crossed: ${id} began and no person approved it`] : []),
      ...(others.length > 0 ? [`crossed: ${id} of ${action.agentId} ran for another agent`] : []),
    ];
  });
}

function agentOf(attributes: AuditRecord['attributes']): string | undefined {
  return textOf((attributes['agent'] as { readonly id?: string } | undefined)?.id);
}

const effectOf: Readonly<Record<string, string>> = { start_vm: 'qmstart', stop_vm: 'qmstop', set_guest_config: 'description' };
const keyOf = (cluster: string, vmid: unknown, type: string, mark: unknown) => [cluster, vmid, type, mark ?? ''].join(' ');

function changesOf(requests: readonly RequestRecord[], effects: readonly Effect[], trail: Trail): Map<string, Change> {
  const changes = new Map<string, Change>();
  const at = (key: string): Change => {
    const change = changes.get(key) ?? { requests: [], effects: 0, done: 0, unknown: 0 };
    changes.set(key, change);
    return change;
  };
  for (const { cluster, vmid, type, mark } of effects) at(keyOf(cluster, vmid, type, mark)).effects += 1;
  for (const request of requests) {
    const { tool, arguments: input } = request.action;
    const change = at(keyOf(request.action.cluster ?? '', input['vmid'], effectOf[tool] ?? tool, input['description']));
    change.requests.push(request);
    const end = endOf(trail.get(request.id) ?? []);
    if (end !== undefined) change[end] += 1;
  }
  return changes;
}

/** Undefined: nothing of it happened, as far as the trail says. */
function endOf(records: readonly AuditRecord[]): 'done' | 'unknown' | undefined {
  if (!records.some(({ name }) => name === 'tool.started')) return undefined;
  const end = records.findLast(({ name, attributes }) => endNames.has(name) && attributes['status'] !== 'pending');
  if (end === undefined) return 'unknown';
  if (end.name === 'attempt.resolved')
    return end.attributes['end'] === 'not_done' ? undefined : end.attributes['end'] === 'done' ? 'done' : 'unknown';
  if (end.attributes['status'] === 'ok') return 'done';
  // A call that failed says what is known of its effect.
  const state = (end.attributes['effect'] as { readonly state?: unknown } | undefined)?.state;
  if (state === 'task') return 'done';
  return state === 'sent' ? 'unknown' : undefined;
}

/** What clusters did is what the trail says was done, or is among what it says nobody knows. */
function changeFlaws(changes: ReadonlyMap<string, Change>): readonly string[] {
  return [...changes].flatMap(([key, { effects, done, unknown, requests }]) => {
    if (effects < done) return [`lost: ${key}: ${done} are said to be done, the cluster did ${effects}`];
    if (effects > done + unknown)
      return [
        `unrecorded: ${key}: the cluster did ${effects}, ${done} are said to be done and ${unknown} unknown (${requests.map(({ id }) => id).join(' ')})`,
      ];
    return [];
  });
}

/** An agent that was told `ok` had its effect. */
function toldFlaws(lines: readonly Told[], changes: ReadonlyMap<string, Change>): readonly string[] {
  return lines.flatMap(({ agent, call, kind, target, end }) => {
    if (target === undefined || end === undefined) return [];
    const effects = changes.get(keyOf(target.cluster, target.vmid, target.type, target.mark))?.effects ?? 0;
    const isLost = kind === 'change' && end.status === 'ok' && effects === 0;
    return isLost ? [`lost: ${agent} call ${call} (${target.type} of ${target.vmid}) was told ok, and nothing was done`] : [];
  });
}

export function counted(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return new Map([...counts].sort(([, one], [, other]) => other - one));
}
