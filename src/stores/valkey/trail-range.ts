/** Reading the shared log: a sorted set of records as canonical JSON. */
import type { Redis } from 'iovalkey';
import type { AuditEventName, AuditRecord } from '#kernel/audit-event';
import { isJsonObject } from '#kernel/json';
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

/** A member that is no record is handed on as one that can never verify, so that reading the rest stays possible. */
export function recordOf(member: string): AuditRecord {
  return (
    parsedRecord(member) ?? {
      version: 1,
      sequence: 0,
      time: '',
      name: 'unreadable' as AuditEventName,
      attributes: {},
      previous: '',
      hash: '',
    }
  );
}

/** undefined for what is no record. */
export function parsedRecord(member: string): AuditRecord | undefined {
  const value = parse(member);
  return isRecordShaped(value) ? value : undefined;
}

function isRecordShaped(value: unknown): value is AuditRecord {
  if (!isJsonObject(value) || typeof value.sequence !== 'number' || !isJsonObject(value.attributes)) return false;
  return [value.time, value.name, value.previous, value.hash].every((field) => typeof field === 'string');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
