/** Reads something of the App again after every change, one read at a time. */
import type { App } from '#kernel/app';
import type { AppSession } from '../app-session.ts';

const debounceMs = 50;

export interface RereaderOptions {
  readonly session: AppSession;
  /** Called when what is read may have changed. Returns the unsubscribe. */
  follow(app: App, changed: () => void): () => void;
  /** Reads and shows; `app` is undefined while there is none. */
  read(app: App | undefined): Promise<void>;
  onError(error: unknown): void;
  /** Also after this long without a change; absent: only then. `expired` is a matter of the clock and announces nothing. */
  readonly everyMs?: number | (() => number);
}

export class Rereader {
  readonly #options: RereaderOptions;
  readonly #unfollowSession: () => void;
  #unfollow = () => {};
  #timer: NodeJS.Timeout | undefined;
  #reading = false;
  #changedMeanwhile = false;
  #disposed = false;

  constructor(options: RereaderOptions) {
    this.#options = options;
    this.#unfollowSession = options.session.onChange(() => this.#followApp());
    this.#followApp();
  }

  /** Reads soon. */
  again(delay = 0): void {
    // One read at a time, so that an older answer never overwrites a newer one; what changes meanwhile is read right after.
    this.#changedMeanwhile = this.#reading;
    if (this.#reading || this.#disposed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#readAndGoOn(), delay);
  }

  dispose(): void {
    this.#disposed = true;
    clearTimeout(this.#timer);
    this.#unfollow();
    this.#unfollowSession();
  }

  #followApp(): void {
    const { state } = this.#options.session;
    this.#unfollow();
    this.#unfollow = state.kind === 'ready' ? this.#options.follow(state.app, () => this.again(debounceMs)) : () => {};
    this.again();
  }

  async #readAndGoOn(): Promise<void> {
    this.#reading = true;
    await this.#read().catch(this.#options.onError);
    this.#reading = false;
    if (this.#changedMeanwhile) this.again(debounceMs);
    else this.#againLater();
  }

  #againLater(): void {
    const { everyMs } = this.#options;
    if (everyMs !== undefined) this.again(typeof everyMs === 'number' ? everyMs : everyMs());
  }

  #read(): Promise<void> {
    const { session, read } = this.#options;
    return session.state.kind === 'ready' ? session.use((app) => (this.#disposed ? Promise.resolve() : read(app))) : read(undefined);
  }
}
