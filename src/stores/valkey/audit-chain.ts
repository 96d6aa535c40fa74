/** One writer's chain in the shared log: seals in order, one write at a time. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { genesisHash, hashOf } from '#audit/seal';
import type { AuditDraft, AuditRecord } from '#kernel/audit-event';
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { ChainAnchor } from '#kernel/ports/chained-audit-log';
import { isReply } from './valkey-faults.ts';

/** A sealed record as it goes into the log's sorted set. */
export interface LogEntry {
  /** Time in ms; the fraction keeps this writer's records in sequence within a millisecond. */
  readonly score: number;
  readonly member: string;
  readonly record: AuditRecord;
}

export interface AuditChain {
  /** Seals and writes. What is asked for while a write is under way goes together in the next. */
  append(draft: AuditDraft): Promise<AuditRecord>;
  /** For a transaction that holds the record: `write` says whether it came about. */
  within(draft: AuditDraft, write: (entry: LogEntry) => Promise<boolean>): Promise<AuditRecord | undefined>;
  /** The newest record of each chain this writer began, as its memory has it. */
  anchors(): readonly ChainAnchor[];
}

export interface ChainOptions {
  readonly now: () => number;
  /** Adds the entries in one command. */
  readonly write: (entries: readonly LogEntry[]) => Promise<void>;
}

const largestGroup = 200;

interface Waiting {
  readonly draft: AuditDraft;
  readonly resolve: (record: AuditRecord) => void;
  readonly reject: (thrown: unknown) => void;
}

// oxlint-disable-next-line max-lines-per-function -- two lines over: one closure over the writer and its queue (issue #4 splits it)
export function createAuditChain(options: ChainOptions): AuditChain {
  let writer = createWriter();
  let turn: Promise<unknown> = Promise.resolve();
  const ended: ChainAnchor[] = [];
  const waiting: Waiting[] = [];

  /** One at a time, so that each knows what it follows. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const next = turn.then(work);
    turn = next.catch(() => undefined);
    return next;
  };
  const commit = async (entries: readonly LogEntry[], write: () => Promise<boolean>): Promise<boolean> => {
    try {
      const written = await write();
      if (written) writer.advance(entries);
      return written;
    } catch (thrown) {
      // It may have been written. A successor would then stand beside it, so this writer begins a chain anew.
      if (!isReply(thrown) && !isReply((thrown as Error).cause)) {
        ended.push(...writer.anchors());
        writer = createWriter();
      }
      throw thrown;
    }
  };
  const flush = async (): Promise<void> => {
    const group = waiting.splice(0, largestGroup);
    const { entries, writers } = sealAll(group, writer, options.now());
    if (entries.length === 0) return;
    try {
      await commit(entries, async () => {
        await options.write(entries);
        return true;
      });
      for (const [index, waiter] of writers.entries()) waiter.resolve((entries[index] as LogEntry).record);
    } catch (thrown) {
      for (const waiter of writers) waiter.reject(thrown);
    }
  };
  return {
    append: (draft) =>
      new Promise((resolve, reject) => {
        waiting.push({ draft, resolve, reject });
        void inTurn(flush);
      }),
    within: (draft, write) =>
      inTurn(async () => {
        const [entry] = writer.seal([draft], options.now());
        if (!entry) return undefined;
        return (await commit([entry], () => write(entry))) ? entry.record : undefined;
      }),
    anchors: () => [...ended, ...writer.anchors()],
  };
}

/** A draft without a canonical form is refused alone. */
function sealAll(group: readonly Waiting[], writer: Writer, now: number) {
  const fit = group.filter((waiter) => {
    try {
      canonicalJson(waiter.draft as unknown as JsonObject);
      return true;
    } catch (thrown) {
      waiter.reject(thrown);
      return false;
    }
  });
  const drafts = fit.map((waiter) => waiter.draft);
  return { entries: writer.seal(drafts, now), writers: fit };
}

interface Writer {
  seal(drafts: readonly AuditDraft[], now: number): readonly LogEntry[];
  advance(entries: readonly LogEntry[]): void;
  /** None before the first record. */
  anchors(): readonly ChainAnchor[];
}

function createWriter(): Writer {
  const chain = `${hostname()}/${process.pid}/${randomBytes(6).toString('hex')}`;
  let last: LogEntry | undefined;
  return {
    seal: (drafts, now) => {
      const entries: LogEntry[] = [];
      for (const draft of drafts) entries.push(sealAfter(entries.at(-1) ?? last, draft, chain, now));
      return entries;
    },
    advance: (entries) => {
      last = entries.at(-1) ?? last;
    },
    anchors: () => (last ? [{ chain, sequence: last.record.sequence, hash: last.record.hash, time: last.record.time }] : []),
  };
}

function sealAfter(last: LogEntry | undefined, draft: AuditDraft, chain: string, now: number): LogEntry {
  const open = {
    version: 1,
    chain,
    sequence: (last?.record.sequence ?? 0) + 1,
    time: new Date(now).toISOString(),
    name: draft.name,
    attributes: draft.attributes,
    previous: last?.record.hash ?? genesisHash,
    ...(last ? { previousTime: last.record.time } : {}),
  } as const;
  const record: AuditRecord = { ...open, hash: hashOf(open) };
  const score = Math.max(now, (last?.score ?? 0) + 0.001);
  return { score, member: canonicalJson(record as unknown as JsonObject), record };
}
