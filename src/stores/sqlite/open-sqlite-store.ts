/** The embedded store: one SQLite file, shared by every window and process of one user. */
import { randomBytes } from 'node:crypto';
import type { Seal } from '#kernel/audit-event';
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
import { createTimeCare, lookAtTime, type StoreClock, wholeClock } from './store-time.ts';

export interface SqliteStoreOptions {
  /** Absolute path; folder and file are made where missing. */
  readonly file: string;
  readonly seal: Seal;
  readonly clock?: StoreClock;
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
  const { ids = randomRequestId, maxPendingPerAgent = 5, busyDeadlineMs = 5000, retention = defaultRetention } = options;
  const database = await openDatabase({ file: options.file, busyDeadlineMs });
  // Only what was written without its leaf: by a version that knew no tree. An append makes up for the rest, and says what fails.
  await growWholeTree(database).catch(() => undefined);
  const clock = wholeClock(options.clock);
  const now = (): number => clock.now();
  const append = createAppend(options.seal, now);
  const feed = createChangeFeed(database);
  const { onChange } = feed;
  const sweep = createSweep(database, { append, retention, clock });
  const housekeeping = setInterval(() => void sweep(), housekeepingMs).unref();
  return {
    requests: createSqliteRequests({ database, append, clock, newId: ids, maxPendingPerAgent, onChange }),
    audit: createSqliteAudit(database, append),
    codes: createSqliteCodes(database, now),
    security: createSqliteSecurity({ database, append, now, onChange }),
    personas: createSqlitePersonas(database, now),
    care: createTimeCare(database, { clock, append }),
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

interface SweepDeps {
  readonly append: AppendSealed;
  readonly retention: Retention;
  readonly clock: Required<StoreClock>;
}

/** Never rejects: nothing depends on it, so what goes wrong here waits for the next time; whoever needs the store is told then. */
function createSweep(database: Database, { append, retention, clock }: SweepDeps): () => Promise<void> {
  let isPruning = false;
  const pruneOnce = async (now: number): Promise<void> => {
    if (isPruning) return;
    isPruning = true;
    await prune(database, { append, retention, now }).finally(() => {
      isPruning = false;
    });
  };
  return () =>
    database
      .read((tx) => ({ ...lookAtTime(tx, clock), isDue: hasDue(tx, clock.now()) }))
      .then(async ({ isDue, due, keptUntil }) => {
        if (isDue || due) await database.write((tx) => expireDue(tx, clock, append));
        await pruneOnce(keptUntil);
      })
      .catch(() => undefined);
}
