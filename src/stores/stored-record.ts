/** A record of the trail as a store keeps it: JSON, which somebody may have altered. */
import type { AuditEventName, AuditRecord } from '#kernel/audit-event';
import { isJsonObject } from '#kernel/json';

/** undefined for what is no record. */
export function parseStoredRecord(text: string): AuditRecord | undefined {
  const value = parse(text);
  return isRecordShaped(value) ? value : undefined;
}

/** What is no record any more is handed on as one that can never verify, so that reading the rest stays possible. `sequence`: its place. */
export function storedRecord(text: string, sequence: number): AuditRecord {
  const unreadable = {
    version: 1,
    sequence,
    time: '',
    name: 'unreadable' as AuditEventName,
    attributes: {},
    previous: '',
    hash: '',
  } as const;
  return parseStoredRecord(text) ?? unreadable;
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
