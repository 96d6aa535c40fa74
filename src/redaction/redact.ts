/**
 * What leaves: secrets out, invisible characters out, size capped. Pure; where nothing was cut, redacting twice changes nothing more.
 * Works on values, not on serialized text, so that structure survives.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import { redactionMark, redactionMarksIn } from '#kernel/text/marks';
import { stripUnseen } from '#kernel/text/text';
import { hintWords, holdsHint, pairText } from './hint-pairs.ts';
import { isPlaceholder } from './literal-secret.ts';
import { type SecretPattern, secretlintFinds, secretlintHints, secretPatterns } from './secret-patterns.ts';

export interface RedactionOptions {
  /** Exact secrets that this process knows (API tokens). Shorter than eight characters are ignored: they would eat ordinary text. */
  readonly knownSecrets: readonly string[];
  /** Longest string kept, in UTF-16 code units; head and tail survive. */
  readonly maxStringLength: number;
}

/** Fields whose whole value is a secret by the last words of their name: `password`, `client_secret`, `DB_PASSWORD`, `apiToken`. */
const secretField =
  /(?:^|[_-])(?:password|passwd|passphrase|secret|token|api[_-]?key|private[_-]?key|secret[_-]?key|cipassword|authorization|ticket)$/i;
const secretHump = /[a-z0-9](?:Password|Passphrase|Secret|Token|ApiKey|PrivateKey|SecretKey)$/;

/** In lower case: one of these stands in each name that one of the two takes. */
const fieldHints = ['pass', 'secret', 'token', 'key', 'authorization', 'ticket'];

/** What one replacement uncovers (two halves that meet) another takes; each round ends with fewer secrets, so few rounds do. */
const mostRounds = 5;

/** The same JSON with every string made fit to leave. Keys keep their place; two that become equal by it are one. */
export function redactJson(value: JsonValue, options: RedactionOptions): JsonValue {
  return isPlainJson(value, options) ? value : redactParts(value, options);
}

/** The same, each string looked at by itself. */
function redactParts(value: JsonValue, options: RedactionOptions): JsonValue {
  if (typeof value === 'string') return redactText(value, options);
  if (Array.isArray(value)) return value.map((item) => redactParts(item as JsonValue, options));
  if (isJsonObject(value)) return redactObject(value, options);
  return value;
}

export function redactObject(value: JsonObject, options: RedactionOptions): JsonObject {
  const entries = Object.entries(value).map(([key, item]) => [redactText(key, options), redactField(key, item, options)] as const);
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
}

/** Text with secrets replaced by `[redacted:kind]`, unseen characters removed, and cut in the middle when too long. */
export function redactText(text: string, options: RedactionOptions): string {
  let clean = stripUnseen(text);
  for (let round = 0; round < mostRounds; round += 1) {
    const before = clean;
    clean = withoutSecrets(clean, options.knownSecrets);
    if (clean === before) break;
  }
  return cutMiddle(clean, options.maxStringLength);
}

/** How many secrets were taken out on the way from `before` to `after`; placeholders that stood there already do not count. */
export function secretsTaken(before: JsonValue, after: JsonValue): number {
  if (before === after) return 0;
  return Math.max(0, marksIn(after) - marksIn(before));
}

function marksIn(value: JsonValue | undefined): number {
  if (typeof value === 'string') return redactionMarksIn(value).length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + marksIn(item), 0);
}

function withoutSecrets(text: string, knownSecrets: readonly string[]): string {
  let clean = text;
  // The longest first: one may be part of another.
  for (const secret of knownSecrets.toSorted((a, b) => b.length - a.length)) {
    if (secret.length >= 8) clean = clean.replaceAll(secret, redactionMark('known'));
  }
  // Rows have thousands of short values with nothing in them.
  if (clean.length < shortText && !anyHint.test(clean.toLowerCase())) return clean;
  const paired = pairText(clean);
  const whole = clean;
  for (const pattern of hintedPatterns) if (holdsHint(paired, pattern.words)) clean = withoutPattern(clean, pattern);
  for (const { kind, secret } of secretlintFinds(clean, clean === whole ? paired : pairText(clean)))
    clean = clean.replaceAll(secret, redactionMark(kind));
  return clean;
}

