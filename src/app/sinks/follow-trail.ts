/** One sink's way along the trail: at least once, in order, and never in a call's way. What cannot be handed over waits in the trail itself. */

import { hostname } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { isChained } from '#audit/verify-trail';
import type { AuditRecord, ChainPoint } from '#kernel/audit-event';
import { Fault, reasonOf } from '#kernel/errors';
import type { AuditLog, ChainedAuditLog } from '#kernel/ports/audit-log';
import type { Log } from '#kernel/ports/log';
import type { Sink, SinkMeasures } from '#kernel/ports/sink';
import { showPlainly } from '#kernel/text/text';
import { readPrivateFile, replacePrivateFile } from '../config/private-file.ts';

const pointSchema = z.object({ sequence: z.int(), hash: z.string(), time: z.string() });
const stateSchema = z.object({
  version: z.literal(1),
  cursor: z.object({ since: z.string(), time: z.string(), points: z.record(z.string(), pointSchema) }),
  told: z.int(),
  lost: z.int(),
  refused: z.int(),
  /** The last loss or refusal, in words. */
  note: z.string().optional(),
  down: z.object({ since: z.string(), why: z.string() }).optional(),
});
/** What is kept of a sink in the state directory: `sinks/NAME.json`. */
export type SinkState = Readonly<Omit<z.output<typeof stateSchema>, 'cursor'>> & { readonly cursor: Cursor };

export interface FollowParts {
  readonly name: string;
  readonly sink: Sink;
  readonly audit: AuditLog;
  readonly stateDir: string;
  readonly log: Log;
  /** Where a sink begins that was never told anything. */
  readonly begin: Cursor;
  readonly maxAgeHours?: number;
  /** In ms; shorter in tests. */
  readonly periodMs?: number;
}

export interface Follower {
  measures(): SinkMeasures;
  close(): Promise<void>;
}

/** So many records at a time: at most some megabytes. */
const batchSize = 200;
const usualPeriodMs = 1_000;
const backoffMs = { first: 1_000, longest: 60_000 } as const;
/** How long one batch may take. A sink's own limit is shorter. */
const sendMs = 150_000;

function sinksFolder(stateDir: string): string {
  return path.join(stateDir, 'sinks');
}

