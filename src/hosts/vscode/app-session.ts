/** The App of this window over time: built lazily, replaced when the settings change, closed when the last call on it has ended. */
import type { App } from '#app/app';
import { type Fault, toFault } from '#kernel/errors';

export type SessionState =
  | { readonly kind: 'starting' }
  | { readonly kind: 'ready'; readonly app: App }
  /** `bad_config` and everything else that keeps an App from being built (a store that cannot be opened). */
  | { readonly kind: 'problem'; readonly fault: Fault }
  | { readonly kind: 'closed' };

export interface AppSession {
  readonly state: SessionState;
  /** Called after each change of `state`. Returns the unsubscribe. */
  onChange(listener: () => void): () => void;
  /**
   * Runs `work` on the current App, after a start that is under way. That App stays open until `work` has ended.
   * @throws {Fault} the problem, where there is no App
   */
  use<T>(work: (app: App) => Promise<T>): Promise<T>;
  /** Builds a new App. Calls that run now end on the old one; new calls wait, since the new settings may be stricter. */
  reload(): void;
  /** Closes the App, running calls included (they are told). */
  close(): Promise<void>;
}

interface Lease {
  readonly app: App;
  users: number;
  retired: boolean;
}

/** @param build makes an App from the settings as they are now; rejects with a Fault such as `bad_config` */
export function createAppSession(build: () => Promise<App>, onCloseError: (error: unknown) => void): AppSession {
  const listeners = new Set<() => void>();
  const open = new Set<Lease>();
  let state: SessionState = { kind: 'starting' };
  let current: Lease | undefined;
  let building: Promise<void> | undefined;

  const become = (next: SessionState) => {
    state = next;
    for (const listener of [...listeners]) listener();
  };
  const shut = async (lease: Lease) => {
    if (!open.delete(lease)) return;
    await lease.app.close().catch(onCloseError);
  };
  const retire = (lease: Lease | undefined) => {
    if (!lease) return;
    lease.retired = true;
    if (lease.users === 0) void shut(lease);
  };
  const adopt = (app: App) => {
    current = { app, users: 0, retired: false };
    open.add(current);
    become({ kind: 'ready', app });
  };
  const start = (): Promise<void> => {
    const mine: Promise<void> = Promise.resolve()
      .then(build)
      .then(
        async (app) => (building === mine ? adopt(app) : app.close().catch(onCloseError)),
        (thrown: unknown) => {
          if (building === mine) become({ kind: 'problem', fault: toFault(thrown) });
        },
      );
    return mine;
  };
  const settled = async () => {
    building ??= start();
    // A reload during the wait starts another one, which is the one that counts.
    for (let seen: unknown; seen !== building; ) {
      seen = building;
      await building;
    }
  };

  return {
    get state() {
      return state;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async use(work) {
      await settled();
      if (state.kind === 'problem') throw state.fault;
      const lease = current;
      if (state.kind !== 'ready' || !lease) throw toFault(new Error('the window is closing'));
      lease.users += 1;
      try {
        return await work(lease.app);
      } finally {
        lease.users -= 1;
        if (lease.retired && lease.users === 0) void shut(lease);
      }
    },
    reload() {
      if (state.kind === 'closed') return;
      retire(current);
      current = undefined;
      building = start();
      become({ kind: 'starting' });
    },
    async close() {
      building = Promise.resolve();
      current = undefined;
      become({ kind: 'closed' });
      await Promise.all([...open].map(shut));
    },
  };
}
