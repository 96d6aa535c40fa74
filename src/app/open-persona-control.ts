/** `banksman sandbox` by itself: needs the store and no workspace. */
import { Fault } from '#kernel/errors';
import { openStore, type StoreOptions } from './open-store.ts';
import { type PersonaControl, personaBase, personaControl } from './persona-control.ts';

/** The account is the embedded store's, whatever else is configured: the directories are on this machine. @throws {Fault} `store_…` */
export async function withPersonaControl<T>(options: StoreOptions, work: (control: PersonaControl) => Promise<T>): Promise<T> {
  const embedded = options.config.store.startsWith('sqlite:') ? options.config.store : 'sqlite:';
  const store = await openStore({ ...options, config: { ...options.config, store: embedded } });
  try {
    if (store.personas === undefined)
      throw new Fault('internal_error', 'internal error: the embedded store has no ledger', { audience: 'bug' });
    return await work(personaControl(personaBase(options.stateDir), store.personas));
  } finally {
    await store.close();
  }
}
