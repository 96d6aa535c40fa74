/** A grant is worth one call, however many processes claim it at once. `test/bench/claim-races.ts` does the same a hundred times. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { claimRounds, type RoundResult } from './claim-rounds.ts';
import { temporaryFolder } from './store-fixtures.ts';
import { startValkey } from './valkey-server.ts';

const rounds = 5;

const won: readonly Omit<RoundResult, 'ms'>[] = Array.from({ length: rounds }, () => ({ won: 1, recorded: 1, status: 'consumed' }));

async function play(store: string): Promise<readonly object[]> {
  const results: object[] = [];
  await claimRounds({ store, rounds, processes: 4, claims: 1000 }, ({ won: winners, recorded, status }) =>
    results.push({ won: winners, recorded, status }),
  );
  return results;
}

it('SQLite: of 1,000 claims from four processes exactly one wins, five times', { timeout: 300_000 }, async () => {
  expect(await play(join(temporaryFolder(), 'state', 'banksman.db'))).toEqual(won);
});

it('Valkey: of 1,000 claims from four processes exactly one wins, five times', { timeout: 300_000 }, async () => {
  const server = await startValkey();
  try {
    expect(await play(server.url)).toEqual(won);
  } finally {
    await server.close();
  }
});
