/** The trail's storage in SQLite. */

import { type Attempt, attemptAfter, callOf, reporterOf } from '#kernel/attempt';
import type { AuditDraft, AuditRecord, ChainPoint, Seal } from '#kernel/audit-event';
import { Fault, faultMessage, toFault } from '#kernel/errors';
import { canonicalJson, type JsonObject } from '#kernel/json';
import type { LocalStore } from '#kernel/ports/store';
import { say } from '#kernel/text/message';
import { storedRecord } from '../stored-record.ts';
import type { Database, Row, Transaction } from './database.ts';
import { isChange } from './schema.ts';
import { createSqliteTree, growTree } from './sqlite-tree.ts';

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
    tree: createSqliteTree(database, { headOf, append, now }),
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
