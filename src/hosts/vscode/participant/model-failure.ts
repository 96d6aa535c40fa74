/** Why a model did not answer, out of what its provider threw. */
import { textOf } from '#kernel/json';

export interface ModelFailure {
  readonly kind: 'not_allowed' | 'gone' | 'quota' | 'blocked' | 'no_tools' | 'other';
  /** The provider's own words; '' where it gave none. SECURITY: from outside. */
  readonly message: string;
}

/** @param thrown what `sendRequest` or its stream rejected with; providers wrap what they got, or do not */
export function modelFailure(thrown: unknown): ModelFailure {
  const chain = causes(thrown);
  // The innermost says most: what is around it is often only that there was an error.
  const message = chain.findLast((cause) => cause.message !== '')?.message ?? '';
  const words = chain.flatMap(({ name, code }) => [name, code]);
  const said = chain.map((cause) => cause.message).join('\n');
  return { kind: kindOf(words, said), message };
}

function kindOf(words: readonly string[], said: string): ModelFailure['kind'] {
  if (words.includes('NoPermissions')) return 'not_allowed';
  if (words.includes('NotFound')) return 'gone';
  if (words.some((word) => /quota|ratelimit/i.test(word)) || /\bquota\b|rate.?limit|\b429\b/i.test(said)) return 'quota';
  if (words.includes('Blocked')) return 'blocked';
  return withoutTools.test(said) ? 'no_tools' : 'other';
}

const withoutTools = /\b(?:tool|function)s?\b.{0,60}\b(?:not|un)[ -]?support|not support.{0,60}\b(?:tool|function)s?\b/i;

interface Cause {
  readonly name: string;
  readonly code: string;
  readonly message: string;
}

const mostCauses = 5;

function causes(thrown: unknown): readonly Cause[] {
  const chain: Cause[] = [];
  for (let one = thrown; one instanceof Error && chain.length < mostCauses; one = one.cause)
    chain.push({ name: one.name, code: textOf(Reflect.get(one, 'code')) ?? '', message: one.message });
  return chain.length === 0 ? [{ name: '', code: '', message: textOf(thrown) ?? '' }] : chain;
}
