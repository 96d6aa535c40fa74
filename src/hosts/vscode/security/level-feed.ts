/** The security level that counts, as it is now: people can change it for everyone on the same store. */
import type { EffectiveLevel } from '#kernel/app';
import type { AppSession } from '../app-session.ts';
import { Rereader } from '../approvals-view/rereader.ts';

export class LevelFeed {
  readonly #listeners = new Set<() => void>();
  readonly #rereader: Rereader;
  #level: EffectiveLevel | undefined;

  constructor(session: AppSession, onError: (error: unknown) => void) {
    this.#rereader = new Rereader({
      session,
      onError,
      follow: (app, changed) => app.security.onChange(changed),
      read: async (app) => {
        // Said before it is asked: a service that is away lets one wait.
        if (app?.isAway === true) this.#tell();
        this.#level = await app?.security.level();
        this.#tell();
      },
    });
  }

  /** undefined while it is not known. */
  get level(): EffectiveLevel | undefined {
    return this.#level;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  dispose(): void {
    this.#rereader.dispose();
  }
}
