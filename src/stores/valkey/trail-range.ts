/** Reading the shared log: a sorted set of records as canonical JSON. */
import type { Redis } from 'iovalkey';
import type { ValkeyRole } from './roles.ts';

/** Who may look, the least mighty first. */
export const trailReaders: readonly ValkeyRole[] = ['agent', 'log-writer', 'admin'];

export type LogRange = readonly [min: number | string, offset: number, count: number];

/** The agent's user has ZRANGE for the log, the log's own user ZRANGEBYSCORE. */
export function rangeOfLog(client: Redis, role: ValkeyRole, key: string, [min, offset, count]: LogRange): Promise<string[]> {
  if (count === 0) return Promise.resolve([]);
  return role === 'log-writer'
    ? client.zrangebyscore(key, min, '+inf', 'LIMIT', offset, count)
    : client.zrange(key, min, '+inf', 'BYSCORE', 'LIMIT', offset, count);
}
