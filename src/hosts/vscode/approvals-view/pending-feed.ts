/** The pending requests as they are now, re-read after any change by any window or process. What the tree, the badge and the status bar show. */
import type { RequestRecord } from '#kernel/request';
import type { AppSession } from '../app-session.ts';
import { type ProblemRow, problemRows } from './problem-rows.ts';

/** For `when` clauses, as context key `banksman.state`. */
export type StateName = 'starting' | 'ready' | 'unconfigured' | 'bad_config' | 'failed' | 'closed';

export interface PendingFeed {
  /** Newest first; at most `shownRecords`. */
  readonly records: readonly RequestRecord[];
  /** All of them. */
  readonly pending: number;
  readonly problems: readonly ProblemRow[];
  readonly stateName: StateName;
  onChange(listener: () => void): () => void;
  dispose(): void;
}

const shownRecords = 200;
const debounceMs = 50;
/** `expired` is a matter of the clock and announces nothing. */
const rereadMs = 30_000;

export function createPendingFeed(session: AppSession, onError: (error: unknown) => void): PendingFeed {
  const listeners = new Set<() => void>();
  let records: readonly RequestRecord[] = [];
  let pending = 0;
  let timer: NodeJS.Timeout | undefined;
  let forget = () => {};
  let disposed = false;

  const read = async () => {
    if (session.state.kind !== 'ready') return publish([], 0);
    await session
      .use(async ({ approvals }) => {
        const [page, count] = await Promise.all([approvals.list({ statuses: ['pending'], limit: shownRecords }), approvals.countPending()]);
        publish(page.records, count);
      })
      .catch(onError);
  };
  const publish = (nextRecords: readonly RequestRecord[], count: number) => {
    if (disposed) return;
    records = nextRecords;
    pending = count;
    for (const listener of [...listeners]) listener();
  };
  const schedule = (delay = debounceMs) => {
    clearTimeout(timer);
    if (disposed) return;
    timer = setTimeout(() => void read().finally(() => schedule(rereadMs)), delay);
  };
  const follow = () => {
    forget();
    forget = session.state.kind === 'ready' ? session.state.app.approvals.onChange(() => schedule()) : () => {};
    schedule(0);
  };
  const unfollow = session.onChange(follow);
  follow();

  return {
    get records() {
      return records;
    },
    get pending() {
      return pending;
    },
    get problems() {
      return session.state.kind === 'problem' ? problemRows(session.state.fault) : [];
    },
    get stateName() {
      return stateName(session);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    dispose() {
      disposed = true;
      clearTimeout(timer);
      forget();
      unfollow();
    },
  };
}

function stateName({ state }: AppSession): StateName {
  if (state.kind === 'problem') return state.fault.code === 'bad_config' ? 'bad_config' : 'failed';
  if (state.kind === 'ready' && state.app.config.clusters.length === 0) return 'unconfigured';
  return state.kind;
}
