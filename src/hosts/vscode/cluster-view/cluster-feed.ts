/** What the clusters say, looked at again and again while somebody can see it: one or two requests a cluster and look, never two at once. */
import type { App } from '#kernel/app';
import type { AttemptView } from '#kernel/attempt';
import { toFault } from '#kernel/errors';
import type { AppSession } from '../app-session.ts';
import type { ClusterState } from './cluster-rows.ts';

const lookMs = 10_000;
/** Of a cluster that does not answer. */
const failedMs = 30_000;
const answerMs = 20_000;
/** What agents are at: from the store, no request. */
const callsMs = 2_000;
/** What is protected follows tags and pools that people set. */
const protectedMs = 300_000;

interface Followed {
  state: ClusterState;
  isReading: boolean;
  /** Monotonic, in ms: when to look again. */
  next: number;
  protectedNext: number;
}

export class ClusterFeed {
  readonly #session: AppSession;
  readonly #listeners = new Set<() => void>();
  readonly #unfollow: () => void;
  #followed = new Map<string, Followed>();
  #running: readonly AttemptView[] = [];
  /** Who can be seen by somebody: the view, pages. */
  readonly #watchers = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  /** Counts Apps: what an earlier one said later is dropped. */
  #round = 0;

  constructor(session: AppSession) {
    this.#session = session;
    this.#unfollow = session.onChange(() => this.#begin());
    this.#begin();
  }

  get clusters(): readonly ClusterState[] {
    return [...this.#followed.values()].map(({ state }) => state);
  }

  /** Calls that agents make now. */
  get running(): readonly AttemptView[] {
    return this.#running;
  }

  /** Whether somebody can see `who`. While nobody can see anything, nothing is asked; the first look after is at once. */
  watch(who: string, isSeen: boolean): void {
    if (this.#watchers.has(who) === isSeen) return;
    if (isSeen) this.#watchers.add(who);
    else this.#watchers.delete(who);
    this.#tick();
  }

  /** Looks again, now. */
  again(): void {
    for (const followed of this.#followed.values()) Object.assign(followed, { next: 0, protectedNext: 0 });
    this.#tick();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  dispose(): void {
    this.#round += 1;
    this.#watchers.clear();
    clearTimeout(this.#timer);
    this.#unfollow();
  }

  #begin(): void {
    this.#round += 1;
    const { state } = this.#session;
    const names = state.kind === 'ready' ? state.app.live.clusters : [];
    // While the settings are read anew, what was seen stays in sight.
    if (state.kind !== 'starting')
      this.#followed = new Map(names.map((name) => [name, { state: { name }, isReading: false, next: 0, protectedNext: 0 }]));
    this.#changed();
    this.#tick();
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  #tick(): void {
    clearTimeout(this.#timer);
    if (this.#watchers.size === 0 || this.#session.state.kind !== 'ready') return;
    const now = performance.now();
    for (const followed of this.#followed.values()) if (!followed.isReading && followed.next <= now) void this.#look(followed);
    void this.#lookAtCalls();
    this.#timer = setTimeout(() => this.#tick(), callsMs);
  }

  async #look(followed: Followed): Promise<void> {
    const round = this.#round;
    followed.isReading = true;
    // Who asks for another look meanwhile says when.
    followed.next = Number.POSITIVE_INFINITY;
    const seen = await this.#session.use((app) => read(app, followed)).catch((thrown: unknown) => failedState(followed.state, thrown));
    followed.isReading = false;
    if (round !== this.#round) return;
    followed.state = seen;
    followed.next = Math.min(followed.next, performance.now() + (seen.failed === undefined ? lookMs : failedMs));
    this.#changed();
  }

  /** A call that begins or ends changes what it is at: then the cluster is looked at again, too. */
  async #lookAtCalls(): Promise<void> {
    const round = this.#round;
    const all = await this.#session.use(({ attempts }) => attempts.list()).catch(() => []);
    const running = all.filter(({ standing }) => standing !== 'unknown');
    const isSame = running.map(({ call }) => call).join() === this.#running.map(({ call }) => call).join();
    if (round !== this.#round || isSame) return;
    this.#running = running;
    for (const followed of this.#followed.values()) followed.next = Math.min(followed.next, performance.now() + callsMs / 2);
    this.#changed();
  }
}

async function read({ live }: App, followed: Followed): Promise<ClusterState> {
  const { name, protected: known } = followed.state;
  const signal = AbortSignal.timeout(answerMs);
  const overview = await live.overview(name, signal);
  const isDue = followed.protectedNext <= performance.now();
  const names = isDue ? await live.protectedNames(name, signal).catch(() => known) : known;
  if (isDue) followed.protectedNext = performance.now() + protectedMs;
  return { name, overview, readAt: Date.now(), ...(names === undefined ? {} : { protected: names }) };
}

/** What was seen last stays, and says that it is old. */
function failedState(before: ClusterState, thrown: unknown): ClusterState {
  const { message, next } = toFault(thrown);
  const since = before.failed?.since ?? Date.now();
  return { ...before, failed: { since, message, ...(next === undefined ? {} : { next }) } };
}
