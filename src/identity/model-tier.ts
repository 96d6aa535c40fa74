/** A model's tier by its name (seed 001's table). Whole tokens are compared, never substrings: `dolphin` is not `phi`. */
import type { ModelTier } from '#kernel/tiers';

const table: readonly { readonly tier: ModelTier; readonly names: readonly string[] }[] = [
  { tier: 'basic', names: ['llama3.2:3b', 'phi', 'gemma:2b', 'tinyllama'] },
  { tier: 'intermediate', names: ['qwen2.5:7b', 'mistral:7b', 'llama3.1:8b', 'neural-chat', 'deepseek:7b', 'openchat'] },
  {
    tier: 'advanced',
    names: ['claude-3-5-sonnet', 'claude-3-opus', 'gpt-4', 'gpt-4-turbo', 'grok-2', 'deepseek-r1', 'qwen2.5:72b', 'llama3.1:70b'],
  },
];

/** Words that make another, smaller model of a known name. */
const smaller = new Set(['mini', 'nano', 'micro', 'tiny', 'small', 'lite', 'distill', 'distilled']);

/** A name that matches no entry is basic; so is a smaller relative of a known one. */
export function modelTierOf(model: string): ModelTier {
  const words = wordsOf(model);
  const hits = table
    .flatMap(({ tier, names }) => names.map((name) => ({ tier, words: wordsOf(name) })))
    .filter((entry) => isPrefix(entry.words, words));
  const longest = hits.toSorted((a, b) => b.words.length - a.words.length)[0];
  if (longest === undefined) return 'basic';
  const rest = words.slice(longest.words.length);
  return rest.some((word) => smaller.has(word) || isSmallSize(word, longest.tier)) ? 'basic' : longest.tier;
}

/** `openrouter/Qwen2.5:7B-instruct` → `qwen2.5`, `7b`, `instruct`; the vendor's path is cut off. */
function wordsOf(name: string): readonly string[] {
  const last = name.toLowerCase().split('/').at(-1) ?? '';
  return last.split(/[^a-z0-9.]+/).filter((word) => word !== '');
}

function isPrefix(entry: readonly string[], words: readonly string[]): boolean {
  return entry.length > 0 && entry.every((word, index) => words[index] === word);
}

/** A size behind a name that the table lists without one: less than 7 billion parameters, which its intermediate models have, or at most 14. */
function isSmallSize(word: string, tier: ModelTier): boolean {
  const billions = /^(\d+(?:\.\d+)?)b$/.exec(word)?.[1];
  if (billions === undefined) return false;
  return tier === 'intermediate' ? Number(billions) < 7 : Number(billions) <= 14;
}
