/** JSON values, and the one byte form of them that digests, signatures and the audit chain are computed over. */

export type JsonPrimitive = string | number | boolean | null;
export type JsonValue = JsonPrimitive | readonly JsonValue[] | JsonObject;
export type JsonObject = { readonly [key: string]: JsonValue | undefined };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Canonical JSON as of RFC 8785 (JCS): keys sorted by UTF-16 code units, ECMAScript number and string forms, no white space.
 * A key whose value is `undefined` counts as absent.
 * @throws {TypeError} on a value JSON cannot carry (NaN, Infinity, a lone surrogate, a function, a bigint).
 */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item as JsonValue)).join(',')}]`;
  if (isJsonObject(value)) return canonicalObject(value);
  if (typeof value === 'string') return canonicalString(value);
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`not a JSON number: \`${value}\``);
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return JSON.stringify(value);
  throw new TypeError(`not a JSON value: \`${typeof value}\``);
}

function canonicalObject(value: JsonObject): string {
  let members = '';
  for (const key of sortedKeys(value)) {
    const member = value[key];
    if (member !== undefined) members += `${members === '' ? '' : ','}${canonicalString(key)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}

/** What was read from a canonical form has its keys in order already: whole trails are looked through. */
function sortedKeys(value: JsonObject): readonly string[] {
  const keys = Object.keys(value);
  return keys.every((key, index) => index === 0 || (keys[index - 1] ?? '') < key) ? keys : keys.toSorted();
}

/** Whether `canonicalJson` gives it a form, for a third of what making it costs. @throws {RangeError} as it does, on nesting without end */
export function hasCanonicalForm(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value === 'number') return Number.isFinite(value);
  if (Array.isArray(value)) return value.every(hasCanonicalForm);
  if (isJsonObject(value))
    return Object.entries(value).every(([key, item]) => item === undefined || (key.isWellFormed() && hasCanonicalForm(item)));
  return value === null || typeof value === 'boolean';
}

function canonicalString(text: string): string {
  // Nearly all there is: nothing in it is escaped.
  if (/^[ !#-[\]-~]*$/.test(text)) return `"${text}"`;
  // RFC 8785 §3.2.2.2: a lone surrogate is an error. JSON.stringify would escape it in silence.
  if (!text.isWellFormed()) throw new TypeError('not well-formed Unicode: lone surrogate');
  return JSON.stringify(text);
}

/** The value where it is a text. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A text or number as text; anything else is none. */
export function wordOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
