/** The periodic cleaning, for as long as the process lives. */
import { setTimeout as sleep } from 'node:timers/promises';
import { toFault } from '#kernel/errors';
import type { Log } from '#kernel/ports/log';
import { cleanSandboxes } from './clean-sandboxes.ts';
import { cleaningIntervalMs, personaLifeMs } from './persona-limits.ts';
import type { PersonaSandboxOptions } from './persona-sandboxes.ts';

export interface CleaningOptions extends Pick<PersonaSandboxOptions, 'base' | 'ledger'> {
  readonly log: Log;
  readonly now: () => number;
  /** In ms. */
  readonly intervalMs?: number;
}

/** Cleans now and every six hours. `stop` waits for a cleaning under way. */
export function startCleaning({ base, ledger, log, now, intervalMs = cleaningIntervalMs }: CleaningOptions): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const clean = async (): Promise<void> => {
    try {
      const { sandboxes, bytes } = await cleanSandboxes({ base, ledger, before: now() - personaLifeMs });
      if (sandboxes > 0) log.info(`${sandboxes} unused agent sandboxes cleaned, ${bytes} bytes`);
    } catch (thrown) {
      // Nothing depends on it; the next time may do better.
      log.warn(`the agents' sandboxes could not be cleaned: ${toFault(thrown).message}`);
    }
  };
  const loop = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      await clean();
      await sleep(intervalMs, undefined, { signal: stopped.signal, ref: false }).catch(() => undefined);
    }
  };
  const running = loop();
  return {
    stop: () => {
      stopped.abort();
      return running;
    },
  };
}
