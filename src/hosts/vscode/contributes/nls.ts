/**
 * The manifest's long texts, moved to `package.nls.json`: the editor puts them back in when it reads the manifest, and what is left is small
 * enough for tools that read it as structure (https://code.visualstudio.com/api/references/extension-manifest, "Useful node modules").
 */
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';

/** Keys whose values are texts for people or models. */
const textKeys: ReadonlySet<string> = new Set([
  ...['title', 'displayName', 'description', 'markdownDescription', 'modelDescription', 'userDescription', 'contents', 'altText'],
  ...['enumDescriptions', 'markdownEnumDescriptions'],
]);
/** Shorter ones stay where a reader sees them. */
const shortText = 16;
/** Longer patterns are no text, but nobody reads them where they stand either. */
const shortPattern = 60;

export interface Externalized {
  readonly manifest: JsonValue;
  /** Key → text; a text that stands in several places has one key. */
  readonly texts: Readonly<Record<string, string>>;
}

export function externalize(manifest: JsonValue): Externalized {
  const keys = new Map<string, string>();
  const walk = (value: JsonValue, names: readonly string[]): JsonValue => {
    if (typeof value === 'string') return isText(value, names) ? `%${keyOf(value, names)}%` : value;
    if (Array.isArray(value)) return value.map((entry: JsonValue, index) => walk(entry, [...names, nameOf(entry) ?? String(index)]));
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(entriesOf(value).map(([name, entry]) => [name, walk(entry, [...names, name])]));
  };
  const keyOf = (text: string, names: readonly string[]): string => {
    const known = keys.get(text);
    if (known !== undefined) return known;
    const taken = new Set(keys.values());
    const short = shortName(names);
    let key = short;
    for (let count = 2; taken.has(key); count += 1) key = `${short}.${count}`;
    keys.set(text, key);
    return key;
  };
  const walked = walk(manifest, []);
  const texts = Object.fromEntries([...keys].map(([text, key]) => [key, text] as const).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { manifest: walked, texts };
}

/** What the editor does when it reads the manifest. @throws where a key has no text */
export function internalize(value: JsonValue, texts: Readonly<Record<string, string>>): JsonValue {
  if (typeof value === 'string') {
    const key = /^%(.+)%$/.exec(value)?.[1];
    if (key === undefined) return value;
    const text = texts[key];
    if (text === undefined) throw new Error(`package.nls.json has no \`${key}\``);
    return text;
  }
  if (Array.isArray(value)) return value.map((entry: JsonValue) => internalize(entry, texts));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(entriesOf(value).map(([name, entry]) => [name, internalize(entry, texts)]));
}

/** Without keys that have no value: JSON has none. */
export function entriesOf(value: JsonObject): readonly (readonly [string, JsonValue])[] {
  return Object.entries(value).flatMap(([name, entry]) => (entry === undefined ? [] : [[name, entry] as const]));
}

function isText(value: string, names: readonly string[]): boolean {
  if (names.at(-1) === 'pattern') return value.length > shortPattern;
  return value.length > shortText && names.slice(-2).some((name) => textKeys.has(name));
}

/** Arrays of things with a name of their own are told apart by it. */
function nameOf(entry: JsonValue): string | undefined {
  if (!isJsonObject(entry)) return undefined;
  const { name, command, id, view } = entry satisfies JsonObject;
  return [name, command, id, view].find((own): own is string => typeof own === 'string');
}

/** What a name holds by itself: said only where two of them differ. */
const usualKinds: ReadonlySet<string> = new Set(['description', 'modelDescription', 'markdownDescription', 'title']);

/** The last name that says something, and what kind of text it is where that is not the usual one: `get_vms`, `vmid`, `get_vms.displayName`. */
function shortName(names: readonly string[]): string {
  const isNumber = (name: string) => /^\d+$/.test(name);
  const structure = new Set([
    'properties',
    'items',
    'anyOf',
    'oneOf',
    'inputSchema',
    'additionalProperties',
    'contributes',
    'steps',
    'configuration',
  ]);
  const telling = names.filter((name) => !structure.has(name) && !isNumber(name)).map((name) => name.replace(/^banksman[._]/, ''));
  return telling.slice(-2, telling.length > 1 && usualKinds.has(telling.at(-1) ?? '') ? -1 : undefined).join('.');
}
