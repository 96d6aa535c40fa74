/** What a caller gave where something else was wanted, in a few words. */
import { showPlainly } from './text.ts';

const longestShown = 60;

/** The value at `path` of what was given; undefined where there is nothing. */
export function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key) ? (value as Record<PropertyKey, unknown>)[key] : undefined,
    given,
  );
}

/** `, found `"5"``; nothing where nothing was given. Long and nested values are described. */
export function foundWords(given: unknown, path: readonly PropertyKey[]): string {
  const value = valueAt(given, path);
  return value === undefined ? '' : `, found ${described(value)}`;
}

function described(value: unknown): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'string')
    return value.length <= longestShown ? `\`${showPlainly(JSON.stringify(value))}\`` : `text of ${value.length} characters`;
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return `\`${value}\``;
  // Hosts in this process can hand over more than JSON has.
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
