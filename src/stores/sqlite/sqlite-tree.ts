/** The trail's Merkle tree in SQLite: a leaf with each record, in its transaction. */
import { foldHashes, leafHash, type TreeHash, tileHeight, tileWidth } from '#audit/merkle';
import type { AuditDraft, AuditRecord, ChainPoint } from '#kernel/audit-event';
import { Fault } from '#kernel/errors';
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { TrailTree } from '#kernel/ports/audit-log';
import { storedRecord } from '../stored-record.ts';
import type { Database, Transaction } from './database.ts';

const addHash = 'INSERT INTO audit_tree (level, position, hash, time) VALUES (?, ?, ?, ?)';
const selectHashes = 'SELECT hash FROM audit_tree WHERE level = ? AND position >= ? ORDER BY position LIMIT ?';

/** So many records of an older store get their leaves in one transaction. */
const growBatch = 1000;

interface TreeDeps {
  readonly headOf: (tx: Transaction) => ChainPoint | undefined;
  readonly append: (tx: Transaction, draft: AuditDraft) => AuditRecord;
  readonly now: () => number;
}

export function createSqliteTree(database: Database, { headOf, append, now }: TreeDeps): Required<Omit<TrailTree, 'pin' | 'begin'>> {
  return {
    state: () =>
      database.read((tx) => {
        const head = headOf(tx);
        return { ...logOf(tx), head, end: head?.sequence ?? 0, kept: 0, now: now() };
      }),
    hashes: (level, from, count) =>
      database.read((tx) => tx.all(selectHashes, level, from, count).map(({ hash }) => Buffer.from(hash as Uint8Array).toString('hex'))),
    records: (from, count) =>
      database.read((tx) => {
        const start = logOf(tx).first + from;
        const rows = tx.all('SELECT sequence, body FROM audit WHERE sequence >= ? AND sequence < ?', start, start + count);
        const found = new Map(rows.map(({ sequence, body }) => [Number(sequence), storedRecord(String(body), Number(sequence))]));
        return Array.from({ length: count }, (_, at) => found.get(start + at));
      }),
    find: (hash) =>
      database.read((tx) => {
        const found = tx.get(
          "SELECT sequence FROM audit WHERE instr(body, ?) AND CASE WHEN json_valid(body) THEN body ->> 'hash' END = ?",
          hash,
          hash,
        )?.sequence;
        return typeof found === 'number' ? found - logOf(tx).first : undefined;
      }),
    newestOf: (count) =>
      database.read((tx) => {
        const newest = tx.get('SELECT max(time) AS time FROM audit_tree WHERE level = 0 AND position < ?', count)?.time;
        return typeof newest === 'number' ? newest : undefined;
      }),
    announceKey: async (key) => {
      if (await database.read((tx) => keysOf(tx).includes(key))) return;
      await database.write((tx) => {
        const keys = keysOf(tx);
        if (keys.includes(key)) return;
        append(tx, { name: 'audit.key', attributes: { key, earlier: keys } });
        tx.run('UPDATE audit_log SET key = ?', JSON.stringify([...keys, key]));
      });
    },
  };
}

/**
 * Adds the leaf of the newest record, and of those before it that have none yet: of a store that is older than its tree, or that an older
 * version wrote to meanwhile.
 * @param body the record's canonical JSON
 *
 * A tree that does not fit the trail (somebody cut off the one or the other) is left as it is: it is the evidence, and `verify` finds it.
 */
export function growTree(tx: Transaction, record: AuditRecord, body: string): void {
  const { first, size } = logOf(tx);
  const due = record.sequence - first;
  if (size < due && !growTo(tx, { first, from: size, end: due })) return;
  if (size <= due) addLeaf(tx, due, { time: record.time, body });
}

/** Gives the records of an older store their leaves, some at a time, so that nobody waits long. */
export async function growWholeTree(database: Database): Promise<void> {
  const leftIn = (tx: Transaction): { readonly first: number; readonly from: number; readonly end: number } => {
    const { first, size } = logOf(tx);
    const last = Number(tx.get('SELECT coalesce(max(sequence), 0) AS last FROM audit')?.last);
    return { first, from: size, end: Math.min(size + growBatch, last - first + 1) };
  };
  const isBehind = (tx: Transaction): boolean => leftIn(tx).from < leftIn(tx).end;
  while (await database.read(isBehind)) if (!(await database.write((tx) => growTo(tx, leftIn(tx))))) return;
}

/** Makes the leaves `from` to `end` (exclusive) of the records that are there. False where one of them is missing or is none. */
function growTo(tx: Transaction, { first, from, end }: { readonly first: number; readonly from: number; readonly end: number }): boolean {
  const rows = tx.all('SELECT sequence, body FROM audit WHERE sequence >= ? AND sequence < ? ORDER BY sequence', first + from, first + end);
  for (const [index, row] of rows.entries()) {
    const record = storedRecord(String(row.body), Number(row.sequence));
    if (record.hash === '' || record.sequence !== first + from + index) return false;
    addLeaf(tx, from + index, { time: record.time, body: canonicalJson(record as unknown as JsonObject) });
  }
  return rows.length >= end - from;
}

function addLeaf(tx: Transaction, position: number, { time, body }: { readonly time: string; readonly body: string }): void {
  const at = Date.parse(time);
  tx.run(addHash, 0, position, leafHash(body), Number.isNaN(at) ? null : at);
  if ((position + 1) % tileWidth === 0) addAbove(tx, tileHeight, (position + 1) / tileWidth - 1);
}

/** The hash above the 256 of the level below that end with the newest. */
function addAbove(tx: Transaction, level: number, position: number): void {
  const below = tx
    .all(selectHashes, level - tileHeight, position * tileWidth, tileWidth)
    .map(({ hash }) => Buffer.from(hash as Uint8Array));
  if (below.length !== tileWidth) return;
  const above: TreeHash = foldHashes(below);
  tx.run(addHash, level, position, above, null);
  if ((position + 1) % tileWidth === 0) addAbove(tx, level + tileHeight, (position + 1) / tileWidth - 1);
}

function logOf(tx: Transaction): { readonly origin: string; readonly first: number; readonly size: number } {
  const row = tx.get(
    'SELECT origin, first, (SELECT coalesce(max(position), -1) + 1 FROM audit_tree WHERE level = 0) AS size FROM audit_log',
  );
  if (row) return { origin: String(row.origin), first: Number(row.first), size: Number(row.size) };
  throw new Fault('store_corrupt', 'the trail has lost the mark of its log: the store was altered', {
    next: 'run `banksman audit verify` and keep the file',
  });
}

/** All that the trail has named. */
function keysOf(tx: Transaction): readonly string[] {
  const text = tx.get('SELECT key FROM audit_log')?.key;
  const keys: unknown = typeof text === 'string' ? JSON.parse(text) : [];
  return Array.isArray(keys) ? keys.map(String) : [];
}
