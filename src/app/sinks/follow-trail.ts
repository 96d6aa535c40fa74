/** One sink's way along the trail: at least once, in order, and never in a call's way. What cannot be handed over waits in the trail itself. */
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import type { AuditRecord } from '#kernel/audit-event';
import { Fault, reasonOf } from '#kernel/errors';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { Log } from '#kernel/ports/log';
import type { Sink, SinkMeasures } from '#kernel/ports/sink';
import { showPlainly } from '#kernel/text/text';
import { readPrivateFile, replacePrivateFile } from '../config/private-file.ts';
import { type Cursor, fromTheStart, type ReadTrail, type TrailPage, trailReader } from './trail-reader.ts';

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
