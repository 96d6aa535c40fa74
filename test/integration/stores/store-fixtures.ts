/** What the tests of approvals and stores share: a folder, a clock that only moves when told, and what `request-fixtures.ts` has. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { seal } from '#audit/seal';
import type { Clock } from '#kernel/ports/clock';
import type { Store } from '#kernel/ports/store';
import { openSqliteStore, type SqliteStoreOptions } from '#stores/sqlite/open-sqlite-store';

export * from './request-fixtures.ts';

/** A folder of the test's own, gone when the test is. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'banksman-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface FakeClock extends Clock {
  advance(ms: number): void;
  /** Resolves once somebody sleeps; how a test knows that a wait has begun. */
  sleeping(): Promise<void>;
}

export function createFakeClock(start = 1_800_000_000_000): FakeClock {
  let time = start;
  const sleepers = new Set<{ readonly at: number; wake(): void }>();
  let onSleep = (): void => {};
  return {
    now: () => time,
    advance: (ms) => {
      time += ms;
      for (const sleeper of [...sleepers]) if (sleeper.at <= time) sleeper.wake();
    },
    sleeping: () => {
      if (sleepers.size > 0) return Promise.resolve();
      return new Promise((resolve) => {
        onSleep = resolve;
      });
    },
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const sleeper = { at: time + ms, wake: () => finish(resolve) };
        const abort = (): void => finish(() => reject(signal.reason));
        const finish = (how: () => void): void => {
          sleepers.delete(sleeper);
          signal.removeEventListener('abort', abort);
          how();
        };
        sleepers.add(sleeper);
        signal.addEventListener('abort', abort);
        onSleep();
      }),
  };
}

export async function openTestStore(options: Partial<SqliteStoreOptions> = {}): Promise<Store> {
  const store = await openSqliteStore({ file: join(temporaryFolder(), 'state', 'banksman.db'), seal, ...options });
  onTestFinished(() => store.close());
  return store;
}
