/** Tells when any process has committed, without asking the disk over and over. */
import { type FSWatcher, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Database } from './database.ts';

export interface ChangeFeed {
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
 * Own commits ring at once. Others' are seen through the folder's watch (the `-wal` file itself may be removed and made anew, which
 * would end a watch on it), and every look compares `data_version`, which costs about 2 µs and no disk access.
 * Watches and timers run only while somebody listens, and never keep the process alive.
 */
export function createChangeFeed(database: Database): ChangeFeed {
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
