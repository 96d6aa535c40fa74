import path from 'node:path';
import { seal } from '#audit/seal';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { draftOf, opened, stopAction } from '../../integration/stores/request-fixtures.ts';

interface Seeded {
  /** How many ask, in turn. */
  readonly agents?: number;
  /** The number of the oldest one's VM. */
  readonly from?: number;
}

/** Puts `count` requests of many agents on other machines into the editor's store; VM 10001 is the oldest. */
export async function seedRequests(stateDir: string, count: number, { agents = 40, from = 1 }: Seeded = {}): Promise<void> {
  const store = await openSqliteStore({ file: path.join(stateDir, 'banksman', 'banksman.db'), seal, maxPendingPerAgent: count + 1_000 });
  try {
    for (let number = from; number < from + count; number += 1) {
      const id = `mcp:host${number % agents}`;
      await opened(store, draftOf({ agent: { id, host: 'mcp', label: id.slice(4) }, action: stopAction(10_000 + number, id) }));
    }
  } finally {
    await store.close();
  }
}
