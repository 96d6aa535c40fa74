/**
 * What leaves: secrets out, invisible characters out, size capped. Pure; where nothing was cut, redacting twice changes nothing more.
 * Works on values, not on serialized text, so that structure survives.
 */
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import { stripUnseen } from '#kernel/text';

export interface RedactionOptions {
  /** Exact secrets that this process knows (API tokens). Shorter than eight characters are ignored: they would eat ordinary text. */
  readonly knownSecrets: readonly string[];
  /** Longest string kept, in UTF-16 code units; head and tail survive. */
  readonly maxStringLength: number;
}

interface SecretPattern {
  readonly kind: string;
  readonly pattern: RegExp;
}

/**
 * Each pattern is linear in the text: every repeat is bounded, none is nested, and a match that fails has looked at a bounded number of
 * characters (for a key: up to the next dashed line, so that two keys never look at the same text).
 */
const secretPatterns: readonly SecretPattern[] = [
  // Its END line may have been cut off: then whatever follows, up to the next dashed line.
  {
    kind: 'private-key',
    pattern: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:[^-]|-(?!-{4})){0,65536}(?:-----END [A-Z ]{0,40}PRIVATE KEY-----)?/g,
  },
  { kind: 'approver-key', pattern: /\bed25519-private:[A-Za-z0-9_-]{16,200}/g },
  { kind: 'pve-token', pattern: /(?<=PVEAPIToken[=:] ?[^\s=:]{1,128}[=:])[0-9a-fA-F-]{16,64}/g },
  // `user@realm!name=UUID`, as `pveum` prints it and token files may hold it.
  {
    kind: 'pve-token',
    pattern: /(?<=@[A-Za-z0-9._-]{1,64}![A-Za-z0-9._-]{1,64}[=:] ?)[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}/g,
  },
  { kind: 'pve-ticket', pattern: /\bPVE(?:VNC)?:[^\s:"']{0,128}:[0-9A-F]{8}::[A-Za-z0-9+/]{20,1000}={0,2}/g },
  { kind: 'aws-key', pattern: /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g },
  { kind: 'github-token', pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b/g },
  { kind: 'gitlab-token', pattern: /\bglpat-[A-Za-z0-9_-]{20,64}\b/g },
  { kind: 'slack-token', pattern: /\bxox[abeoprs]-[A-Za-z0-9-]{10,250}\b/g },
  { kind: 'api-key', pattern: /\bsk-[A-Za-z0-9_-]{20,250}\b/g },
  // Not `\b`: `eyJ-eyJ-eyJ-…` would start anew, and look 2,000 characters ahead, at every hyphen.
  { kind: 'jwt', pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}/g },
  { kind: 'bearer', pattern: /(?<=\bbearer )[A-Za-z0-9._~+/-]{12,2000}=*/gi },
  { kind: 'basic-auth', pattern: /(?<=\bauthorization["']?: ?["']?basic )[A-Za-z0-9+/]{6,2000}={0,2}/gi },
  // The last `@` ends the password, which may itself hold colons.
  { kind: 'url-password', pattern: /(?<=\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{0,100}:)[^\s/"']{1,200}(?=@)/gi },
  // Also `DB_PASSWORD=…` and `--client-secret=…`: what stands before the word does not matter, unless it makes it a path.
  {
    kind: 'password',
    pattern:
      /(?<=(?:password|(?<!\/)passwd|passphrase|secret(?:[_-]?(?:access[_-]?)?key)?|api[_-]?key|(?<!PVEAPI)token)["']? ?[=:] ?["']?)(?!\[redacted:)[^\s"',;]{4,500}/gi,
  },
];

/** Fields whose whole value is a secret by the last words of their name: `password`, `client_secret`, `DB_PASSWORD`, `apiToken`. */
const secretField =
  /(?:^|[_-])(?:password|passwd|passphrase|secret|token|api[_-]?key|private[_-]?key|secret[_-]?key|cipassword|authorization|ticket)$/i;
const secretHump = /[a-z0-9](?:Password|Passphrase|Secret|Token|ApiKey|PrivateKey|SecretKey)$/;

/** The same JSON with every string made fit to leave. Keys keep their place; two that become equal by it are one. */
export function redactJson(value: JsonValue, options: RedactionOptions): JsonValue {
  if (typeof value === 'string') return redactText(value, options);
  if (Array.isArray(value)) return value.map((item) => redactJson(item as JsonValue, options));
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
  // The longest first: one may be part of another.
  for (const secret of options.knownSecrets.toSorted((a, b) => b.length - a.length)) {
    if (secret.length >= 8) clean = clean.replaceAll(secret, '[redacted:known]');
  }
  for (const { kind, pattern } of secretPatterns) clean = clean.replace(pattern, `[redacted:${kind}]`);
  return cutMiddle(clean, options.maxStringLength);
}

function redactField(key: string, item: JsonValue | undefined, options: RedactionOptions): JsonValue | undefined {
  if (item === undefined) return undefined;
  if (!secretField.test(key) && !secretHump.test(key)) return redactJson(item, options);
  if (Array.isArray(item)) return item.map((entry) => redactField(key, entry as JsonValue, options) ?? null);
  return isSecretValue(item) ? '[redacted:field]' : redactJson(item, options);
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
