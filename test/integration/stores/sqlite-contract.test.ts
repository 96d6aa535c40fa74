import { join } from 'node:path';
import { describe } from 'vitest';
import { seal } from '#audit/seal';
import { openDatabase } from '#stores/sqlite/database';
import { prune } from '#stores/sqlite/retention';
import { createAppend } from '#stores/sqlite/sqlite-audit';
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
      sweep: async () => {
        const database = await openDatabase({ file, busyDeadlineMs: 5000 });
        await prune(database, { now: clock.now(), append: createAppend(seal, () => clock.now()) });
        database.close();
      },
      ofSweep: 1,
    };
  });
});
