/** How many requests wait, and what keeps Banksman from working: what the badge, the status bar and the welcome texts show. */
import type { AttemptView } from '#kernel/attempt';
import type { AppSession } from '../app-session.ts';
import { attemptRows, type ProblemRow, problemHeadline, problemRows, unknownAttempts } from './problem-rows.ts';
import { Rereader } from './rereader.ts';

/** For `when` clauses, as context key `banksman.state`. */
export type StateName = 'starting' | 'ready' | 'unconfigured' | 'bad_config' | 'failed' | 'closed';

const rereadMs = 30_000;

export class PendingFeed {
  readonly #session: AppSession;
  readonly #listeners = new Set<() => void>();
  readonly #rereader: Rereader;
  #pending = 0;
  #unknown: readonly AttemptView[] = [];

  constructor(session: AppSession, onError: (error: unknown) => void) {
    this.#session = session;
    this.#rereader = new Rereader({
      session,
      onError,
      everyMs: rereadMs,
      follow: (app, changed) => app.approvals.onChange(changed),
      read: async (app) => {
        const unknown = app === undefined ? [] : await unknownAttempts(app);
        this.#publish(app === undefined ? 0 : await app.approvals.countPending(), unknown);
      },
    });
  }

  /** All of them, whatever a list shows. */
  get pending(): number {
    return this.#pending;
  }

  /** What keeps Banksman from working; else calls of which nobody knows what came of them. */
  get problems(): readonly ProblemRow[] {
    const { state } = this.#session;
    return state.kind === 'problem' ? problemRows(state.fault) : attemptRows(this.#unknown);
  }

  /** Above the rows; undefined where all is well. */
  get headline(): string | undefined {
    const { state } = this.#session;
    return state.kind === 'problem' ? problemHeadline(state.fault) : undefined;
  }

  get stateName(): StateName {
    const { state } = this.#session;
    if (state.kind === 'problem') return state.fault.code === 'bad_config' ? 'bad_config' : 'failed';
    if (state.kind === 'ready' && state.app.live.clusters.length === 0) return 'unconfigured';
    return state.kind;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Again, and now. */
  reread(): void {
    this.#rereader.again();
  }

  dispose(): void {
    this.#rereader.dispose();
  }

  #publish(pending: number, unknown: readonly AttemptView[]): void {
    this.#pending = pending;
    this.#unknown = unknown;
    for (const listener of [...this.#listeners]) listener();
  }
}
