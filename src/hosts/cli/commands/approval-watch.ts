/** `banksman approvals watch`: each change as it happens, until stopped. */
import { createRequestChanges } from '#app/request-changes';
import type { RequestRecord } from '#kernel/request';
import { showPlainly } from '#kernel/text';
import { type CommandOptions, operands } from '../command-line.ts';
import { printJson, printText } from '../output.ts';
import { requestJson } from '../request-text.ts';
import { withApp } from '../session.ts';

/** What is pending comes first; then a line per change. Nothing is polled: the store rings, and a timer stands at the next expiry. */
export async function watchApprovals(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  return withApp(options, async (app, signal) => {
    const bell = createBell();
    const unsubscribe = app.approvals.onChange(bell.ring);
    signal.addEventListener('abort', bell.ring, { once: true });
    try {
      const changes = createRequestChanges(app.approvals);
      for (let first = true; !signal.aborted; first = false) {
        const changed = (await changes.look()).map(({ record }) => record);
        // Of what was there before only what is still open to an answer.
        print(first ? changed.filter(({ status }) => status === 'pending') : changed, options);
        await bell.next(changes.nextExpiry());
      }
    } finally {
      unsubscribe();
      signal.removeEventListener('abort', bell.ring);
    }
    return 0;
  });
}

function print(records: readonly RequestRecord[], options: CommandOptions): void {
  for (const record of records) {
    const at = new Date(changedAt(record)).toISOString();
    const by = record.decision === undefined ? '' : `  by ${showPlainly(record.decision.by, 100)}`;
    if (options.json) printJson({ at, ...requestJson(record) });
    else printText(`${at}  ${record.status.padEnd(9)} ${record.id}  ${showPlainly(record.title, 160)}${by}`);
  }
}

/** What ended by itself ended about now. */
function changedAt({ status, consumedAt, decision, createdAt }: RequestRecord): number {
  if (status === 'expired' || status === 'cancelled') return Date.now();
  return consumedAt ?? decision?.at ?? createdAt;
}

/** Remembers a ring that nobody waited for. */
function createBell() {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring: () => {
      rung = true;
      wake?.();
    },
    /** Until it rings, or `ms` have passed. */
    next: async (ms: number): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      const timer = setTimeout(resolve, ms);
      if (rung) resolve();
      await promise;
      clearTimeout(timer);
      rung = false;
    },
  };
}
