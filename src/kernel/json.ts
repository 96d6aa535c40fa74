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
  // What was read from such a form, as whole trails are: the engine's own writer makes the same of it, but for a lone surrogate, which it escapes.
  const text = isInOrder(value) ? JSON.stringify(value) : undefined;
  return text === undefined || text.includes('\\ud') ? canonicalForm(value) : text;
}

function canonicalForm(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalForm(item as JsonValue)).join(',')}]`;
  if (isJsonObject(value)) return canonicalObject(value);
  if (typeof value === 'string') return canonicalString(value);
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`not a JSON number: \`${value}\``);
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return JSON.stringify(value);
  throw new TypeError(`not a JSON value: \`${typeof value}\``);
}

function canonicalObject(value: JsonObject): string {
  let members = '';
  for (const key of Object.keys(value).toSorted()) {
    const member = value[key];
    if (member !== undefined) members += `${members === '' ? '' : ','}${canonicalString(key)}:${canonicalForm(member)}`;
  }
  return `{${members}}`;
}

/** Plain data, all of it to be written, with its keys sorted at every depth. */
function isInOrder(value: unknown): boolean {
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value);
  if (value === null) return true;
  if (Array.isArray(value)) return isListInOrder(value);
  // Others may say for themselves how they are written.
  return Object.getPrototypeOf(value) === Object.prototype && isObjectInOrder(value as JsonObject);
}

function isObjectInOrder(value: JsonObject): boolean {
  let before: string | undefined;
  for (const key of Object.keys(value)) {
    if ((before !== undefined && key <= before) || !isInOrder(value[key])) return false;
    before = key;
  }
  return true;
}

/** Not by `every`, which passes over holes. */
function isListInOrder(list: readonly unknown[]): boolean {
  for (const item of list) if (!isInOrder(item)) return false;
  return true;
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
