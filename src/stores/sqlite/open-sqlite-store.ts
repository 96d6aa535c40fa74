/** The embedded store: one SQLite file, shared by every window and process of one user. */
import { randomBytes } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Seal } from '#kernel/audit-event';
import type { LocalStore } from '#kernel/ports/store';
import { type Database, openDatabase } from './database.ts';
import { defaultRetention, prune, type Retention } from './retention.ts';
import { type AppendSealed, createAppend, createSqliteAudit, growWholeTree } from './sqlite-audit.ts';
import { createSqlitePersonas } from './sqlite-personas.ts';
import { createSqliteRequests, expireDue, hasDue } from './sqlite-requests.ts';
import { createSqliteCodes, createSqliteSecurity } from './sqlite-security.ts';
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
    audit: createSqliteAudit(database, append, now),
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

interface ChangeFeed {
  onChange(listener: () => void): () => void;
  close(): void;
}

/** Catches what the watch misses (network homes, exhausted watches). In ms. */
const pollMs = 1000;
/**
 * When to look after the file was touched, in ms from one look to the next. The touch is seen while the other process still waits for its
 * fsync; the commit shows a moment later, without another touch, because it is made in shared memory.
 */
const looksAfterTouch = [1, 4, 15, 60, 200];

/**
 * Tells when any process has committed, without asking the disk over and over.
 * Own commits ring at once. Others' are seen through the folder's watch (the `-wal` file itself may be removed and made anew, which would
 * end a watch on it), and every look compares `data_version`, which costs about 2 µs and no disk access. Watches and timers run only while
 * somebody listens, and never keep the process alive.
 */
function createChangeFeed(database: Database): ChangeFeed {
  const listeners = new Set<() => void>();
  let stopWatching: (() => void) | undefined;
  let seen: number | undefined;

  const ring = (): void => {
    for (const listener of [...listeners]) listener();
  };
  const look = (): void => {
    const version = versionOf(database);
    const changed = version !== undefined && version !== seen;
    seen = version ?? seen;
    if (changed) ring();
  };
  const start = (): void => {
    seen = versionOf(database);
    const looks = createLooks(look);
    const watcher = watchFolder(database.file, looks.again);
    const poll = setInterval(look, pollMs).unref();
    stopWatching = () => {
      watcher?.close();
      clearInterval(poll);
      looks.stop();
    };
  };
  const stop = (): void => {
    stopWatching?.();
    stopWatching = undefined;
  };
  database.onCommit(ring);
  return {
    onChange: (listener) => {
      // A wrapper, so that the same function may listen twice and leave once.
      const own = (): void => listener();
      listeners.add(own);
      if (!stopWatching) start();
      return () => {
        if (listeners.delete(own) && listeners.size === 0) stop();
      };
    },
    close: () => {
      listeners.clear();
      stop();
    },
  };
}

/** A few looks, further and further apart; every touch starts them over. */
function createLooks(look: () => void): { readonly again: () => void; readonly stop: () => void } {
  let timer: NodeJS.Timeout | undefined;
  let next = 0;
  const schedule = (): void => {
    const delay = looksAfterTouch[next];
    next += 1;
    timer = delay === undefined ? undefined : setTimeout(run, delay).unref();
  };
  const run = (): void => {
    look();
    schedule();
  };
  return {
    again: () => {
      // A first look that is due already stays: a file that is touched all the time must not put it off for ever.
      if (timer && next <= 1) return;
      clearTimeout(timer);
      next = 0;
      schedule();
    },
    stop: () => clearTimeout(timer),
  };
}

/** undefined where it cannot be told now (locked for recovery, closed); the next look will. */
function versionOf(database: Database): number | undefined {
  try {
    return database.dataVersion();
  } catch {
    return undefined;
  }
}

function watchFolder(file: string, onEvent: () => void): FSWatcher | undefined {
  const name = basename(file);
  try {
    const watcher = watch(dirname(file), { persistent: false }, (_event, changed) => {
      if (changed === null || changed.startsWith(name)) onEvent();
    });
    // The folder may go away, and systems run out of watches; the poll goes on.
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}
