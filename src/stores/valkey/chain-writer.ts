/** Seals the records of one chain in the shared log. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { genesisHash, hashOf } from '#audit/seal';
import type { AuditDraft, AuditRecord } from '#kernel/audit-event';
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { ChainAnchor } from '#kernel/ports/chained-audit-log';

/** A sealed record as it goes into the log's sorted set. */
export interface LogEntry {
  /** Time in ms; the fraction keeps this writer's records in sequence within a millisecond. */
  readonly score: number;
  readonly member: string;
  readonly record: AuditRecord;
}

export interface ChainWriter {
  /** Changes nothing: what is sealed counts once it is said to be written. */
  seal(drafts: readonly AuditDraft[], now: number): readonly LogEntry[];
  advance(entries: readonly LogEntry[]): void;
  /** Its newest record; none before the first. */
  anchors(): readonly ChainAnchor[];
}

export function createChainWriter(): ChainWriter {
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
