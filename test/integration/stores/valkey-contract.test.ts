import { afterAll, beforeAll, describe } from 'vitest';
import { storeContract } from './store-contract.ts';
import { createFakeClock } from './store-fixtures.ts';
import { openTestValkey } from './valkey-fixtures.ts';
import { startValkey, type ValkeyServer } from './valkey-server.ts';

let server: ValkeyServer;
beforeAll(async () => {
  server = await startValkey();
}, 300_000);
afterAll(() => server.close());

describe('Valkey', () => {
  storeContract(async () => {
    await server.operator.flushall();
    const clock = createFakeClock();
    return {
      open: (options = {}) => openTestValkey(server, { clock, ...options }),
      now: () => clock.now(),
      advance: async (ms) => clock.advance(ms),
      sweep: async () => (await openTestValkey(server, { clock })).keepHouse(),
      ofSweep: 0,
    };
  });
});
