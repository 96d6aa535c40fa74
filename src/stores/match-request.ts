/** Which requests a person's search words fit. */
import { isJsonObject, type JsonValue } from '#kernel/json';
import type { RequestRecord } from '#kernel/request';

export type RequestMatch = (record: RequestRecord) => boolean;

export function isBlank(search: string | undefined): boolean {
  return search === undefined || search.trim() === '';
}

/** Fits what holds `search`, whatever its case, in id, title, tool, agent, model or target. undefined and blank fit all. */
export function matchRequest(search: string | undefined): RequestMatch {
  if (isBlank(search)) return () => true;
  const wanted = folded((search ?? '').trim());
  return (record) => searched(record).some((text) => folded(text).includes(wanted));
}

/** SECURITY: not the arguments, and not what a detector matched: a search must not tell, letter by letter, what it may not show. */
function searched({ id, title, action, agent, reported }: RequestRecord): readonly string[] {
  const texts = [id, title, action.tool, agent.id, agent.label, agent.model, reported?.destination];
  return [...texts.filter((text) => text !== undefined), ...action.targets.flatMap(leavesOf)];
}

function leavesOf(value: JsonValue | undefined): readonly string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)];
  if (Array.isArray(value)) return value.flatMap((item) => leavesOf(item as JsonValue));
  return isJsonObject(value) ? Object.values(value).flatMap(leavesOf) : [];
}

/** Upper case does not depend on what stands around a letter, as lower case does. */
function folded(text: string): string {
  return text.normalize('NFC').toUpperCase();
}
