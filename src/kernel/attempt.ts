/**
 * An attempt: a call of which the trail says that it began. It ends as done, as not done, or as unknown, and never stays open for good: the
 * process that ran it may be gone, and then somebody looks (docs/reliability.md).
 */
import type { AuditDraft, AuditEventName, AuditRecord } from './audit-event.ts';
import { isJsonObject, type JsonObject, type JsonValue, textOf, wordOf } from './json.ts';

const attemptEnds = ['done', 'not_done', 'unknown'] as const;
/** `done`: it ran, whatever came of it. `not_done`: nothing of it happened. `unknown`: nobody could find out. */
export type AttemptEnd = (typeof attemptEnds)[number];

/** `running`: its process lives, or its time is not over. `looking`: that process is gone, and what came of the call is being looked up. */
export type AttemptStanding = 'running' | 'looking' | 'unknown';

/** Begun and without an end; or its end is `unknown`, and no person has seen that. */
export interface Attempt {
  /** The call's id. */
  readonly call: string;
  /** Its `tool.started`. */
  readonly begun: AuditRecord;
  /** Its `attempt.resolved`, which says `unknown`. */
  readonly unknown?: AuditRecord;
}

/** Which process ran a call, so that another one can tell whether it lives: over numbers that are given again, restarts, containers and machines. */
export interface ProcessMark {
  /** For people, and where the system names no boot. */
  readonly machine: string;
  readonly pid: number;
  /** This start of this kernel; containers share their host's. */
  readonly boot?: string;
  /** The namespace that `pid` is a number of. */
  readonly space?: string;
  /** In the system's ticks since boot: tells it from a later process of the same number. */
  readonly started?: string;
}

/** The topic of findings about them. SECURITY: in the service they are of one user, and not told to others. */
export const unknownTopic = 'outcome unknown';

/** An unfinished attempt as people read it. */
export interface AttemptView {
  readonly call: string;
  readonly standing: AttemptStanding;
  readonly tool: string;
  readonly agent: string;
  /** Of what it was to change, one text each. */
  readonly targets: readonly string[];
  /** ISO 8601 */
  readonly begunAt: string;
  readonly requestId?: string;
  /** What is known of it, and what to look at; of one that is unknown. */
  readonly message?: string;
  readonly next?: string;
}

const callKey = 'gen_ai.tool.call.id';

/** Which call a record is about; undefined: about none. */
export function callOf({ attributes }: Pick<AuditDraft, 'attributes'>): string | undefined {
  return textOf(attributes[callKey]);
}

/** Why a record does not hold the arguments of its call, or what they meant, as they were; undefined: it does. */
export function argumentsFlaw({ attributes }: Pick<AuditDraft, 'attributes'>): string | undefined {
  const { 'gen_ai.tool.call.arguments': input = null, cut } = attributes;
  const isCut = isJsonObject(cut) && ['gen_ai.tool.call.arguments', 'target'].some((name) => Object.hasOwn(cut, name));
  if (isCut || isStandIn(input, 'truncated', 'bytes')) return 'its arguments are too long to be kept whole';
  if (isStandIn(input, 'unreadable')) return 'its arguments could not be kept';
  const text = JSON.stringify(input);
  if (text.includes('[redacted:')) return 'secrets were taken out of its arguments';
  return text.includes('"[concealed]"') ? 'its arguments are never written down' : undefined;
}

/** What the pipeline writes down in the place of arguments has these keys and no others. */
function isStandIn(input: JsonValue, ...keys: readonly string[]): boolean {
  return isJsonObject(input) && Object.keys(input).length === keys.length && keys.every((key) => Object.hasOwn(input, key));
}

/** What a record of an attempt's end says of the call: who, what, and where it belongs. */
export function ofCall({ attributes }: Pick<AuditDraft, 'attributes'>): JsonObject {
  const kept = ['gen_ai.tool.name', callKey, 'agent', 'request_id', 'plan_step', 'target', 'cluster'];
  return Object.fromEntries(Object.entries(attributes).filter(([key]) => kept.includes(key)));
}

export type AttemptState = 'open' | 'unknown' | 'over';

/** Which state a record brings an attempt to. Pure: every store goes by it. undefined: the record is none that an attempt in this state can have. */
export function attemptAfter(state: AttemptState | undefined, { name, attributes }: AuditDraft): AttemptState | undefined {
  const ends: Partial<Record<AuditEventName, AttemptState>> = {
    'tool.started': 'open',
    'tool.finished': 'over',
    'tool.denied': 'over',
    'attempt.resolved': attributes['end'] === 'unknown' ? 'unknown' : 'over',
    'attempt.seen': 'over',
  };
  const allowed: Partial<Record<AuditEventName, readonly (AttemptState | undefined)[]>> = {
    'tool.started': [undefined],
    // What its own process says counts, however late.
    'tool.finished': ['open', 'unknown'],
    'tool.denied': ['open', 'unknown'],
    'attempt.resolved': ['open'],
    'attempt.seen': ['unknown'],
  };
  return allowed[name]?.includes(state) === true ? ends[name] : undefined;
}

