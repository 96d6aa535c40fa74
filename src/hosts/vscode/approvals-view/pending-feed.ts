/** The pending requests as they are now, re-read after any change by any window or process. What the tree, the badge and the status bar show. */
import type { RequestRecord } from '#kernel/request';
import type { AppSession } from '../app-session.ts';
import { type ProblemRow, problemHeadline, problemRows } from './problem-rows.ts';

/** For `when` clauses, as context key `banksman.state`. */
export type StateName = 'starting' | 'ready' | 'unconfigured' | 'bad_config' | 'failed' | 'closed';

const shownRecords = 200;
const debounceMs = 50;
/** `expired` is a matter of the clock and announces nothing. */
const rereadMs = 30_000;

export class PendingFeed {
  readonly #session: AppSession;
  readonly #onError: (error: unknown) => void;
  readonly #listeners = new Set<() => void>();
  readonly #unfollowSession: () => void;
  #unfollowApprovals = () => {};
  #records: readonly RequestRecord[] = [];
  #pending = 0;
  #timer: NodeJS.Timeout | undefined;
  #reading = false;
  #changedMeanwhile = false;
  #disposed = false;

  constructor(session: AppSession, onError: (error: unknown) => void) {
    this.#session = session;
    this.#onError = onError;
    this.#unfollowSession = session.onChange(() => this.#follow());
    this.#follow();
  }

  /** Newest first; at most 200. */
  get records(): readonly RequestRecord[] {
    return this.#records;
  }

  /** All of them. */
  get pending(): number {
    return this.#pending;
  }

  get problems(): readonly ProblemRow[] {
    const { state } = this.#session;
    return state.kind === 'problem' ? problemRows(state.fault) : [];
  }

  /** Above the rows; undefined where all is well. */
  get headline(): string | undefined {
    const { state } = this.#session;
    return state.kind === 'problem' ? problemHeadline(state.fault) : undefined;
  }

  get stateName(): StateName {
    const { state } = this.#session;
    if (state.kind === 'problem') return state.fault.code === 'bad_config' ? 'bad_config' : 'failed';
    if (state.kind === 'ready' && state.app.config.clusters.length === 0) return 'unconfigured';
    return state.kind;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  dispose(): void {
    this.#disposed = true;
    clearTimeout(this.#timer);
    this.#unfollowApprovals();
    this.#unfollowSession();
  }

  #follow(): void {
    const { state } = this.#session;
    this.#unfollowApprovals();
    this.#unfollowApprovals = state.kind === 'ready' ? state.app.approvals.onChange(() => this.#schedule(debounceMs)) : () => {};
    this.#schedule(0);
  }

  #schedule(delay: number): void {
    // One read at a time, so that an older answer never overwrites a newer one; what changes meanwhile is read right after.
    this.#changedMeanwhile = this.#reading;
    if (this.#reading || this.#disposed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#readAndGoOn(), delay);
  }

  async #readAndGoOn(): Promise<void> {
    this.#reading = true;
    await this.#read();
    this.#reading = false;
    this.#schedule(this.#changedMeanwhile ? debounceMs : rereadMs);
  }

  async #read(): Promise<void> {
    if (this.#session.state.kind !== 'ready') return this.#publish([], 0);
    try {
      await this.#session.use(async ({ approvals }) => {
        const page = await approvals.list({ statuses: ['pending'], limit: shownRecords });
        this.#publish(page.records, await approvals.countPending());
      });
    } catch (thrown) {
      this.#onError(thrown);
    }
  }

  #publish(records: readonly RequestRecord[], pending: number): void {
    if (this.#disposed) return;
    this.#records = records;
    this.#pending = pending;
    for (const listener of [...this.#listeners]) listener();
  }
}
