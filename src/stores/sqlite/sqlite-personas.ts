/** The account of the agents' own sandboxes in SQLite. */
import { randomUUID } from 'node:crypto';
import type { PersonaAccount, PersonaFile, PersonaLedger, PersonaLimits, Reservation } from '#kernel/ports/store';
import type { Database, Row, Transaction } from './database.ts';

/** A use is written down again after this, in ms: reading a file must not cost a commit each time. */
const useStepMs = 10 * 60_000;

/** A path counts its largest size: what is there, or what somebody is about to write. */
const sizes = `SELECT path, max(bytes) AS bytes FROM (
  SELECT path, bytes FROM persona_files WHERE agent_id = ?1 UNION ALL SELECT path, bytes FROM persona_reservations WHERE agent_id = ?1
) GROUP BY path`;

export function createSqlitePersonas(database: Database, now: () => number): PersonaLedger {
  const used = async (agentId: string): Promise<PersonaAccount | undefined> => {
    const account = await database.read((tx) => accountOf(tx, agentId));
    if (account === undefined || account.lastUsed > now() - useStepMs) return account;
    return database.write((tx) => {
      tx.run('UPDATE personas SET last_used = ? WHERE agent_id = ?', now(), agentId);
      return accountOf(tx, agentId);
    });
  };
  return {
    find: used,
    open: async (agentId, directory) =>
      (await used(agentId)) ??
      database.write((tx) => {
        tx.run(
          'INSERT INTO personas (agent_id, directory, last_used) VALUES (?, ?, ?) ON CONFLICT (agent_id) DO NOTHING',
          agentId,
          directory,
          now(),
        );
        return requireAccount(accountOf(tx, agentId));
      }),
    reserve: (account, file, limits) => database.write((tx) => reserve(tx, { account, file, limits, now: now() })),
    settle: (id, written) => database.write((tx) => settle(tx, id, written)),
    recount: ({ agentId, revision }, files, staleMs) =>
      database.write((tx) => recount(tx, { agentId, revision, files, staleBefore: now() - staleMs })),
    list: () =>
      database.read((tx) => allAgents(tx, 'SELECT agent_id FROM personas ORDER BY agent_id').toSorted((a, b) => b.bytes - a.bytes)),
    takeUnused: (before) =>
      database.write((tx) => {
        const unused = allAgents(tx, 'SELECT agent_id FROM personas WHERE last_used < ? ORDER BY agent_id', before);
        for (const { agentId } of unused) tx.run('DELETE FROM personas WHERE agent_id = ?', agentId);
        return unused;
      }),
  };
}

function allAgents(tx: Transaction, sql: string, ...values: number[]): readonly PersonaAccount[] {
  return tx.all(sql, ...values).flatMap((row) => accountOf(tx, String(row.agent_id)) ?? []);
}

function accountOf(tx: Transaction, agentId: string): PersonaAccount | undefined {
  const row = tx.get('SELECT agent_id, directory, last_used, revision FROM personas WHERE agent_id = ?', agentId);
  return row === undefined ? undefined : { ...identityOf(row), ...totals(tx, agentId) };
}

function identityOf(row: Row): Omit<PersonaAccount, 'bytes' | 'files'> {
  return {
    agentId: String(row.agent_id),
    directory: String(row.directory),
    lastUsed: Number(row.last_used),
    revision: Number(row.revision),
  };
}

function totals(tx: Transaction, agentId: string): { readonly bytes: number; readonly files: number } {
  const row = tx.get(`SELECT count(*) AS files, coalesce(sum(bytes), 0) AS bytes FROM (${sizes})`, agentId);
  return { bytes: Number(row?.bytes), files: Number(row?.files) };
}

interface ReserveStep {
  readonly account: Pick<PersonaAccount, 'agentId' | 'directory'>;
  readonly file: PersonaFile;
  readonly limits: PersonaLimits;
  readonly now: number;
}

function reserve(tx: Transaction, { account: { agentId, directory }, file, limits, now }: ReserveStep): Reservation {
  const account = accountOf(tx, agentId);
  if (account?.directory !== directory) return { ok: false, why: 'gone', account };
  const before = tx.get(`SELECT bytes FROM (${sizes}) WHERE path = ?2`, agentId, file.path)?.bytes;
  const bytes = account.bytes + Math.max(0, file.bytes - Number(before ?? 0));
  const files = account.files + (before === undefined ? 1 : 0);
  // A write that makes the account no larger is let through even where it is over the limit: it may be the way back.
  const grows = bytes > account.bytes || files > account.files;
  if (grows && (bytes > limits.bytes || files > limits.files)) return { ok: false, why: 'full', account };
  const id = randomUUID();
  tx.run(
    'INSERT INTO persona_reservations (id, agent_id, path, bytes, made_at) VALUES (?, ?, ?, ?, ?)',
    id,
    agentId,
    file.path,
    file.bytes,
    now,
  );
  touch(tx, agentId, now);
  return { ok: true, id };
}

/** A reservation of an account that was cleaned meanwhile is gone with it. */
function settle(tx: Transaction, id: string, written: boolean): void {
  const row = tx.get('SELECT agent_id, path, bytes, made_at FROM persona_reservations WHERE id = ?', id);
  if (row === undefined) return;
  tx.run('DELETE FROM persona_reservations WHERE id = ?', id);
  if (written) {
    tx.run(
      'INSERT INTO persona_files (agent_id, path, bytes) VALUES (?, ?, ?) ON CONFLICT (agent_id, path) DO UPDATE SET bytes = excluded.bytes',
      String(row.agent_id),
      String(row.path),
      Number(row.bytes),
    );
  }
  touch(tx, String(row.agent_id), Number(row.made_at));
}

interface RecountStep {
  readonly agentId: string;
  readonly revision: number;
  readonly files: readonly PersonaFile[];
  readonly staleBefore: number;
}

function recount(tx: Transaction, { agentId, revision, files, staleBefore }: RecountStep): boolean {
  if (accountOf(tx, agentId)?.revision !== revision) return false;
  if (tx.get('SELECT 1 FROM persona_reservations WHERE agent_id = ? AND made_at > ?', agentId, staleBefore)) return false;
  tx.run('DELETE FROM persona_reservations WHERE agent_id = ?', agentId);
  tx.run('DELETE FROM persona_files WHERE agent_id = ?', agentId);
  for (const { path, bytes } of files) tx.run('INSERT INTO persona_files (agent_id, path, bytes) VALUES (?, ?, ?)', agentId, path, bytes);
  tx.run('UPDATE personas SET revision = revision + 1 WHERE agent_id = ?', agentId);
  return true;
}

function touch(tx: Transaction, agentId: string, at: number): void {
  tx.run('UPDATE personas SET revision = revision + 1, last_used = max(last_used, ?) WHERE agent_id = ?', at, agentId);
}

function requireAccount(account: PersonaAccount | undefined): PersonaAccount {
  if (account === undefined) throw new Error('the account that was just made is not there');
  return account;
}
