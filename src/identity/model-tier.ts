/**
 * A model's tier by its name. Whole words are compared, never substrings (`dolphin` is not `phi`), and every word of the name must be
 * understood: `not-gpt-4`, `gpt-4-uncensored` and `somebody/gpt-4` are other models. In doubt basic.
 */
import { type ModelTier, modelTiers } from '#kernel/tiers';
import { type ModelFamily, type ModelLine, modelFamilies, plainWords, routers, smallerWords } from './model-families.ts';
import { formatWord, type ModelName, parseModelName } from './model-name.ts';

/** Below 7 billion parameters `basic`, below 65 at most `intermediate` (docs/design.md#who-may-do-what). */
const intermediateFrom = 7;
const advancedFrom = 65;

/** A name that matches no entry is basic; so is one that is too long or not plain ASCII. */
export function modelTierOf(model: string): ModelTier {
  const name = parseModelName(model);
  if (name === undefined) return 'basic';
  const found = familyOf(name);
  if (found === undefined || !isFrom(found, name)) return 'basic';
  const fits = found.family.lines.flatMap((line) => fitOf(line, found));
  const most = Math.max(...fits.map((fit) => fit.line.words.length));
  return lowest(
    fits.filter((fit) => fit.line.words.length === most).map((fit) => tierOf(fit, name)),
    'basic',
  );
}

interface Found {
  readonly family: ModelFamily;
  /** The words behind the head. */
  readonly rest: readonly string[];
  /** A vendor's name before the head: `meta-llama-3.1`. */
  readonly prefix: string | undefined;
}

/** The family with the longest head; a version may be glued to it, a vendor's word stand before it. */
function familyOf({ words }: ModelName): Found | undefined {
  const candidates = modelFamilies
    .flatMap((family) => family.heads.map((head) => ({ family, head })))
    .toSorted((a, b) => b.head.length - a.head.length)
    .flatMap(({ family, head }) => restsOf(words, family, head).map((place) => ({ family, ...place })));
  return candidates[0];
}

function restsOf(words: readonly string[], family: ModelFamily, head: readonly string[]): readonly Omit<Found, 'family'>[] {
  const direct = restBehind(words, family, head);
  if (direct !== undefined) return [{ rest: direct, prefix: undefined }];
  const [prefix = '', ...others] = words;
  const behindVendor = family.vendors.includes(prefix) || routers.includes(prefix) ? restBehind(others, family, head) : undefined;
  return behindVendor === undefined ? [] : [{ rest: behindVendor, prefix }];
}

function restBehind(words: readonly string[], family: ModelFamily, head: readonly string[]): readonly string[] | undefined {
  if (head.every((word, index) => words[index] === word)) return words.slice(head.length);
  const [first = '', ...others] = words;
  const glued = /^([a-z]+)(\d[\d.]*[a-z]?)$/.exec(first);
  if (!family.open || head.length > 1 || glued?.[1] !== head[0]) return undefined;
  return [glued?.[2] ?? '', ...others];
}

/** Another's name for something is not the vendor's: only published weights, with their size in the name, may come from anybody. */
function isFrom({ family }: Found, { namespaces, billions }: ModelName): boolean {
  const known = (name: string) => family.vendors.includes(name) || routers.includes(name) || /^arn:aws[a-z-]*:bedrock:/.test(name);
  if (namespaces.every(known)) return true;
  return family.open && billions !== undefined && namespaces.every((name) => /^[a-z0-9@][a-z0-9._-]*$/.test(name));
}

interface Fit {
  readonly line: ModelLine;
  /** Words that make it smaller. */
  readonly smaller: readonly ModelTier[];
}

/** The line, if its words are all there and what is left says nothing unknown. */
function fitOf(line: ModelLine, { family, rest }: Found): readonly Fit[] {
  const left = [...rest];
  for (const word of line.words) {
    const index = left.findIndex((candidate) => matches(word, candidate));
    if (index < 0) return [];
    left.splice(index, 1);
  }
  if (!left.every((word) => isPlain(word) || Object.hasOwn(smallerWords, word) || (family.also ?? []).some((also) => matches(also, word))))
    return [];
  return [{ line, smaller: left.flatMap((word) => smallerWords[word] ?? []) }];
}

function matches(pattern: string | RegExp, word: string): boolean {
  return typeof pattern === 'string' ? pattern === word : pattern.test(word);
}

/** Dressing, a file's format, a date or revision (`20241022`, `0613`, `v0.3`), a context length. */
function isPlain(word: string): boolean {
  return plainWords.has(word) || formatWord.test(word) || /^(?:\d{2,8}|v\d{1,2}(?:\.\d{1,2})?|\d{1,4}k|1m)$/.test(word);
}

function tierOf({ line, smaller }: Fit, { billions, activeBillions }: ModelName): ModelTier {
  const base = line.tier === 'size' ? (bySize(billions) ?? line.unsized ?? 'basic') : line.tier;
  const size = line.sizeOfExpert === true && (billions ?? 0) >= intermediateFrom ? undefined : bySize(billions);
  const active: ModelTier | undefined = activeBillions !== undefined && activeBillions < intermediateFrom ? 'intermediate' : undefined;
  const caps = [line.most, size, active];
  return lowest([base, ...smaller, ...caps.filter((cap) => cap !== undefined)], base);
}

function bySize(billions: number | undefined): ModelTier | undefined {
  if (billions === undefined) return undefined;
  if (billions < intermediateFrom) return 'basic';
  return billions < advancedFrom ? 'intermediate' : 'advanced';
}

function lowest(tiers: readonly ModelTier[], none: ModelTier): ModelTier {
  const places = tiers.map((tier) => modelTiers.indexOf(tier));
  return places.length === 0 ? none : (modelTiers[Math.min(...places)] ?? 'basic');
}
