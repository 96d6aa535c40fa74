/** One-time codes in SQLite. */
import { requestIdPattern } from '#kernel/approval/request';
import type { CodeStore, StoredCode } from '#kernel/ports/code-store';
import type { Database, Transaction } from './database.ts';

export function createSqliteCodes(database: Database, now: () => number): CodeStore {
  return {
    put: (requestId, { salt, hash }, lifeMs) =>
      database.write((tx) => {
        tx.run('DELETE FROM one_time_codes WHERE expires_at <= ? OR request_id = ?', now() - lifeMs, requestId);
        insert(tx, requestId, { salt, hash, wrong: 0 }, now() + lifeMs);
      }),
    take: async (requestId) => {
      if (!requestIdPattern.test(requestId)) return undefined;
      return database.write((tx) => {
        const row = tx.get('SELECT salt, hash, wrong, expires_at FROM one_time_codes WHERE request_id = ?', requestId);
        if (row === undefined) return undefined;
        tx.run('DELETE FROM one_time_codes WHERE request_id = ?', requestId);
        const code = { salt: String(row.salt), hash: String(row.hash), wrong: Number(row.wrong) };
        return { code, leftMs: Number(row.expires_at) - now() };
      });
    },
    putBack: (requestId, code, leftMs) => database.write((tx) => insert(tx, requestId, code, now() + leftMs)),
  };
}

/** Where there is one already, that stays. */
function insert(tx: Transaction, requestId: string, { salt, hash, wrong }: StoredCode, expiresAt: number): void {
  tx.run(
    'INSERT INTO one_time_codes (request_id, salt, hash, wrong, expires_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (request_id) DO NOTHING',
    ...[requestId, salt, hash, wrong, expiresAt],
  );
}
