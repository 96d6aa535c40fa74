/** A grant is worth one call, however many processes claim it at once. `npm run soak` does the same a hundred times. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { claimRounds, type RoundResult } from './claim-rounds.ts';
import { temporaryFolder } from './store-fixtures.ts';
import { startValkey } from './valkey-server.ts';

const rounds = 5;

async function play(store: string): Promise<void> {
  const results: RoundResult[] = [];
  await claimRounds({ store, rounds, processes: 4, claims: 1000 }, (result) => results.push(result));
  expect(results.map(({ won, recorded, status }) => ({ won, recorded, status }))).toEqual(
    Array.from({ length: rounds }, () => ({ won: 1, recorded: 1, status: 'consumed' })),
  );
}

it('SQLite: of 1,000 claims from four processes exactly one wins, five times', { timeout: 300_000 }, async () => {
  await play(join(temporaryFolder(), 'state', 'banksman.db'));
});

it('Valkey: of 1,000 claims from four processes exactly one wins, five times', { timeout: 300_000 }, async () => {
  const server = await startValkey();
  try {
    await play(server.url);
  } finally {
    await server.close();
  }
});
