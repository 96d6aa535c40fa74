/** The embedded store: one SQLite file, shared by every window and process of one user. */
import { randomBytes } from 'node:crypto';
import type { Seal } from '#kernel/audit-event';
import type { Clock } from '#kernel/ports/clock';
import type { LocalStore } from '#kernel/ports/store';
import { createChangeFeed } from './change-feed.ts';
import { type Database, openDatabase } from './database.ts';
import { defaultRetention, prune, type Retention } from './retention.ts';
import { type AppendSealed, createAppend, createSqliteAudit } from './sqlite-audit.ts';
import { createSqliteCodes } from './sqlite-codes.ts';
import { createSqlitePersonas } from './sqlite-personas.ts';
import { createSqliteRequests, expireDue, hasDue } from './sqlite-requests.ts';
import { createSqliteSecurity } from './sqlite-security.ts';
import { growWholeTree } from './sqlite-tree.ts';

export interface SqliteStoreOptions {
  /** Absolute path; folder and file are made where missing. */
  readonly file: string;
  readonly seal: Seal;
  readonly clock?: Pick<Clock, 'now'>;
  /** Makes request ids; default: `req-` + 8 hex digits from a CSPRNG. */
  readonly ids?: () => string;
  /** Default 5 (prompt fatigue). */
  readonly maxPendingPerAgent?: number;
  /** What is dropped when; default 30 days of requests, 90 days or 200 MB of trail. */
  readonly retention?: Retention;
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
  const {
    clock = { now: Date.now },
    ids = randomRequestId,
    maxPendingPerAgent = 5,
    busyDeadlineMs = 5000,
    retention = defaultRetention,
  } = options;
  const database = await openDatabase({ file: options.file, busyDeadlineMs });
  // Only what was written without its leaf: by a version that knew no tree. An append makes up for the rest, and says what fails.
  await growWholeTree(database).catch(() => undefined);
  const now = (): number => clock.now();
  const append = createAppend(options.seal, now);
  const feed = createChangeFeed(database);
  const { onChange } = feed;
  const sweep = createSweep(database, { append, retention });
  const housekeeping = setInterval(() => void sweep(now()), housekeepingMs).unref();
  return {
    requests: createSqliteRequests({ database, append, now, newId: ids, maxPendingPerAgent, onChange }),
    audit: createSqliteAudit(database, append),
    codes: createSqliteCodes(database, now),
    security: createSqliteSecurity({ database, append, now, onChange }),
    personas: createSqlitePersonas(database, now),
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

/** Never rejects: nothing depends on it, so what goes wrong here waits for the next time; whoever needs the store is told then. */
function createSweep(database: Database, step: { readonly append: AppendSealed; readonly retention: Retention }) {
  let isPruning = false;
  const pruneOnce = async (now: number): Promise<void> => {
    if (isPruning) return;
    isPruning = true;
    await prune(database, { ...step, now }).finally(() => {
      isPruning = false;
    });
  };
  return (now: number): Promise<void> =>
    database
      .read((tx) => hasDue(tx, now))
      .then((due) => (due ? database.write((tx) => expireDue(tx, now, step.append)) : undefined))
      .then(() => pruneOnce(now))
      .catch(() => undefined);
}