/**
 * Whether nothing in the value can be a secret or unseen, from one look at all of it as JSON: a word without quotes and backslashes stands in
 * a string's JSON where it stands in the string, and what JSON escapes beside those two and line ends is not plain. In doubt it is not.
 */
function isPlainJson(value: JsonValue, { knownSecrets, maxStringLength }: RedactionOptions): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'string';
  const json = freshJson(value);
  if (json.length > maxStringLength || holdsUnplain(json)) return false;
  if (knownSecrets.some((secret) => json.includes(JSON.stringify(secret).slice(1, -1)))) return false;
  return !holdsHint(pairText(json), jsonHints);
}

/** JSON escapes every other control character. A backslash that is itself escaped may stand before the letter: in doubt it is not plain. */
const unplainInJson = ['\u007f', '\\u', '\\b', '\\f', '\\r'];

/** Anything beside printable ASCII, line ends and tabs: as a pattern with a class of characters, in a seventh of its time. */
function holdsUnplain(json: string): boolean {
  return Buffer.byteLength(json) !== json.length || unplainInJson.some((part) => json.includes(part));
}

const hintedPatterns = secretPatterns.map((pattern) => ({ ...pattern, words: hintWords(pattern.hints) }));

/** Up to here one look for all hints is cheaper than a look for each. */
const shortText = 1_000;
const anyHint = new RegExp(
  [...new Set([...secretPatterns.flatMap((pattern) => pattern.hints), ...secretlintHints])].map(escaped).join('|'),
);

/** With the words of `secretField` and `secretHump` that are no hints of a pattern already. */
const jsonHints = hintWords([...secretPatterns.flatMap((pattern) => pattern.hints), ...secretlintHints, ...fieldHints]);

function escaped(hint: string): string {
  return hint.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function withoutPattern(text: string, { kind, pattern, accepts }: SecretPattern): string {
  return text.replace(pattern, (...args: readonly unknown[]) => {
    const groups = args.slice(
      0,
      args.findIndex((arg) => typeof arg === 'number'),
    ) as readonly (string | undefined)[];
    const [whole = ''] = groups;
    const secret = groups.findLast((group) => group !== undefined) ?? whole;
    const offset = args[groups.length] as number;
    const after = text.slice(offset + whole.length, offset + whole.length + 20);
    const accepted = accepts === undefined ? !isPlaceholder(secret) : !secret.startsWith('[redacted:') && accepts(secret, groups, after);
    return accepted ? `${whole.slice(0, whole.length - secret.length)}${hidden(kind, secret)}` : whole;
  });
}

/** Quotes stay where they are. */
function hidden(kind: string, secret: string): string {
  const [quote = ''] = secret;
  return secret.length > 1 && /["'`]/.test(quote) && secret.endsWith(quote)
    ? `${quote}${redactionMark(kind)}${quote}`
    : redactionMark(kind);
}

function redactField(key: string, item: JsonValue | undefined, options: RedactionOptions): JsonValue | undefined {
  if (item === undefined) return undefined;
  if (!secretField.test(key) && !secretHump.test(key)) return redactParts(item, options);
  if (Array.isArray(item)) return item.map((entry) => redactField(key, entry as JsonValue, options) ?? null);
  return isSecretValue(item) ? redactionMark('field') : redactParts(item, options);
}

/** Flags and small numbers under such a name say something else. */
function isSecretValue(item: JsonValue): boolean {
  return (typeof item === 'string' && item !== '') || (typeof item === 'number' && String(item).length >= 4);
}

function cutMiddle(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const half = Math.floor((maxLength - 60) / 2);
  const dropped = text.length - 2 * half;
  return `${text.slice(0, half)}\n[… ${dropped} characters left out …]\n${text.slice(-half)}`.toWellFormed();
}

// What a value is as JSON, kept for as long as the value is: a result is searched for secrets, then measured and marked.

const texts = new WeakMap<object, string>();

/** Made anew, and kept for whoever looks at the same value next. */
export function freshJson(value: JsonValue): string {
  const text = JSON.stringify(value);
  if (typeof value === 'object' && value !== null) texts.set(value, text);
  return text;
}

/** As it was when `freshJson` last saw this very value. SECURITY: only where the same call asked for that; what is searched is made anew. */
export function keptJson(value: JsonValue): string {
  return (typeof value === 'object' && value !== null ? texts.get(value) : undefined) ?? JSON.stringify(value);
}
