/**
 * The manifest's long texts, moved to `package.nls.json`: the editor puts them back in when it reads the manifest, and what is left is small
 * enough for tools that read it as structure (https://code.visualstudio.com/api/references/extension-manifest, "Useful node modules").
 */
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';

/** Keys whose values are texts for people, or for models where they are part of a tool's schema. */
const textKeys: ReadonlySet<string> = new Set([
  ...['title', 'displayName', 'description', 'markdownDescription', 'modelDescription', 'userDescription', 'contents', 'altText'],
  ...['enumDescriptions', 'markdownEnumDescriptions', 'fullName', 'sampleRequest'],
]);
/** Shorter ones for models stay where a reader sees them. */
const shortText = 16;
/** The product's own name is the same everywhere. */
const ownName = 'Banksman';
/** Longer patterns are no text, but nobody reads them where they stand either. */
const shortPattern = 60;

export interface Externalized {
  readonly manifest: JsonValue;
  /** Key → text; a text that stands in several places has one key. */
  readonly texts: Readonly<Record<string, string>>;
  /** The keys of what people read: each needs a translation. The rest is for models, who are told the same in every language. */
  readonly forPeople: ReadonlySet<string>;
}

export function externalize(manifest: JsonValue): Externalized {
  const keys = new Map<string, string>();
  const forPeople = new Set<string>();
  const walk = (value: JsonValue, names: readonly string[]): JsonValue => {
    if (typeof value === 'string') return isText(value, names) ? `%${keyOf(value, names)}%` : value;
    if (Array.isArray(value)) return value.map((entry: JsonValue, index) => walk(entry, [...names, nameOf(entry) ?? String(index)]));
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(entriesOf(value).map(([name, entry]) => [name, walk(entry, [...names, name])]));
  };
  const keyOf = (text: string, names: readonly string[]): string => {
    const key = keys.get(text) ?? newKey(text, names);
    if (isForPeople(text, names)) forPeople.add(key);
    return key;
  };
  const newKey = (text: string, names: readonly string[]): string => {
    const taken = new Set(keys.values());
    const short = shortName(names);
    let key = short;
    for (let count = 2; taken.has(key); count += 1) key = `${short}.${count}`;
    keys.set(text, key);
    return key;
  };
  const walked = walk(manifest, []);
  const texts = Object.fromEntries([...keys].map(([text, key]) => [key, text] as const).sort(([a], [b]) => (a < b ? -1 : 1)));
  return { manifest: walked, texts, forPeople };
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
  return isForPeople(value, names) || (value.length > shortText && isTextKey(names));
}

function isTextKey(names: readonly string[]): boolean {
  return names.slice(-2).some((name) => textKeys.has(name)) || (names.includes('views') && names.at(-1) === 'name');
}

/** Of a setting's schema the parts are shown by the editor, of a tool's by the model. */
function isForPeople(value: string, names: readonly string[]): boolean {
  const isForModels = names.at(-1) === 'modelDescription' || names.includes('inputSchema');
  return isTextKey(names) && !isForModels && value !== ownName;
}

/** Arrays of things with a name of their own are told apart by it. */
function nameOf(entry: JsonValue): string | undefined {
  if (!isJsonObject(entry)) return undefined;
  const { name, command, id, view } = entry satisfies JsonObject;
  return [name, command, id, view].find((own): own is string => typeof own === 'string');
}

/** What a name holds by itself: said only where two of them differ. */
const usualKinds: ReadonlySet<string> = new Set(['description', 'modelDescription', 'markdownDescription', 'title']);

/** Kinds that many keys end in. */
const shortKinds: Readonly<Record<string, string>> = { displayName: 'name', enumDescriptions: 'enum' };

/** The last name that says something, and what kind of text it is where that is not the usual one: `get_vms`, `vmid`, `get_vms.name`. */
function shortName(names: readonly string[]): string {
  if (names.at(-1) === 'userDescription') return 'user';
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
  const last = telling.slice(-2, telling.length > 1 && usualKinds.has(telling.at(-1) ?? '') ? -1 : undefined);
  return last.map((name) => shortKinds[name] ?? name).join('.');
}
