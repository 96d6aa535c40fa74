import { join } from 'node:path';
import { describe } from 'vitest';
import { storeContract } from './store-contract.ts';
import { createFakeClock, openTestStore, temporaryFolder } from './store-fixtures.ts';

describe('SQLite', () => {
  storeContract(async () => {
    const clock = createFakeClock();
    const file = join(temporaryFolder(), 'state', 'banksman.db');
    return {
      open: (options = {}) => openTestStore({ file, clock, ...options }),
      now: () => clock.now(),
      advance: async (ms) => clock.advance(ms),
    };
  });
});
