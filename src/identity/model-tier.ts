/**
 * A model's tier by its name. Whole words are compared, never substrings (`dolphin` is not `phi`), and every word of the name must be
 * understood: `not-gpt-4`, `gpt-4-uncensored` and `somebody/gpt-4` are other models. In doubt basic.
 */
import { type ModelTier, modelTiers } from '#kernel/tiers';
import { type ModelFamily, type ModelLine, modelFamilies, plainWords, routers, smallerWords } from './model-families.ts';

/** Below 7 billion parameters `basic`, below 65 at most `intermediate` (docs/design.md#who-may-do-what). */
const intermediateFrom = 7;
const advancedFrom = 65;

/** A name that matches no entry is basic; so is one that is too long or not plain ASCII. */
export function modelTierOf(model: string): ModelTier {
  return knownTierOf(model) ?? 'basic';
}

/**
 * Of a model that a person picked out of an editor's list, by the first of its names that the table knows.
 * SECURITY: never above `most`, what the configuration gives a model nobody knows: whoever adds a model to the list names it.
 * @param unknown where the table knows none of its names
 */
export function tierOfPicked(names: readonly string[], most: ModelTier, unknown: ModelTier = 'basic'): ModelTier {
  const known = names.map(knownTierOf).find((tier) => tier !== undefined);
  return lowest([known ?? unknown, most], most);
}

/** undefined: no entry fits. */
function knownTierOf(model: string): ModelTier | undefined {
  const name = parseModelName(model);
  if (name === undefined) return undefined;
  const found = familyOf(name);
  if (found === undefined || !isFrom(found, name)) return undefined;
  const fits = found.family.lines.flatMap((line) => fitOf(line, found));
  if (fits.length === 0) return undefined;
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
}

/** The family with the longest head; a version may be glued to it, a vendor's word stand before it. */
function familyOf({ words }: ModelName): Found | undefined {
  const candidates = modelFamilies
    .flatMap((family) => family.heads.map((head) => ({ family, head })))
    .toSorted((a, b) => b.head.length - a.head.length)
    .flatMap(({ family, head }) => {
      const rest = restOf(words, family, head);
      return rest === undefined ? [] : [{ family, rest }];
    });
  return candidates[0];
}

/** A vendor's name may stand before the head: `meta-llama-3.1`. */
function restOf(words: readonly string[], family: ModelFamily, head: readonly string[]): readonly string[] | undefined {
  const direct = restBehind(words, family, head);
  if (direct !== undefined) return direct;
  const [prefix = '', ...others] = words;
  return family.vendors.includes(prefix) || routers.includes(prefix) ? restBehind(others, family, head) : undefined;
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

// A model's name taken apart into the words that the table of families knows. Names come in every dress: routers, clouds, quantized files.

interface ModelName {
  /** What stands before the last `/`, or before the dot of a cloud's vendor prefix: `openrouter`, `anthropic`. Lower case. */
  readonly namespaces: readonly string[];
  /** The words of the name itself, in order; versions such as `3-5` joined to `3.5`. */
  readonly words: readonly string[];
  /** Billions of parameters, the smallest where several are named; undefined where none is. */
  readonly billions: number | undefined;
  /** Billions that work on one token (`a22b`), of a mixture of experts. */
  readonly activeBillions: number | undefined;
}

/** Longer ones are no model's name. */
const longestName = 200;

/** Amazon Bedrock: an optional region, then the vendor (docs.aws.amazon.com/bedrock, model ids). */
const cloudPrefix =
  /^(?:(?:us|us-gov|eu|apac|jp|au|ca|global)\.)?(anthropic|meta|mistral|cohere|deepseek|openai|qwen|google|nvidia|minimax|moonshot|moonshotai|zai|amazon)\.(?=[a-z])/;

/** … and a revision at the end: `-v1:0`, `-v2:0:200k`. */
const cloudRevision = /-v\d{1,2}:\d{1,2}(?::\d{1,4}k)?$/;

/** undefined for what no vendor would call a model: empty, over-long, anything but plain ASCII. */
function parseModelName(name: string): ModelName | undefined {
  // SECURITY: ASCII before lower case. `K` (U+212A) has `k` as its lower case, and full-width letters look like others.
  if (name.length > longestName || !/^[\x20-\x7e]+$/.test(name.trim())) return undefined;
  const segments = name.trim().toLowerCase().split('/');
  const last = segments.pop() ?? '';
  const cloud = cloudPrefix.exec(last);
  const vendor = cloud?.[1];
  const own = last.slice(cloud?.[0].length ?? 0).replace(cloudRevision, '');
  const words = joinVersions(wordsOf(own));
  return {
    namespaces: [...segments, ...(vendor === undefined ? [] : [vendor])],
    words: words.filter((word) => sizeOf(word) === undefined && activeSizeOf(word) === undefined),
    billions: smallest(words.map(sizeOf)),
    activeBillions: smallest(words.map(activeSizeOf)),
  };
}

/** A quantization or file format as one word: `q4_k_m`, `iq2_xxs`, `fp8`, `4bit`, `w4a16`. */
const formatWord =
  /^(?:i?q\d(?:_(?:\d|k|[sml]|x{1,2}[sl]|nl)){0,3}|ud|fp?(?:4|8|16|32)|bf16|nf4|int[48]|u?int[48]|mxfp4|nvfp4|\d{1,2}bit|w\d{1,2}a\d{1,2}|gguf|ggml|awq|gptq|exl[23]|mlx|bnb|onnx|qat|imatrix)$/;

function wordsOf(name: string): readonly string[] {
  return name
    .split(/[-:@\s]+/)
    .flatMap((word) => (formatWord.test(word) ? [word] : word.split(/[^a-z0-9.]+/)))
    .filter((word) => word !== '')
    .map((word) => word.replace(/^(v?\d)p(\d)$/, '$1.$2'));
}

/** `claude-3-5-sonnet`, `llama3-1-70b`: single digits side by side are one version. */
function joinVersions(words: readonly string[]): readonly string[] {
  const joined: string[] = [];
  for (const word of words) {
    const before = joined.at(-1);
    if (before !== undefined && /^\d$/.test(word) && /^(?:[a-z]+)?\d$/.test(before)) joined[joined.length - 1] = `${before}.${word}`;
    else joined.push(word);
  }
  return joined;
}

/** `70b`, `e4b` (as good as 4), `8x7b` (56 in all), `135m`, `1t`; not `1m`, which is a context length. */
function sizeOf(word: string): number | undefined {
  const match = /^(?:(\d{1,3})x|e)?(\d{1,4}(?:\.\d{1,3})?)([bt]|(?<=\d{2})m)$/.exec(word);
  if (match === null) return undefined;
  const [, experts, number, unit] = match;
  const scale = unit === 'b' ? 1 : unit === 't' ? 1000 : 0.001;
  return Number(number) * Number(experts ?? 1) * scale;
}

function activeSizeOf(word: string): number | undefined {
  const number = /^a(\d{1,3}(?:\.\d{1,3})?)b$/.exec(word)?.[1];
  return number === undefined ? undefined : Number(number);
}

function smallest(sizes: readonly (number | undefined)[]): number | undefined {
  const known = sizes.filter((size) => size !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
