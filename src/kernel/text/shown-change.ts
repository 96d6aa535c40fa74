/** One change as lines for people: on a card, in a terminal, on a page. */
import { isJsonObject, type JsonObject } from '../json.ts';
import { showPlainly } from './text.ts';

/**
 * Every line escaped. Whoever writes to a store can write anything into it: what is no text is no line.
 * @param change a `ShownChange`, or what a store says is one
 */
export function changeLines({ path, kind, facts, why, diff }: JsonObject): readonly string[] {
  const texts = (value: unknown) => (Array.isArray(value) ? value : [value]).filter((item) => typeof item === 'string');
  const plain = (value: unknown) => texts(value).map((text) => showPlainly(text));
  const said = texts(facts).length > 0 ? ` (${plain(facts).join(', ')})` : '';
  return [
    `${plain(kind).join('')} ${plain(path).join('')}${said}`,
    ...plain(why).map((reason) => `  held: ${reason}`),
    ...plain(diff).map((line) => `  ${line}`),
  ];
}

/** A dialog has no room for more; the rest is where there is room for all. */
export const heldLinesOnCard = 60;

/** Of one held target, or of all that an action names. */
export function changesIn(targets: readonly JsonObject[]): readonly JsonObject[] {
  const lists = targets.filter(({ kind }) => kind === 'held').map(({ changes }) => changes);
  return lists.filter(Array.isArray).flat().filter(isJsonObject);
}
