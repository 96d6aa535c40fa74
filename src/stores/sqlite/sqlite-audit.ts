/** The trail's storage in SQLite. */

import { foldHashes, leafHash, type TreeHash, tileHeight, tileWidth } from '#audit/merkle';
import { type Attempt, attemptAfter, callOf, reporterOf } from '#kernel/attempt';
import type { AuditDraft, AuditRecord, ChainPoint, Seal } from '#kernel/audit-event';
import { Fault, faultMessage, toFault } from '#kernel/errors';
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { TrailTree } from '#kernel/ports/audit-log';
import type { LocalStore } from '#kernel/ports/store';
import { say } from '#kernel/text/message';
import { storedRecord } from '../stored-record.ts';
import type { Database, Row, Transaction } from './database.ts';
import { isChange } from './schema.ts';

/** Appends inside a transaction that somebody else began. `previous`: the record before it, where it is of the same transaction. */
export type AppendSealed = (tx: Transaction, draft: AuditDraft, previous?: AuditRecord) => AuditRecord;

export function createAppend(seal: Seal, now: () => number): AppendSealed {
  return (tx, draft, previous) => {
    const record = seal(draft, previous ?? headOf(tx), now());
    const body = canonicalJson(record as unknown as JsonObject);
    tx.run('INSERT INTO audit (sequence, name, body) VALUES (?, ?, ?)', record.sequence, record.name, body);
    growTree(tx, record, body);
    return record;
  };
}

export function createSqliteAudit(database: Database, append: AppendSealed, now: () => number): LocalStore['audit'] {
  const write = async <T>(work: (tx: Transaction) => T, commit = database.write): Promise<T> => {
    try {
      return await commit(work);
    } catch (thrown) {
      throw unavailable(thrown);
    }
  };
  return {
    tree: createSqliteTree(database, { append, now }),
    append: (draft) => write((tx) => append(tx, draft)),
    // Many at once, and of what only looked: the disk is waited for beside the thread that answers.
    appendAll: (drafts) =>
      write((tx) => {
        let previous: AuditRecord | undefined;
        for (const draft of drafts) previous = append(tx, draft, previous);
      }, database.writeAside),
    read: (after, limit) =>
      database.read((tx) =>
        tx.all('SELECT sequence, body FROM audit WHERE sequence > ? ORDER BY sequence LIMIT ?', after, limit).map(recordOf),
      ),
    ofRequest: (requestId) =>
      database.read((tx) => tx.all('SELECT sequence, body FROM audit WHERE request_id = ? ORDER BY sequence', requestId).map(recordOf)),
    changesSince: (since, upTo) =>
      database.read((tx) =>
        tx
          .all(
            `SELECT body ->> '$.attributes.agent.id' AS agent, count(*) AS n FROM audit
              WHERE ${isChange} AND body ->> '$.time' >= ? AND sequence <= ? GROUP BY 1`,
            new Date(since).toISOString(),
            upTo?.sequence ?? Number.MAX_SAFE_INTEGER,
          )
          .map((row) => [String(row.agent), Number(row.n)] as const),
      ),
    attempts: () => database.read((tx) => tx.all(unfinished).map(attemptOf)),
    endAttempt: (draft) =>
      write((tx) => {
        const row = tx.get('SELECT unknown, reporter FROM attempts WHERE call = ?', callOf(draft) ?? '');
        if (draft.name.startsWith('tool.') && row?.reporter !== (reporterOf(draft) ?? null)) return false;
        const state = row && (row.unknown === null ? 'open' : 'unknown');
        if (attemptAfter(state, draft) === undefined) return false;
        append(tx, draft);
        return true;
      }),
    head: () => database.read(headOf),
  };
}

const unfinished = `SELECT call, begun.sequence, begun.body, found.sequence AS found, found.body AS found_body
  FROM attempts JOIN audit AS begun ON begun.sequence = attempts.begun LEFT JOIN audit AS found ON found.sequence = attempts.unknown
  ORDER BY attempts.begun LIMIT 1000`;

function attemptOf(row: Row): Attempt {
  const unknown = row.found === null ? {} : { unknown: recordOf({ sequence: row.found, body: row.found_body }) };
  return { call: String(row.call), begun: recordOf(row), ...unknown };
}

/**
 * The anchor, not the newest row: after an end was cut off, the trail goes on from where it had been, and the gap stays visible.
 * @throws {Fault} `store_corrupt` where somebody removed the anchor; making a new one would hide that
 */
function headOf(tx: Transaction): ChainPoint | undefined {
  const row = tx.get('SELECT sequence, hash FROM audit_head');
  if (!row)
    throw new Fault('store_corrupt', 'the trail has lost its head anchor: the store was altered', {
      next: 'run `banksman audit verify` and keep the file',
    });
  const sequence = Number(row.sequence);
  return sequence === 0 ? undefined : { sequence, hash: String(row.hash) };
}

/** A record that names another place than its own is none: readers page by their numbers. */
export function recordOf(row: Row): AuditRecord {
  const sequence = Number(row.sequence);
  const record = storedRecord(String(row.body), sequence);
  return record.sequence === sequence ? record : storedRecord('', sequence);
}

function unavailable(thrown: unknown): Fault {
  const fault = toFault(thrown);
  const next = fault.words.next ?? fault.next;
  return new Fault('audit_unavailable', say`the audit record could not be written: ${faultMessage(fault)}`, {
    audience: fault.audience,
    retryable: fault.retryable,
    cause: fault,
    ...(next === undefined ? {} : { next }),
  });
}

// The trail's Merkle tree in SQLite: a leaf with each record, in its transaction.

const addHash = 'INSERT INTO audit_tree (level, position, hash, time) VALUES (?, ?, ?, ?)';
const selectHashes = 'SELECT hash FROM audit_tree WHERE level = ? AND position >= ? ORDER BY position LIMIT ?';

/** So many records of an older store get their leaves in one transaction. */
const growBatch = 1000;

interface TreeDeps {
  readonly append: (tx: Transaction, draft: AuditDraft) => AuditRecord;
  readonly now: () => number;
}

function createSqliteTree(database: Database, { append, now }: TreeDeps): Required<Omit<TrailTree, 'pin' | 'begin'>> {
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
function growTree(tx: Transaction, record: AuditRecord, body: string): void {
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
