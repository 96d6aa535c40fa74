/** The agents' own sandboxes, for people: what they hold, and removing them. */
import path from 'node:path';
import { type Cleaned, cleanSandboxes } from '#connectors/persona-sandbox/clean-sandboxes';
import { personaLifeMs } from '#connectors/persona-sandbox/persona-limits';
import { recount } from '#connectors/persona-sandbox/persona-sandboxes';
import { Fault } from '#kernel/errors';
import type { PersonaAccount, PersonaLedger } from '#kernel/ports/persona-ledger';
import { openStore, type StoreOptions } from '../store/open-store.ts';

export interface PersonaControl {
  /** Counted anew from the disk, the largest first. */
  stats(): Promise<readonly PersonaAccount[]>;
  /** Removes what nobody used for 24 hours; `all`: everything. */
  clean(all: boolean): Promise<Cleaned>;
}

/** Private to this user and outside every workspace: a command in the OS sandbox does not see the state directory. */
export function personaBase(stateDir: string): string {
  return path.join(path.resolve(stateDir), 'personas');
}

export function personaControl(base: string, ledger: PersonaLedger): PersonaControl {
  return {
    stats: async () => {
      for (const account of await ledger.list()) await recount(ledger, base, account);
      return ledger.list();
    },
    // What is used in this very millisecond counts as used before it.
    clean: (all) => cleanSandboxes({ base, ledger, before: all ? Date.now() + 1 : Date.now() - personaLifeMs }),
  };
}

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
