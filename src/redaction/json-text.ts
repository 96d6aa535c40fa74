/** What a value is as JSON, kept for as long as the value is: a result is searched for secrets, then measured and marked. */
import type { JsonValue } from '#kernel/json';

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
