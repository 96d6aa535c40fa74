/** Tells the trail to every sink of the configuration: a file of its own (`dist/sinks.cjs`), loaded where there are any. */
import { setTimeout as sleep } from 'node:timers/promises';
import { createMeter, exposition } from '#connectors/telemetry/meter';
import { reasonOf } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import type { RequestStore } from '#kernel/ports/request-store';
import type { MeasuredSink, Measures, Sink, ToldElsewhere } from '#kernel/ports/sink';
import { holdLock } from '#stores/sqlite/hold-lock';
import { type Follower, followTrail } from './follow-trail.ts';
import { openSink, type ToldSink } from './open-sink.ts';
import { type FindingParts, sinkFinding, sinksLock } from './sink-findings.ts';
import { type SinkConfig, sinkName } from './sink-schema.ts';
import { type Cursor, fromNow, fromTheStart, trailReader } from './trail-reader.ts';

export interface TellParts extends FindingParts {
  readonly sinks: readonly SinkConfig[];
  readonly requests: Pick<RequestStore, 'countPending'>;
  readonly log: Log;
  /** Whether this process lasts, and may be the one that tells. */
  readonly isHolder: boolean;
  readonly tools: ReadonlySet<string>;
  /** In ms; shorter in tests. */
  readonly periodMs?: number;
}

/** How often a process looks whether the one that tells has ended, in ms. */
const takeOverMs = 10_000;

/** Resolves once it is known where what is new begins: no call of this process is missed. @throws {Fault} where the trail cannot be read */
export async function tellTrail(parts: TellParts): Promise<Omit<ToldElsewhere, 'wantsStages'>> {
  const closing = new AbortController();
  const running: Running = { began: await fromNow(parts.audit), followers: [], meter: createMeter(parts.tools, Date.now()) };
  let askedAt: string | undefined;
  const done = parts.isHolder ? tellInTurn(parts, running, closing.signal) : Promise.resolve();
  return {
    findings: async () => Promise.all(parts.sinks.map((sink) => sinkFinding(sink, { ...parts, askedAt }))),
    metrics: async () => {
      askedAt = new Date().toISOString();
      return exposition(await measuresOf(parts, running));
    },
    close: async () => {
      closing.abort();
      await done;
    },
  };
}

interface Running {
  readonly began: Cursor;
  readonly followers: Follower[];
  readonly meter: ReturnType<typeof createMeter>;
}

/** One process of this machine tells; the others wait until it has ended. */
async function tellInTurn(parts: TellParts, running: Running, signal: AbortSignal): Promise<void> {
  const { periodMs = 1_000 } = parts;
  const release = await lockOnce(parts, signal);
  if (release === undefined) return;
  try {
    const opened = parts.sinks.flatMap((sink) => openOne(sink, parts));
    running.followers.push(...opened.map(({ config, sink }) => followTrail({ ...parts, ...followed(config, running), sink })));
    const measured = opened.flatMap(({ sink }) => ('measure' in sink && sink.metricsMs > 0 ? [sink] : []));
    await Promise.all([count(parts, running, periodMs, signal), ...measured.map((sink) => measureOften(sink, { parts, running, signal }))]);
    await Promise.all(running.followers.map((follower) => follower.close()));
  } finally {
    release();
  }
}

async function lockOnce({ stateDir }: TellParts, signal: AbortSignal): Promise<(() => void) | undefined> {
  while (!signal.aborted) {
    try {
      return holdLock(stateDir, sinksLock);
    } catch {
      await pause(takeOverMs, signal);
    }
  }
  return undefined;
}

function followed(config: ToldSink, { began }: Running) {
  const { from, maxAgeHours } = config;
  return { name: sinkName(config), begin: from === 'now' ? began : fromTheStart(), ...(maxAgeHours === undefined ? {} : { maxAgeHours }) };
}

function openOne(config: SinkConfig, parts: TellParts): readonly { readonly config: ToldSink; readonly sink: Sink | MeasuredSink }[] {
  if (config.type === 'prometheus') return [];
  try {
    return [{ config, sink: openSink(config, parts) }];
  } catch (thrown) {
    parts.log.error(`sink ${sinkName(config)}: is not told: ${reasonOf(thrown)}`);
    return [];
  }
}

/** Metrics begin when this process does: whoever adds them up knows a counter that starts anew. */
async function count({ audit, log }: TellParts, { meter, began }: Running, periodMs: number, signal: AbortSignal): Promise<void> {
  const read = trailReader(audit);
  let cursor = began;
  let wasDown = false;
  while (!signal.aborted) {
    try {
      const page = await read(cursor, 1_000);
      meter.note(page.records);
      cursor = page.cursor;
      wasDown = false;
      if (page.records.length === 0) await pause(periodMs, signal);
    } catch (thrown) {
      if (!wasDown) log.warn(`sinks: the trail cannot be counted: ${reasonOf(thrown)}`);
      wasDown = true;
      await pause(10 * periodMs, signal);
    }
  }
}

interface Measuring {
  readonly parts: TellParts;
  readonly running: Running;
  readonly signal: AbortSignal;
}

/** What was missed is in the next: the numbers are sums. */
async function measureOften(sink: MeasuredSink, { parts, running, signal }: Measuring): Promise<void> {
  let said = '';
  while (!signal.aborted) {
    await pause(sink.metricsMs, signal);
    if (signal.aborted) return;
    try {
      await sink.measure(await measuresOf(parts, running), signal);
      said = '';
    } catch (thrown) {
      const why = reasonOf(thrown);
      if (why !== said && !signal.aborted) parts.log.warn(`sinks: metrics were not taken: ${why}`);
      said = why;
    }
  }
}

async function measuresOf({ requests }: TellParts, { followers, meter }: Running): Promise<Measures> {
  const pending = await requests.countPending().catch(() => undefined);
  return { ...meter.read(), ...(pending === undefined ? {} : { pending }), sinks: followers.map((follower) => follower.measures()) };
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { ref: false, signal }).catch(() => undefined);
}
