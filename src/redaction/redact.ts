/**
 * What leaves: secrets out, invisible characters out, size capped. Pure and idempotent: redacting twice changes nothing more.
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

/** Each pattern is linear-time: bounded repeats, no nested quantifiers. */
const secretPatterns: readonly SecretPattern[] = [
  { kind: 'private-key', pattern: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]{0,65536}?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g },
  { kind: 'pve-token', pattern: /(?<=PVEAPIToken[=:] ?[^\s=:]{1,128}[=:])[0-9a-fA-F-]{16,64}/g },
  { kind: 'aws-key', pattern: /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g },
  { kind: 'github-token', pattern: /\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b/g },
  { kind: 'gitlab-token', pattern: /\bglpat-[A-Za-z0-9_-]{20,64}\b/g },
  { kind: 'slack-token', pattern: /\bxox[abeoprs]-[A-Za-z0-9-]{10,250}\b/g },
  { kind: 'api-key', pattern: /\bsk-[A-Za-z0-9_-]{20,250}\b/g },
  { kind: 'jwt', pattern: /\beyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}\b/g },
  { kind: 'bearer', pattern: /(?<=\b[Bb]earer )[A-Za-z0-9._~+/-]{12,2000}=*/g },
  { kind: 'url-password', pattern: /(?<=\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{0,100}:)[^\s:/@]{1,200}(?=@)/gi },
  {
    kind: 'password',
    pattern:
      /(?<=\b(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?token|auth[_-]?token)["']? ?[=:] ?["']?)[^\s"',;[\]]{4,500}/gi,
  },
];

/** Fields whose whole value is a secret by its name. */
const secretField = /^(?:password|passwd|passphrase|secret|token|api[_-]?key|private[_-]?key|cipassword|authorization)$/i;

/** The same JSON with every string (keys left alone) made fit to leave. */
export function redactJson(value: JsonValue, options: RedactionOptions): JsonValue {
  if (typeof value === 'string') return redactText(value, options);
  if (Array.isArray(value)) return value.map((item) => redactJson(item as JsonValue, options));
  if (isJsonObject(value)) return redactObject(value, options);
  return value;
}

export function redactObject(value: JsonObject, options: RedactionOptions): JsonObject {
  const entries = Object.entries(value).map(([key, item]) => [key, redactField(key, item, options)] as const);
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
}

/** Text with secrets replaced by `[redacted:kind]`, unseen characters removed, and cut in the middle when too long. */
export function redactText(text: string, options: RedactionOptions): string {
  let clean = stripUnseen(text);
  for (const secret of options.knownSecrets) {
    if (secret.length >= 8) clean = clean.replaceAll(secret, '[redacted:known]');
  }
  for (const { kind, pattern } of secretPatterns) clean = clean.replace(pattern, `[redacted:${kind}]`);
  return cutMiddle(clean, options.maxStringLength);
}

function redactField(key: string, item: JsonValue | undefined, options: RedactionOptions): JsonValue | undefined {
  if (item === undefined) return undefined;
  if (secretField.test(key) && typeof item === 'string' && item !== '') return '[redacted:field]';
  return redactJson(item, options);
}

function cutMiddle(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const half = Math.floor((maxLength - 60) / 2);
  const dropped = text.length - 2 * half;
  return `${text.slice(0, half)}\n[… ${dropped} characters left out …]\n${text.slice(-half)}`.toWellFormed();
}
