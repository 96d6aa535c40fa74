/** Holds a trail of several chains against the leaves of its tree: each record has its leaf, and each leaf that is not old has its record. */
import type { AuditRecord, Flaw } from '#kernel/audit-event';
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { LeafReading, TreeLeaf } from '#kernel/ports/audit-log';
import { leafHash } from './merkle.ts';

/** Clocks of the store's users, and their connections' access rules, may differ by this much, in ms. */
const slackMs = 120_000;
/** More than so many that lack their record are no accident. */
const mostLone = 100_000;

export interface LeafMatch {
  /** In any order; fastest in the order of their times. */
  see(record: AuditRecord): Promise<void>;
  /** After the last record. */
  end(): Promise<LeafLosses>;
}

export interface LeafLosses {
  /** Records without a leaf. */
  readonly leafless: readonly Flaw[];
  /** Leaves without a record; a second leaf of one record is among them. By their hashes. */
  readonly lone: ReadonlyMap<string, TreeLeaf>;
}

/**
 * Both are read side by side, so that only what lies between them is held.
 * @param tree undefined: there is none, and nothing lacks in it
 * @param keptSince records from before this moment (ms since the epoch) may have left
 */
export function createLeafMatch(tree: LeafReading | undefined, keptSince: number): LeafMatch {
  const nothing = { leafless: [], lone: new Map<string, TreeLeaf>() };
  return tree === undefined ? { see: async () => undefined, end: async () => nothing } : matchOf(tree, keptSince);
}

function matchOf({ since, leaves }: LeafReading, keptSince: number): LeafMatch {
  const lone = new Map<string, TreeLeaf>();
  const leafless = new Map<string, Flaw>();
  const pages = leaves[Symbol.asyncIterator]();
  let readUpTo = Number.NEGATIVE_INFINITY;
  let isAtEnd = false;
  /** All leaves up to those that are clearly later. */
  const readUntil = async (time: number): Promise<void> => {
    for (;;) {
      if (readUpTo >= time || isAtEnd) return;
      const { value, done } = await pages.next();
      const page: readonly TreeLeaf[] = done === true ? [] : value;
      for (const leaf of page) take(leaf);
      isAtEnd = page.length === 0;
    }
  };
  const take = (leaf: TreeLeaf): void => {
    readUpTo = Math.max(readUpTo, leaf.time);
    if (!leafless.delete(leaf.hash) && leaf.time >= keptSince && lone.size < mostLone) lone.set(leaf.hash, leaf);
  };
  return {
    see: async (record) => {
      const time = Date.parse(record.time);
      const hash = hashOfLeaf(record);
      if (hash === '' || Number.isNaN(time)) return;
      await readUntil(time + slackMs);
      if (!lone.delete(hash) && time >= Math.max(since, keptSince) + slackMs) leafless.set(hash, withoutLeaf(record));
    },
    end: async () => {
      await readUntil(Number.POSITIVE_INFINITY);
      // A record that was written behind that end while others were read has its leaf there, too.
      isAtEnd = leafless.size === 0;
      await readUntil(Number.POSITIVE_INFINITY);
      for (const [hash, { time }] of lone) if (time < keptSince + slackMs) lone.delete(hash);
      return { leafless: [...leafless.values()], lone };
    },
  };
}

/** Hex; empty for what is no record, or has no canonical form: the chain says so. */
export function hashOfLeaf(record: AuditRecord): string {
  try {
    return record.hash === '' ? '' : leafHash(canonicalJson(record as unknown as JsonObject)).toString('hex');
  } catch {
    return '';
  }
}

function withoutLeaf({ sequence, chain = '' }: AuditRecord): Flaw {
  const message = `chain \`${chain}\`: record ${sequence} is not in the tree: it was put in beside it, or written under access rules of an earlier version`;
  return { broken: sequence, message };
}

/** What a leaf without its record says. */
export function withoutRecord(lone: ReadonlyMap<string, TreeLeaf>): Flaw {
  const times = [...lone.values()].map(({ time }) => time);
  const oldest = new Date(times.reduce((one, other) => Math.min(one, other))).toISOString();
  const message =
    lone.size === 1
      ? `a record of ${oldest} whose hash is in the tree is gone: it was removed or rewritten`
      : `${lone.size === mostLone ? 'more than ' : ''}${lone.size} records whose hashes are in the tree are gone, the oldest of ${oldest}: they were removed or rewritten`;
  return { broken: 0, message };
}
