/** One change as lines for people: on a card, in a terminal, on a page. */
import { isJsonObject, type JsonObject } from '../json.ts';
import { asIs, asListed, joined, type Message, plainly, say } from './message.ts';
import { showPlainly } from './text.ts';

/**
 * Every line escaped. Whoever writes to a store can write anything into it: what is no text is no line.
 * @param change a `ShownChange`, or what a store says is one
 */
export function changeLines({ path, kind, facts, why, diff }: JsonObject): readonly Message[] {
  const texts = (value: unknown) => (Array.isArray(value) ? value : [value]).filter((item) => typeof item === 'string');
  const plain = (value: unknown) => texts(value).map((text) => showPlainly(text));
  const what = changeWords(plain(kind).join(''), plain(path).join(''));
  const said = texts(facts).map((fact) => plainly(asListed(fact)));
  return [
    said.length === 0 ? what : say`${what} (${joined(said)})`,
    ...texts(why).map((reason) => say`  held: ${plainly(asListed(reason))}`),
    ...plain(diff).map((line) => asIs(`  ${line}`)),
  ];
}

function changeWords(kind: string, path: string): Message {
  if (kind === 'create') return say`create ${path}`;
  if (kind === 'modify') return say`modify ${path}`;
  if (kind === 'attributes') return say`attributes ${path}`;
  if (kind === 'delete') return say`delete ${path}`;
  return kind === 'replace' ? say`replace ${path}` : asIs(`${kind} ${path}`);
}

/** A dialog has no room for more; the rest is where there is room for all. */
export const heldLinesOnCard = 60;

/** Of one held target, or of all that an action names. */
export function changesIn(targets: readonly JsonObject[]): readonly JsonObject[] {
  const lists = targets.filter(({ kind }) => kind === 'held').map(({ changes }) => changes);
  return lists.filter(Array.isArray).flat().filter(isJsonObject);
}
