/** Thousands of requests at once, written as the stores write them: opening as many one by one would take minutes. */
import type { DatabaseSync } from 'node:sqlite';
import type { Redis } from 'iovalkey';
import { type RequestRecord, requestLifeMs } from '#kernel/approval/request';
import { keysOf, pendingScore } from '#stores/valkey/keys';
import { requestText } from '#stores/valkey/stored-request';
import { draftBy } from './request-fixtures.ts';

const batch = 2000;

/** Number `index` of `count`: for VM 100 + `index`, opened a millisecond after the one before. */
function pending(index: number, count: number): RequestRecord {
  const createdAt = Date.now() - count + index;
  const id = `req-${index.toString(16).padStart(8, '0')}`;
  return { ...draftBy(`mcp:agent-${index % 1000}`, 100 + index), id, status: 'pending', createdAt, expiresAt: createdAt + requestLifeMs };
}

/** With the agent's own rights. */
export async function fillValkey(agent: Redis, count: number): Promise<void> {
  const keys = keysOf('molis');
  for (let done = 0; done < count; done += batch) {
    const pipeline = agent.pipeline();
    for (let index = done; index < Math.min(count, done + batch); index += 1) {
      const record = pending(index, count);
      const place = record.createdAt * 1000;
      pipeline.set(keys.blocked(record.id), requestText({ record, place }), 'EX', 3600).zadd(keys.pending, pendingScore(place), record.id);
    }
    await pipeline.exec();
  }
}

/** Into a store's file that has been opened once. */
export function fillSqlite(database: DatabaseSync, count: number): void {
  const insert = database.prepare(
    `INSERT INTO requests (id, status, digest, agent_id, agent_host, draft, created_at, expires_at, due_at)
     VALUES (?, 'pending', ?, ?, ?, ?, ?, ?, ?)`,
  );
  database.exec('BEGIN');
  for (let index = 0; index < count; index += 1) {
    const { id, status: _, createdAt, expiresAt, ...draft } = pending(index, count);
    insert.run(id, draft.digest, draft.agent.id, draft.agent.host, JSON.stringify(draft), createdAt, expiresAt, expiresAt);
  }
  database.exec('COMMIT');
}
