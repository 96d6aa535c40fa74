/** A model's name taken apart into the words that the table of families knows. Names come in every dress: routers, clouds, quantized files. */

export interface ModelName {
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
export function parseModelName(name: string): ModelName | undefined {
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
export const formatWord =
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
