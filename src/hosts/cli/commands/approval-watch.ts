/** `banksman approvals watch`: each change as it happens, until stopped. */
import type { App } from '#app/app';
import type { RequestRecord } from '#kernel/request';
import { showPlainly } from '#kernel/text';
import { type CommandOptions, operands } from '../command-line.ts';
import { printJson, printText } from '../output.ts';
import { requestJson } from '../request-text.ts';
import { withApp } from '../session.ts';

const pageSize = 200;
/** `setTimeout` takes no more. */
const longestMs = 2 ** 31 - 1;

/** What is pending comes first; then a line per change. Nothing is polled: the store rings, and a timer stands at the next expiry. */
export async function watchApprovals(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  return withApp(options, async (app, signal) => {
    const bell = createBell();
    const unsubscribe = app.approvals.onChange(bell.ring);
    signal.addEventListener('abort', bell.ring, { once: true });
    try {
      const seen = new Map<string, RequestRecord>();
      for (let first = true; !signal.aborted; first = false) {
        const changed = await changes(app, seen);
        // Of what was there before only what is still open to an answer.
        print(first ? changed.filter(({ status }) => status === 'pending') : changed, options);
        await bell.next(nextExpiry(seen));
      }
    } finally {
      unsubscribe();
      signal.removeEventListener('abort', bell.ring);
    }
    return 0;
  });
}

/** Oldest first. Whatever was open before and is no longer among the newest is looked up by itself. */
async function changes(app: App, seen: Map<string, RequestRecord>): Promise<readonly RequestRecord[]> {
  const { records } = await app.approvals.list({ limit: pageSize });
  const listed = new Set(records.map(({ id }) => id));
  const older = await Promise.all([...seen.keys()].filter((id) => !listed.has(id)).map((id) => app.approvals.get(id)));
  const changed = [...older, ...records.toReversed()].filter(
    (record) => record !== undefined && seen.get(record.id)?.status !== record.status,
  );
  for (const id of seen.keys()) if (!listed.has(id)) seen.delete(id);
  for (const record of [...older, ...records])
    if (record !== undefined && (listed.has(record.id) || isOpen(record))) seen.set(record.id, record);
  return changed.filter((record) => record !== undefined);
}

function isOpen({ status }: RequestRecord): boolean {
  return status === 'pending' || status === 'approved';
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

/** In ms from now; at least a second, for the store’s clock may be behind this one. */
function nextExpiry(seen: ReadonlyMap<string, RequestRecord>): number {
  const times = [...seen.values()].filter(isOpen).map((record) => record.grant?.payload.expiresAt ?? record.expiresAt);
  return Math.min(longestMs, Math.max(1_000, Math.min(...times, Number.POSITIVE_INFINITY) - Date.now()));
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
