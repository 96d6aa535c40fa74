/** Which requests a person's search words fit. */

import type { RequestRecord } from '#kernel/approval/request';
import { isJsonObject, type JsonValue } from '#kernel/json';

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

/**
 * False only where no record that is written as this JSON can fit: most of what is stored need not be parsed then.
 * What has escapes that none of our writers makes is left to `matchRequest`.
 */
export function mayMatch(search: string | undefined): (json: string) => boolean {
  const wanted = folded((search ?? '').trim());
  // What JSON writes in another way than it is.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is escaped
  if (isBlank(search) || /[\u0000-\u001f"\\]|\p{Cs}/u.test(wanted)) return () => true;
  return (json) => folded(json).includes(wanted) || /\\[u/]/.test(json);
}

/** SECURITY: not the arguments, not the texts of held changes, and not what a detector matched: a search must not tell, letter by letter, what it may not show. */
function searched({ id, title, action, agent, reported }: RequestRecord): readonly string[] {
  const texts = [id, title, action.tool, agent.id, agent.label, agent.model, reported?.destination];
  return [...texts.filter((text) => text !== undefined), ...action.targets.flatMap(({ changes: _texts, ...target }) => leavesOf(target))];
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
