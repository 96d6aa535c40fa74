/** The embedded store: one SQLite file, shared by every window and process of one user. */
import { randomBytes } from 'node:crypto';
import type { Seal } from '#kernel/audit-event';
import type { Clock } from '#kernel/ports/clock';
import type { LocalStore } from '#kernel/ports/store';
import { createChangeFeed } from './change-feed.ts';
import { type Database, openDatabase } from './database.ts';
import { expireDue, hasDue } from './expire-due.ts';
import { type AppendSealed, createAppend, createSqliteAudit } from './sqlite-audit.ts';
import { createSqlitePersonas } from './sqlite-personas.ts';
import { createSqliteRequests } from './sqlite-requests.ts';

export interface SqliteStoreOptions {
  /** Absolute path; folder and file are made where missing. */
  readonly file: string;
  readonly seal: Seal;
  readonly clock?: Pick<Clock, 'now'>;
  /** Makes request ids; default: `req-` + 8 hex digits from a CSPRNG. */
  readonly ids?: () => string;
  /** Default 5 (prompt fatigue). */
  readonly maxPendingPerAgent?: number;
  /** How long an operation waits for other processes, in ms. Default 5,000. */
  readonly busyDeadlineMs?: number;
}

/** How often what has lapsed is written down, in ms. */
const housekeepingMs = 30_000;

/**
 * @throws {Fault} `node_too_old`, `store_locked`, `store_corrupt`, `store_read_only`, `store_full`, `store_too_new`, `store_unavailable`;
 * a file it cannot use is left exactly as it is
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<LocalStore> {
  const { clock = { now: Date.now }, ids = randomRequestId, maxPendingPerAgent = 5, busyDeadlineMs = 5000 } = options;
  const database = await openDatabase({ file: options.file, busyDeadlineMs });
  const append = createAppend(options.seal, () => clock.now());
  const feed = createChangeFeed(database);
  const housekeeping = setInterval(() => sweep(database, clock.now(), append), housekeepingMs).unref();
  return {
    requests: createSqliteRequests({ database, append, now: () => clock.now(), newId: ids, maxPendingPerAgent, onChange: feed.onChange }),
    audit: createSqliteAudit(database, append),
    personas: createSqlitePersonas(database, () => clock.now()),
    location: options.file,
    close: async () => {
      clearInterval(housekeeping);
      feed.close();
      database.close();
    },
  };
}

function randomRequestId(): string {
  return `req-${randomBytes(4).toString('hex')}`;
}

/** Nothing depends on it, so what goes wrong here waits for the next time; whoever needs the store is told then. */
function sweep(database: Database, now: number, append: AppendSealed): void {
  database
    .read((tx) => hasDue(tx, now))
    .then((due) => (due ? database.write((tx) => expireDue(tx, now, append)) : undefined))
    .catch(() => undefined);
}
