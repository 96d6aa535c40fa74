/** One process's records in the shared log: sealed in order, one write at a time. */

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { fitRecord } from '#audit/fit-record';
import { genesisHash, hashOf } from '#audit/seal';
import type { AuditDraft, AuditRecord } from '#kernel/audit-event';
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { ChainAnchor } from '#kernel/ports/audit-log';
import type { TrailEntry } from './read-trail.ts';
import { isReply } from './valkey-faults.ts';

export interface AuditChain {
  /** Seals and writes. What is asked for while a write is under way goes together in the next. */
  append(draft: AuditDraft): Promise<AuditRecord>;
  /** All or none, in one command. Once it has failed, the same drafts are each written once, however often they are tried again. */
  appendGroup(drafts: readonly AuditDraft[]): Promise<void>;
  /** For a transaction that holds the record: `write` says whether it came about. */
  within(draft: AuditDraft, write: (entry: LogEntry) => Promise<boolean>): Promise<AuditRecord | undefined>;
  /** The newest record of each chain this process began, as its memory has it. */
  anchors(): readonly ChainAnchor[];
}

export interface ChainOptions {
  readonly now: () => number;
  /** Adds the entries in one command. Entries that are there already change nothing: each is a member of a set. */
  readonly write: (entries: readonly LogEntry[]) => Promise<void>;
}

const largestGroup = 200;

interface Waiting {
  readonly draft: AuditDraft;
  readonly resolve: (record: AuditRecord) => void;
  readonly reject: (thrown: unknown) => void;
}

export function createAuditChain(options: ChainOptions): AuditChain {
  const writers = createWriters();
  const inTurn = createTurns();
  const waiting: Waiting[] = [];
  const flush = async (): Promise<void> => {
    const group = waiting.splice(0, largestGroup);
    const { entries, waiters } = sealAll(group, writers.current(), options.now());
    if (entries.length === 0) return;
    try {
      await writers.commit(entries, async () => {
        await options.write(entries);
        return true;
      });
      for (const [index, waiter] of waiters.entries()) waiter.resolve((entries[index] as LogEntry).record);
    } catch (thrown) {
      for (const waiter of waiters) waiter.reject(thrown);
    }
  };
  const group = createGroupAppender(options, writers);
  return {
    append: (draft) =>
      new Promise((resolve, reject) => {
        waiting.push({ draft, resolve, reject });
        void inTurn(flush);
      }),
    appendGroup: (drafts) => inTurn(() => group(drafts)),
    within: (draft, write) =>
      inTurn(async () => {
        const [entry] = writers.current().seal([draft], options.now());
        if (!entry) return undefined;
        return (await writers.commit([entry], () => write(entry))) ? entry.record : undefined;
      }),
    anchors: () => writers.anchors(),
  };
}

/** One at a time, so that each knows what it follows. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let turn: Promise<unknown> = Promise.resolve();
  return (work) => {
    const next = turn.then(work);
    turn = next.catch(() => undefined);
    return next;
  };
}

interface Writers {
  current(): ChainWriter;
  /** Runs `write` for what the current one sealed; what it follows from then on depends on how that ends. */
  commit(entries: readonly LogEntry[], write: () => Promise<boolean>): Promise<boolean>;
  /** What an ended one sealed has been written after all. */
  confirm(writer: ChainWriter, entries: readonly LogEntry[]): void;
  anchors(): readonly ChainAnchor[];
}

function createWriters(): Writers {
  let current = createChainWriter();
  /** Those with records to remember. */
  const ended = new Set<ChainWriter>();
  return {
    current: () => current,
    commit: async (entries, write) => {
      try {
        const written = await write();
        if (written) current.advance(entries);
        return written;
      } catch (thrown) {
        // It may have been written. A successor would then stand beside it, so a chain begins anew.
        if (!wasRefused(thrown)) {
          if (current.anchors().length > 0) ended.add(current);
          current = createChainWriter();
        }
        throw thrown;
      }
    },
    confirm: (writer, entries) => {
      writer.advance(entries);
      ended.add(writer);
    },
    anchors: () => [...ended, current].flatMap((writer) => writer.anchors()),
  };
}

/** The server said no: nothing has been done. Anything else leaves open whether it was. */
function wasRefused(thrown: unknown): boolean {
  return isReply(thrown) || isReply((thrown as Error).cause);
}

/** What was sent and never answered. Its writer has ended with it. */
interface Doubt {
  readonly entries: readonly LogEntry[];
  readonly writer: ChainWriter;
}

/**
 * INVARIANT: a draft that may have been written is never sealed again. The very same entries are sent once more, all that were sent
 * together, so that the chain they end has no gap; a member that the set has is not added twice.
 */
function createGroupAppender({ now, write }: ChainOptions, writers: Writers): (drafts: readonly AuditDraft[]) => Promise<void> {
  const doubts = new WeakMap<AuditDraft, Doubt>();
  return async (drafts) => {
    const again = new Set(drafts.map((draft) => doubts.get(draft)).filter((doubt) => doubt !== undefined));
    const fresh = drafts.filter((draft) => !doubts.has(draft));
    const writer = writers.current();
    const entries = writer.seal(fresh, now());
    const all = [...[...again].flatMap((doubt) => doubt.entries), ...entries];
    if (all.length === 0) return;
    try {
      await writers.commit(entries, async () => {
        await write(all);
        return true;
      });
    } catch (thrown) {
      if (!wasRefused(thrown)) for (const draft of fresh) doubts.set(draft, { entries, writer });
      throw thrown;
    }
    for (const doubt of again) writers.confirm(doubt.writer, doubt.entries);
    for (const draft of drafts) doubts.delete(draft);
  };
}

/** A draft without a canonical form is refused alone. */
function sealAll(group: readonly Waiting[], writer: ChainWriter, now: number) {
  const waiters = group.filter((waiter) => {
    try {
      canonicalJson(waiter.draft as unknown as JsonObject);
      return true;
    } catch (thrown) {
      waiter.reject(thrown);
      return false;
    }
  });
  return {
    entries: writer.seal(
      waiters.map(({ draft }) => draft),
      now,
    ),
    waiters,
  };
}

// Seals the records of one chain in the shared log.

/** A sealed record as it goes into the log's sorted set. */
export interface LogEntry extends TrailEntry {
  readonly record: AuditRecord;
}

interface ChainWriter {
  /** Changes nothing: what is sealed counts once it is said to be written. */
  seal(drafts: readonly AuditDraft[], now: number): readonly LogEntry[];
  advance(entries: readonly LogEntry[]): void;
  /** Its newest record; none before the first. */
  anchors(): readonly ChainAnchor[];
}

function createChainWriter(): ChainWriter {
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
    attributes: fitRecord(draft).attributes,
    previous: last?.record.hash ?? genesisHash,
    ...(last ? { previousTime: last.record.time } : {}),
  } as const;
  const record: AuditRecord = { ...open, hash: hashOf(open) };
  const score = Math.max(now, (last?.score ?? 0) + 0.001);
  return { score, member: canonicalJson(record as unknown as JsonObject), record };
}