/** undefined: it was never told anything. A file that is damaged counts as none: then it begins anew. */
export async function readSinkState(stateDir: string, name: string): Promise<SinkState | undefined> {
  const text = await readPrivateFile(path.join(sinksFolder(stateDir), `${name}.json`));
  try {
    return text === undefined ? undefined : stateSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export function followTrail(parts: FollowParts): Follower {
  const closing = new AbortController();
  const walk = new Walk(parts, closing.signal);
  const done = walk.run();
  return {
    measures: () => walk.measures(),
    close: async () => {
      closing.abort();
      await done;
      await parts.sink.close();
    },
  };
}

/** What came of one page. */
interface Told {
  readonly told: number;
  readonly refused: number;
  readonly tooOld: number;
}

class Walk {
  readonly #parts: FollowParts;
  readonly #signal: AbortSignal;
  readonly #read: ReadTrail;
  #state: SinkState | undefined;
  #oldest: number | undefined;
  #wait: number;

  constructor(parts: FollowParts, signal: AbortSignal) {
    this.#parts = parts;
    this.#signal = signal;
    this.#read = trailReader(parts.audit);
    this.#wait = backoffMs.first;
  }

  measures(): SinkMeasures {
    const { told = 0, lost = 0, refused = 0, down } = this.#state ?? {};
    const behind = this.#oldest === undefined ? 0 : Math.max(0, (Date.now() - this.#oldest) / 1000);
    return { name: this.#parts.name, up: down === undefined, behind, told, lost, refused };
  }

  async run(): Promise<void> {
    const { periodMs = usualPeriodMs } = this.#parts;
    while (!this.#signal.aborted) {
      const wait = await this.#step(periodMs);
      // Not referenced: nobody's process stays for a sink alone.
      if (wait > 0) await sleep(wait, undefined, { ref: false, signal: this.#signal }).catch(() => undefined);
    }
  }

  /** @returns how long to wait before the next */
  async #step(periodMs: number): Promise<number> {
    try {
      const told = await this.#tellNext();
      this.#wait = backoffMs.first;
      return told === 0 ? periodMs : 0;
    } catch (thrown) {
      if (!this.#signal.aborted) await this.#fell(thrown);
      const wait = Math.min(this.#wait, 60 * periodMs);
      this.#wait = Math.min(this.#wait * 2, backoffMs.longest);
      return wait;
    }
  }

  async #tellNext(): Promise<number> {
    const { name } = this.#parts;
    const state = this.#state ?? (await this.#first());
    const page = await this.#read(state.cursor, batchSize);
    if (page.isOther) return this.#startOver(state);
    if (page.records.length === 0 && state.down === undefined) return 0;
    const records = this.#recent(page.records);
    this.#oldest = records[0] === undefined ? undefined : Date.parse(records[0].time);
    const refused = records.length === 0 ? 0 : await this.#deliver(records);
    if (state.down !== undefined) this.#parts.log.info(`sink ${name}: is told again; it was down since ${state.down.since}`);
    await this.#advance(state, page, { told: records.length - refused, refused, tooOld: page.records.length - records.length });
    this.#oldest = undefined;
    return page.records.length;
  }

  /** Kept at once: what happens from then on is told, whichever process lives on. */
  async #first(): Promise<SinkState> {
    const { stateDir, name, begin } = this.#parts;
    const known = await readSinkState(stateDir, name);
    const state: SinkState = known ?? { version: 1, cursor: begin, told: 0, lost: 0, refused: 0 };
    if (known === undefined) await this.#keep(state);
    this.#state = state;
    return state;
  }

  #recent(records: readonly AuditRecord[]): readonly AuditRecord[] {
    const { maxAgeHours } = this.#parts;
    if (maxAgeHours === undefined) return records;
    const since = new Date(Date.now() - maxAgeHours * 3_600_000).toISOString();
    return records.filter(({ time }) => time >= since);
  }

  async #advance({ down: _down, ...state }: SinkState, { cursor, gone }: TrailPage, { told, refused, tooOld }: Told): Promise<void> {
    const note = lossNote(gone, tooOld, refused);
    if (note !== undefined) this.#parts.log.warn(`sink ${this.#parts.name}: ${note}`);
    await this.#keep({
      ...state,
      cursor,
      told: state.told + told,
      lost: state.lost + gone + tooOld,
      refused: state.refused + refused,
      ...(note === undefined ? {} : { note: `${new Date().toISOString()}: ${note}` }),
    });
  }

  /** @returns how many the receiver will never take; where it refuses several at once, it is found out which */
  async #deliver(records: readonly AuditRecord[]): Promise<number> {
    try {
      const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(sendMs)]);
      return await this.#parts.sink.send(records, signal);
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.code !== 'sink_refused') throw thrown;
      if (records.length > 1) {
        const middle = records.length >> 1;
        return (await this.#deliver(records.slice(0, middle))) + (await this.#deliver(records.slice(middle)));
      }
      this.#parts.log.warn(`sink ${this.#parts.name}: record ${records[0]?.sequence} was refused: ${plain(thrown)}`);
      return 1;
    }
  }

  /** Whatever the trail is now, it is told whole. */
  async #startOver(state: SinkState): Promise<number> {
    const note = 'the trail ends before where this sink was: it is another one, or an older copy, and is told from its beginning';
    this.#parts.log.warn(`sink ${this.#parts.name}: ${note}`);
    await this.#keep({ ...state, cursor: fromTheStart(), note: `${new Date().toISOString()}: ${note}` });
    return 1;
  }

  async #fell(thrown: unknown): Promise<void> {
    const { name, log } = this.#parts;
    const why = plain(thrown);
    const state = this.#state;
    if (state?.down?.why === why) return;
    // Kept first, so that `doctor` says the same as soon as the log does.
    if (state !== undefined) {
      const down = { since: state.down?.since ?? new Date().toISOString(), why };
      await this.#keep({ ...state, down }).catch(() => undefined);
    }
    log.warn(`sink ${name}: is down: ${why}; what it is not told waits in the trail`);
  }

  async #keep(state: SinkState): Promise<void> {
    const { stateDir, name } = this.#parts;
    await replacePrivateFile(sinksFolder(stateDir), `${name}.json`, `${JSON.stringify(state)}\n`);
    this.#state = state;
  }
}

function lossNote(gone: number, tooOld: number, refused: number): string | undefined {
  const parts = [
    ...(gone > 0 ? [`${gone} records left the trail before it could be told`] : []),
    ...(tooOld > 0 ? [`${tooOld} records were older than \`maxAgeHours\``] : []),
    ...(refused > 0 ? [`${refused} records were refused by the receiver`] : []),
  ];
  return parts.length === 0 ? undefined : parts.join('; ');
}

function plain(thrown: unknown): string {
  return showPlainly(reasonOf(thrown), 300);
}

