/** The trail of a file that SQLite calls damaged, for verifying only: what can still be read, record by record. Writes nothing. */
import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { AuditRecord, ChainPoint } from '#kernel/audit-event';
import type { AuditLog } from '#kernel/ports/audit-log';
import { storedRecord } from '../stored-record.ts';
import { findDamage, loadDriver } from './connect.ts';
import { recordOf } from './sqlite-audit.ts';
import { corruptFault, storeFault } from './sqlite-faults.ts';

export interface DamagedTrail {
  readonly audit: Pick<AuditLog, 'read' | 'head'>;
  /** What SQLite says of the file; undefined where it finds nothing. */
  readonly damage: string | undefined;
  close(): void;
}

const selectPage = 'SELECT sequence, body FROM audit WHERE sequence > ? ORDER BY sequence LIMIT ?';
const selectOne = 'SELECT sequence, body FROM audit WHERE sequence = ?';

/** @throws {Fault} `store_corrupt` where not even the end of the trail can be found; `store_unavailable` for a file that is not there */
export async function openDamagedTrail(file: string): Promise<DamagedTrail> {
  const { DatabaseSync } = await loadDriver();
  // SQLite's own words for it would not name the file.
  if (!existsSync(file)) throw storeFault(new Error('there is no such file'), file);
  let connection: DatabaseSync | undefined;
  try {
    const opened = new DatabaseSync(file, { readOnly: true, timeout: 5_000 });
    connection = opened;
    // So that a damaged definition (of a trigger, an index) does not hide the tables; Node before 24.14 does not let it be.
    if ('enableDefensive' in opened) opened.enableDefensive(false);
    opened.exec('PRAGMA writable_schema = ON');
    const head = headOf(opened, file);
    return {
      audit: { head: async () => head, read: async (after, limit) => readAfter(opened, after, { limit, last: head?.sequence ?? 0 }) },
      damage: findDamage(opened),
      close: () => opened.close(),
    };
  } catch (thrown) {
    connection?.close();
    throw storeFault(thrown, file);
  }
}

function headOf(connection: DatabaseSync, file: string): ChainPoint | undefined {
  const known = connection.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'audit_head'").get();
  if (known?.['n'] !== 1) throw corruptFault(file, 'its tables are not found');
  const row = connection.prepare('SELECT sequence, hash FROM audit_head').get();
  const sequence = Number(row?.['sequence'] ?? 0);
  return sequence === 0 ? undefined : { sequence, hash: String(row?.['hash']) };
}

/** A page of records at once; where that fails, one by one, and those that cannot be read stand there as such. */
function readAfter(
  connection: DatabaseSync,
  after: number,
  { limit, last }: { readonly limit: number; readonly last: number },
): readonly AuditRecord[] {
  try {
    return connection.prepare(selectPage).all(after, limit).map(recordOf);
  } catch {
    const places = Array.from({ length: Math.max(0, Math.min(limit, last - after)) }, (_, index) => after + 1 + index);
    return places.map((sequence) => readOne(connection, sequence)).filter((record) => record !== undefined);
  }
}

/** undefined: there is none, which the chain then misses. */
function readOne(connection: DatabaseSync, sequence: number): AuditRecord | undefined {
  try {
    const row = connection.prepare(selectOne).get(sequence);
    return row && recordOf(row);
  } catch {
    return storedRecord('', sequence);
  }
}
