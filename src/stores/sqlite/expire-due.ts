/** Writes down what has lapsed. Housekeeping only: whoever reads or changes a request compares the time itself. */

import { auditAttributes } from '../request-audit.ts';
import type { Transaction } from './database.ts';
import { recordOfRow } from './request-rows.ts';
import type { AppendSealed } from './sqlite-audit.ts';

/** At most this many at once, so that one caller does not pay for everybody's past. */
const batch = 100;

export function hasDue(tx: Transaction, now: number): boolean {
  return tx.get('SELECT 1 FROM requests WHERE due_at <= ? LIMIT 1', now) !== undefined;
}

/** Marks lapsed requests (or the given one) as expired, each with its audit record. */
export function expireDue(tx: Transaction, now: number, append: AppendSealed, id?: string): void {
  const rows =
    id === undefined
      ? tx.all('SELECT * FROM requests WHERE due_at <= ? ORDER BY due_at LIMIT ?', now, batch)
      : tx.all('SELECT * FROM requests WHERE due_at <= ? AND id = ?', now, id);
  for (const row of rows) {
    tx.run("UPDATE requests SET status = 'expired', due_at = NULL WHERE seq = ?", Number(row.seq));
    const record = recordOfRow(row, now);
    const attributes = record ? auditAttributes(record) : { request_id: String(row.id) };
    append(tx, { name: 'approval.expired', attributes: { ...attributes, was: String(row.status) } });
  }
}
