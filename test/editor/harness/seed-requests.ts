import path from 'node:path';
import { seal } from '#audit/seal';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { draftOf, opened, stopAction } from '../../integration/stores/request-fixtures.ts';

/** Puts `count` requests of many agents on other machines into the editor's store; VM 10001 is the oldest. */
export async function seedRequests(stateDir: string, count: number): Promise<void> {
  const store = await openSqliteStore({ file: path.join(stateDir, 'banksman', 'banksman.db'), seal, maxPendingPerAgent: count });
  try {
    for (let number = 1; number <= count; number += 1) {
      const id = `mcp:host${number % 40}`;
      await opened(store, draftOf({ agent: { id, host: 'mcp', label: id.slice(4) }, action: stopAction(10_000 + number, id) }));
    }
  } finally {
    await store.close();
  }
}