// Reads the trail from where one sink is, and says what was gone before it could be read.

/** How far one sink has been told. */
export interface Cursor {
  /** ISO 8601: what happened before is not told. */
  readonly since: string;
  /** ISO 8601: of the newest record that it was told; before the first, when it began. */
  readonly time: string;
  /** The newest record of each chain; a store with one chain has it under the empty name. */
  readonly points: Readonly<Record<string, ChainPoint & { readonly time: string }>>;
}

export interface TrailPage {
  /** Not told yet, in their order; empty: there are none. */
  readonly records: readonly AuditRecord[];
  /** Where the sink is once it was told these. */
  readonly cursor: Cursor;
  /** Records that are gone between where the sink was and the first of these. */
  readonly gone: number;
  /** The trail ends before where the sink was: it is another one, or an older copy. */
  readonly isOther?: true;
}

/** @param limit most records */
export type ReadTrail = (cursor: Cursor, limit: number) => Promise<TrailPage>;

/** Before the first record there can be. */
export function fromTheStart(): Cursor {
  const time = new Date(0).toISOString();
  return { since: time, time, points: {} };
}

/** Behind the newest record. */
export async function fromNow(audit: AuditLog): Promise<Cursor> {
  const time = new Date().toISOString();
  const head = isChained(audit) ? undefined : await audit.head();
  return { since: time, time, points: head === undefined ? {} : { '': { ...head, time } } };
}

export function trailReader(audit: AuditLog): ReadTrail {
  return isChained(audit) ? ownChains(audit) : oneChain(audit);
}

function oneChain(audit: AuditLog): ReadTrail {
  return async (cursor, limit) => {
    const { '': at } = cursor.points;
    const after = at?.sequence ?? 0;
    const records = await audit.read(after, limit);
    const isOther = records.length === 0 && at !== undefined && (await isElsewhere(audit, at));
    if (isOther) return { records, cursor: fromTheStart(), gone: 0, isOther };
    const [first] = records;
    // A new trail may have been pruned before this sink began: that is no loss of its own.
    const gone = first === undefined || at === undefined ? 0 : first.sequence - after - 1;
    return { records, cursor: advanced(cursor, records), gone };
  };
}

/** The trail ends before the place, or something else stands there. */
async function isElsewhere(audit: AuditLog, at: ChainPoint): Promise<boolean> {
  const head = await audit.head();
  return head === undefined || head.sequence < at.sequence || (head.sequence === at.sequence && head.hash !== at.hash);
}

/**
 * Of a store that several machines share, each machine tells what was written on it. LIMIT: a machine that is renamed leaves what it had not told.
 */
function ownChains(audit: ChainedAuditLog, own = `${hostname()}/`): ReadTrail {
  let seen: string | undefined;
  return async (cursor, limit) => {
    const head = JSON.stringify((await audit.head()) ?? {});
    if (head === seen) return { records: [], cursor, gone: 0 };
    const records: AuditRecord[] = [];
    let next = cursor;
    let gone = 0;
    const { records: all } = await audit.readChains(Date.parse(cursor.time));
    for await (const record of all) {
      if (records.length === limit) break;
      if (record.chain?.startsWith(own) !== true || isTold(record, next)) continue;
      gone += goneBefore(record, next);
      records.push(record);
      next = advanced(next, [record]);
    }
    if (records.length === 0) seen = head;
    return { records, cursor: recent(next), gone };
  };
}

function isTold({ chain = '', sequence, time }: AuditRecord, { points, since }: Cursor): boolean {
  const at = points[chain];
  return at === undefined ? time < since : sequence <= at.sequence;
}

function goneBefore({ chain = '', sequence }: AuditRecord, { points }: Cursor): number {
  const at = points[chain];
  return at === undefined ? 0 : sequence - at.sequence - 1;
}

function advanced(cursor: Cursor, records: readonly AuditRecord[]): Cursor {
  const points = { ...cursor.points };
  let { time } = cursor;
  for (const record of records) {
    points[record.chain ?? ''] = { sequence: record.sequence, hash: record.hash, time: record.time };
    if (record.time > time) time = record.time;
  }
  return { since: cursor.since, time, points };
}

/** A chain that has ended is remembered for as long as its records may be read again, and not for ever. */
const rememberedMs = 600_000;

function recent({ since, time, points }: Cursor): Cursor {
  const oldest = new Date(Date.parse(time) - rememberedMs).toISOString();
  return { since, time, points: Object.fromEntries(Object.entries(points).filter(([, point]) => point.time >= oldest)) };
}
