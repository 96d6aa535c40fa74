/** An App that is closed when nobody uses it any more. */
import type { App } from '#app/app';

export interface AppLease {
  readonly app: App;
  /** Keeps the App open until `work` has ended. */
  use<T>(work: (app: App) => Promise<T>): Promise<T>;
  /** No new users: closes after the last one, at once where there is none. */
  retire(): void;
  /** Closes now, users or not; idempotent. */
  close(): Promise<void>;
}

export function leaseApp(app: App, onCloseError: (error: unknown) => void): AppLease {
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
