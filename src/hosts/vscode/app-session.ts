/** The App of this window over time: built lazily, replaced when the settings change, closed when the last call on it has ended. */
import type { App } from '#kernel/app';
import { Fault, toFault } from '#kernel/errors';

type SessionState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'ready'; readonly app: App }
  /** `bad_config` and everything else that keeps an App from being built (a store that cannot be opened). */
  | { readonly kind: 'problem'; readonly fault: Fault }
  | { readonly kind: 'closed' };

/** Plans that go on from one App to the next. */
export interface RunningPlans {
  retire(): void;
  end(reason: Error): Promise<void>;
}

const noPlans: RunningPlans = { retire: () => undefined, end: async () => undefined };

export class AppSession {
  readonly #build: () => Promise<App>;
  readonly #onCloseError: (error: unknown) => void;
  readonly #plans: RunningPlans;
  readonly #listeners = new Set<() => void>();
  /** Every App that has not been told to close, the retired ones with calls still on them included. */
  readonly #open = new Set<AppLease>();
  #state: SessionState = { kind: 'starting' };
  #current: AppLease | undefined;
  #building: Promise<void> | undefined;

  /** @param build makes an App from the settings as they are now; rejects with a Fault such as `bad_config` */
  constructor(build: () => Promise<App>, onCloseError: (error: unknown) => void, plans: RunningPlans = noPlans) {
    this.#build = build;
    this.#onCloseError = onCloseError;
    this.#plans = plans;
  }

  get state(): SessionState {
    return this.#state;
  }

  /** Called after each change of `state`. Returns the unsubscribe. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Runs `work` on the current App, after a start that is under way. That App stays open until `work` has ended.
   * @throws {Fault} the problem, where there is no App
   */
  async use<T>(work: (app: App) => Promise<T>): Promise<T> {
    await this.#settled();
    if (this.#state.kind === 'problem') throw this.#state.fault;
    if (!this.#current) throw new Fault('closing', 'this window is closing; try again in another one', { retryable: true });
    return this.#current.use(work);
  }

  /** Builds a new App. Calls that run now end on the old one; new calls wait, since the new settings may be stricter. */
  reload(): void {
    if (this.#state.kind === 'closed') return;
    this.#retire();
    this.#building = this.#start();
    this.#become({ kind: 'starting' });
  }

  /** Closes every App, with calls still on it or not; they are told. */
  async close(): Promise<void> {
    this.#building = Promise.resolve();
    this.#current = undefined;
    this.#become({ kind: 'closed' });
    await this.#plans.end(new Error('the window is closing')).catch(this.#onCloseError);
    await Promise.all([...this.#open].map((lease) => lease.close()));
    this.#open.clear();
  }

  #become(next: SessionState): void {
    this.#state = next;
    for (const listener of [...this.#listeners]) listener();
  }

  #retire(): void {
    // First: no step of a plan may begin under settings that count no longer.
    this.#plans.retire();
    this.#current?.retire();
    this.#current = undefined;
  }

  #start(): Promise<void> {
    const mine: Promise<void> = Promise.resolve()
      .then(this.#build)
      .then(
        async (app) => {
          if (this.#building === mine) this.#adopt(app);
          // Overtaken by newer settings, or the window is closing.
          else await app.close().catch(this.#onCloseError);
        },
        (thrown: unknown) => {
          if (this.#building === mine) this.#become({ kind: 'problem', fault: toFault(thrown) });
        },
      );
    return mine;
  }

  #adopt(app: App): void {
    this.#current = leaseApp(app, this.#onCloseError);
    this.#open.add(this.#current);
    this.#become({ kind: 'ready', app });
  }

  async #settled(): Promise<void> {
    this.#building ??= this.#start();
    // A reload during the wait starts another build, which is the one that counts.
    for (let seen: Promise<void> | undefined; seen !== this.#building; ) {
      seen = this.#building;
      await seen;
    }
  }
}

/** An App that is closed when nobody uses it any more. */
interface AppLease {
  readonly app: App;
  /** Keeps the App open until `work` has ended. */
  use<T>(work: (app: App) => Promise<T>): Promise<T>;
  /** No new users: closes after the last one, at once where there is none. */
  retire(): void;
  /** Closes now, users or not; idempotent. */
  close(): Promise<void>;
}

function leaseApp(app: App, onCloseError: (error: unknown) => void): AppLease {
  let users = 0;
  let retired = false;
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= app.close().catch(onCloseError);
    return closing;
  };
  const closeIfIdle = () => {
    if (retired && users === 0) void close();
  };
  return {
    app,
    async use(work) {
      users += 1;
      try {
        return await work(app);
      } finally {
        users -= 1;
        closeIfIdle();
      }
    },
    retire() {
      retired = true;
      closeIfIdle();
    },
    close,
  };
}