/** Attempts as records make them, one after the other: for a store that has no table of its own. Records may be read again. */
export function createAttemptIndex() {
  const attempts = new Map<string, Attempt>();
  /** When each began that is over, ms since the epoch. */
  const over = new Map<string, number>();
  const stateOf = (call: string): AttemptState | undefined => {
    if (over.has(call)) return 'over';
    const found = attempts.get(call);
    return found && (found.unknown === undefined ? 'open' : 'unknown');
  };
  return {
    note(record: AuditRecord): void {
      const call = callOf(record) ?? '';
      const before = attempts.get(call);
      const state = call === '' || isForeign(record, before) ? undefined : attemptAfter(stateOf(call), record);
      if (state === undefined) return;
      const begun = before?.begun ?? record;
      if (state === 'open') attempts.set(call, { call, begun });
      if (state === 'unknown') attempts.set(call, { call, begun, unknown: record });
      if (state !== 'over') return;
      attempts.delete(call);
      over.set(call, Date.parse(begun.time));
    },
    /** Whether this would end or mark an attempt as it is now. */
    takes(draft: AuditDraft): boolean {
      const call = callOf(draft) ?? '';
      return !isForeign(draft, attempts.get(call)) && attemptAfter(stateOf(call), draft) !== undefined;
    },
    list: (): readonly Attempt[] => [...attempts.values()],
    /** What began before this moment (ms) is in no trail any more. */
    forgetBefore(moment: number): void {
      for (const [call, begun] of over) if (!(begun >= moment)) over.delete(call);
      for (const [call, { begun }] of attempts) if (Date.parse(begun.time) < moment) attempts.delete(call);
    },
  };
}

/** SECURITY: what a user's own process reports ends no attempt of the service's, nor of another user's. */
function isForeign(draft: AuditDraft, attempt: Attempt | undefined): boolean {
  return attempt !== undefined && draft.name.startsWith('tool.') && reporterOf(draft) !== reporterOf(attempt.begun);
}

/** The OS user whose own process says so; undefined: the store's own process does. */
export function reporterOf({ attributes }: Pick<AuditDraft, 'attributes'>): string | undefined {
  return textOf(attributes['reported_by']);
}

/** As `tool.started` holds it; undefined: it does not say, or not rightly. */
export function processOf({ attributes }: Pick<AuditRecord, 'attributes'>): ProcessMark | undefined {
  const mark = attributes['process'];
  if (!isJsonObject(mark)) return undefined;
  const { machine, pid, boot, space, started } = mark;
  if (typeof machine !== 'string' || typeof pid !== 'number' || !Number.isSafeInteger(pid) || pid <= 0) return undefined;
  const texts = Object.entries({ boot, space, started }).filter(([, value]) => typeof value === 'string');
  return { machine, pid, ...Object.fromEntries(texts) };
}

export function markData({ machine, pid, boot, space, started }: ProcessMark): JsonObject {
  return { machine, pid, boot, space, started };
}

/** A call without a time of its own (of an older version) is given this long, in ms; no call may claim more than a day. */
const usualMs = 3_600_000;
const longestMs = 86_400_000;

/** When a call is over at the latest, as it said when it began: from then on it does not run, wherever its process is. ms since the epoch. */
export function latestEnd({ time, attributes }: Pick<AuditRecord, 'time' | 'attributes'>): number {
  const begun = Date.parse(time);
  const said = Date.parse(textOf(attributes['ends_by']) ?? '');
  return Number.isNaN(said) ? begun + usualMs : Math.min(said, begun + longestMs);
}

/** For lists: the texts of a record's targets. */
export function targetWords(targets: JsonValue | undefined): readonly string[] {
  if (!Array.isArray(targets)) return [];
  return targets.flatMap((target: JsonValue) => {
    if (!isJsonObject(target)) return [];
    const { vmid, name, node, service, path, text, cluster } = target;
    const unit = typeof service === 'string' && typeof node === 'string' ? `${service} on ${node}` : undefined;
    const what = vmid === undefined ? [path, text, unit, name, node].map(textOf).find((word) => word !== undefined) : wordOf(vmid);
    return what === undefined ? [] : [`${what}${typeof cluster === 'string' && cluster !== '' ? ` on ${cluster}` : ''}`];
  });
}
