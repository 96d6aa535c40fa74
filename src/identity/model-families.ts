/**
 * The table of models, as data: the families up to 2026. Levels are a judgement, made with caution: what holds a long
 * plan and writes files without supervision is `advanced`, what follows a tool's schema reliably is `intermediate`, the rest is `basic`.
 * To add a model: its family's line, and its name in test/unit/identity/model-names.ts.
 */
import type { ModelTier } from '#kernel/tiers';

/** A word, or a pattern that must fit one whole word. */
type Word = string | RegExp;

export interface ModelLine {
  /** Each of them must be there, in any order. */
  readonly words: readonly Word[];
  /** `size`: by the billions in the name; without any, `unsized`. */
  readonly tier: ModelTier | 'size';
  /** Default basic: who does not say its size is small. */
  readonly unsized?: ModelTier;
  /** No size lifts it above this: an older or narrower line. */
  readonly most?: ModelTier;
  /** The size in its name is that of one expert among many: it only counts when it is tiny. */
  readonly sizeOfExpert?: boolean;
}

export interface ModelFamily {
  /** First words of the name: `['command', 'r']`. A version may be glued to a single one of an open family: `llama3.1`. */
  readonly heads: readonly (readonly string[])[];
  /** Who publishes it: the namespace it may stand in, besides routers and clouds. */
  readonly vendors: readonly string[];
  /** Weights are published: anybody's copy counts as the model, if the name says its size. */
  readonly open: boolean;
  /** Words that change nothing, besides the general ones. */
  readonly also?: readonly Word[];
  readonly lines: readonly ModelLine[];
}

function wordsIn(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}

/** Where models of many vendors are served; a namespace that is none of these and not the vendor's own is somebody else's model. */
export const routers: readonly string[] = wordsIn(`
  accounts azure azure_ai azure-openai bedrock cerebras copilot databricks deepinfra fireworks fireworks_ai
  github github_copilot groq litellm lmstudio lm_studio models ollama ollama_chat openai-compatible opencode
  openrouter perplexity publishers replicate sambanova together together_ai vercel vertex vertex_ai vllm
  workers-ai @cf hf.co huggingface.co huggingface
`);

/** Words that say nothing about what a model can do: dressing, context lengths, files, effort. */
export const plainWords: ReadonlySet<string> = new Set(
  wordsIn(`
    instruct chat it latest preview exp experimental beta stable free paid cloud online nitro floor
    exacto extended thinking think reasoning no non none nothink high medium low minimal xhigh max
    turbo instant versatile specdec maas tput vision vl multimodal tools tool use function calling fc
    hf i1 k m s l xl unsloth dynamic original update text dpo rlhf moe hybrid fast
  `),
);

/** Words that make another, smaller model of a known one. */
export const smallerWords: Readonly<Record<string, ModelTier>> = {
  mini: 'intermediate',
  nano: 'basic',
  micro: 'basic',
  tiny: 'basic',
  small: 'basic',
  lite: 'basic',
  light: 'basic',
  little: 'basic',
  distill: 'basic',
  distilled: 'basic',
  mobile: 'basic',
  edge: 'basic',
  pico: 'basic',
  pruned: 'basic',
  draft: 'basic',
  base: 'basic',
};

const closedFamilies: readonly ModelFamily[] = [
  {
    heads: [['claude']],
    vendors: ['anthropic'],
    open: false,
    lines: [
      { words: [/^3(?:\.5)?$|^4(?:\.[0-9])?$|^5(?:\.[0-9])?$/, 'opus'], tier: 'advanced' },
      { words: [/^3\.[57]$|^4(?:\.[0-9])?$|^5(?:\.[0-9])?$/, 'sonnet'], tier: 'advanced' },
      { words: [/^[45](?:\.[0-9])?$/, 'fable'], tier: 'advanced' },
      { words: ['3', 'sonnet'], tier: 'intermediate' },
      { words: [/^3(?:\.5)?$|^4(?:\.[0-9])?$|^5(?:\.[0-9])?$/, 'haiku'], tier: 'intermediate' },
      { words: [/^2(?:\.[01])?$/], tier: 'intermediate' },
    ],
  },
  {
    heads: [['gpt'], ['chatgpt']],
    vendors: ['openai'],
    open: false,
    also: ['codex', 'pro', 'turbo', '32k', '16k', '128k'],
    lines: [
      { words: [/^4(?:o|\.[15])?$|^5(?:\.[0-9])?$/], tier: 'advanced' },
      { words: ['3.5', 'turbo'], tier: 'intermediate' },
    ],
  },
  {
    heads: [['o1'], ['o3'], ['o4']],
    vendors: ['openai'],
    open: false,
    also: ['pro', 'deep', 'research'],
    lines: [{ words: [], tier: 'advanced' }],
  },
  { heads: [['codex', 'mini']], vendors: ['openai'], open: false, lines: [{ words: [], tier: 'intermediate' }] },
  {
    heads: [['gemini']],
    vendors: ['google', 'gemini'],
    open: false,
    also: ['customtools'],
    lines: [
      { words: [/^1\.5$|^2\.[05]$|^3(?:\.[0-9])?$/, 'pro'], tier: 'advanced' },
      { words: [/^1\.5$|^2\.[05]$|^3(?:\.[0-9])?$/, 'flash'], tier: 'intermediate' },
      { words: [/^1(?:\.0)?$/, 'pro'], tier: 'intermediate' },
      { words: ['pro'], tier: 'intermediate' },
      { words: ['flash'], tier: 'intermediate' },
      { words: [/^1(?:\.0)?$/, 'ultra'], tier: 'intermediate' },
    ],
  },
  {
    heads: [['grok']],
    vendors: ['xai', 'x-ai'],
    open: false,
    lines: [
      { words: [/^2$|^3$|^4(?:\.[0-9]{1,2})?$|^5$/], tier: 'advanced' },
      { words: [/^3$|^4(?:\.[0-9]{1,2})?$/, 'fast'], tier: 'intermediate' },
      { words: ['code', 'fast', '1'], tier: 'intermediate' },
      { words: [/^1(?:\.5)?$/], tier: 'intermediate' },
    ],
  },
  {
    heads: [['nova']],
    vendors: ['amazon'],
    open: false,
    lines: [
      { words: ['premier'], tier: 'advanced' },
      { words: ['pro'], tier: 'intermediate' },
      { words: ['lite'], tier: 'basic' },
    ],
  },
  {
    heads: [['command']],
    vendors: ['cohere', 'coherelabs', 'cohereforai', 'c4ai'],
    open: false,
    also: ['plus', 'reasoning', 'vision'],
    lines: [
      { words: ['a'], tier: 'advanced' },
      { words: ['r'], tier: 'intermediate' },
      { words: ['r7b'], tier: 'intermediate' },
    ],
  },
];

const openFamilies: readonly ModelFamily[] = [
  {
    heads: [['llama']],
    vendors: ['meta', 'meta-llama'],
    open: true,
    also: ['16e', '128e'],
    lines: [
      { words: [/^v?3(?:\.[12])?$/], tier: 'size' },
      { words: [/^v?3\.3$/], tier: 'size', unsized: 'advanced' },
      { words: ['4', 'scout'], tier: 'intermediate' },
      { words: ['4', 'maverick'], tier: 'advanced', sizeOfExpert: true },
      { words: [/^v?[12]$/], tier: 'size', most: 'intermediate' },
      { words: [/^v?3(?:\.[13])?$/, 'nemotron'], tier: 'size' },
      { words: [/^v?3(?:\.[13])?$/, 'nemotron', 'super'], tier: 'size', unsized: 'intermediate' },
      { words: [/^v?3(?:\.[13])?$/, 'nemotron', 'ultra'], tier: 'size', unsized: 'advanced' },
    ],
  },
  {
    heads: [['codellama']],
    vendors: ['meta', 'meta-llama'],
    open: true,
    also: ['code', 'python'],
    lines: [{ words: [], tier: 'size', most: 'intermediate' }],
  },
  { heads: [['tinyllama']], vendors: [], open: true, also: [/^\d(?:\.\d)?$/], lines: [{ words: [], tier: 'basic' }] },
  {
    heads: [['qwen']],
    vendors: ['qwen', 'alibaba'],
    open: true,
    also: ['omni', '2504', '2507', '2509'],
    lines: [
      { words: [/^2(?:\.5)?$|^3(?:\.[0-9])?$/], tier: 'size' },
      { words: [/^2(?:\.5)?$/, /^(?:coder|math)$/], tier: 'size' },
      { words: [/^3(?:\.[0-9])?$/, /^(?:coder|next)$/], tier: 'size', unsized: 'intermediate' },
      { words: [/^1(?:\.5)?$/], tier: 'size', most: 'intermediate' },
      { words: [/^3(?:\.[0-9])?$/, /^coder$/, /^(?:plus|flash)$/], tier: 'intermediate' },
      { words: [/^2\.5$|^3(?:\.[0-9])?$/, 'max'], tier: 'advanced' },
      { words: [/^2\.5$|^3(?:\.[0-9])?$/, /^(?:plus|flash)$/], tier: 'intermediate' },
      { words: ['max'], tier: 'advanced' },
      { words: ['plus'], tier: 'intermediate' },
    ],
  },
  { heads: [['qwq'], ['qvq']], vendors: ['qwen'], open: true, lines: [{ words: [], tier: 'size' }] },
  {
    heads: [
      ['codeqwen'],
      ['codegemma'],
      ['starcoder'],
      ['yi'],
      ['falcon'],
      ['solar'],
      ['olmo'],
      ['internlm'],
      ['exaone'],
      ['aya'],
      ['vicuna'],
      ['zephyr'],
    ],
    vendors: [],
    open: true,
    also: [/^v?\d(?:\.\d)?$/, 'expanse', 'deep'],
    lines: [{ words: [], tier: 'size', most: 'intermediate' }],
  },
  {
    heads: [['deepseek']],
    vendors: ['deepseek', 'deepseek-ai'],
    open: true,
    also: ['0324', '0528', 'speciale', 'terminus', 'zero'],
    lines: [
      { words: [], tier: 'size', most: 'intermediate' },
      { words: ['llm'], tier: 'size', most: 'intermediate' },
      { words: ['coder'], tier: 'size', most: 'intermediate' },
      { words: ['coder', /^v?2(?:\.5)?$/], tier: 'size', unsized: 'intermediate', most: 'intermediate' },
      { words: [/^v?2(?:\.5)?$/], tier: 'size', unsized: 'intermediate', most: 'intermediate' },
      { words: [/^v?[34](?:\.[0-9])?$/], tier: 'size', unsized: 'advanced' },
      { words: ['r1'], tier: 'size', unsized: 'advanced' },
      { words: ['r1', 'distill', /^(?:llama|qwen)$/], tier: 'size' },
      { words: ['r1', /^qwen3?$/], tier: 'size' },
      { words: ['chat'], tier: 'advanced' },
      { words: ['reasoner'], tier: 'advanced' },
    ],
  },
  {
    heads: [['mistral']],
    vendors: ['mistral', 'mistralai'],
    open: true,
    lines: [
      { words: [], tier: 'size', most: 'intermediate' },
      { words: ['large'], tier: 'size', unsized: 'advanced' },
      { words: ['large', /^[23]$/], tier: 'size', unsized: 'advanced' },
      { words: ['medium'], tier: 'intermediate' },
      { words: ['medium', /^3(?:\.[0-9])?$/], tier: 'intermediate' },
      { words: ['small'], tier: 'size', unsized: 'intermediate' },
      { words: ['small', /^[3-4](?:\.[0-9])?$/], tier: 'size', unsized: 'intermediate' },
      { words: ['small3.1'], tier: 'size', unsized: 'intermediate' },
      { words: ['small3.2'], tier: 'size', unsized: 'intermediate' },
      { words: ['nemo'], tier: 'size', unsized: 'intermediate' },
      { words: ['openorca'], tier: 'size', most: 'intermediate' },
    ],
  },
  { heads: [['mixtral']], vendors: ['mistral', 'mistralai'], open: true, lines: [{ words: [], tier: 'size' }] },
  {
    heads: [['magistral'], ['devstral'], ['codestral'], ['pixtral']],
    vendors: ['mistral', 'mistralai'],
    open: true,
    also: ['mamba', /^[12](?:\.[0-9])?$/, 'large'],
    lines: [
      { words: [], tier: 'size', unsized: 'intermediate' },
      { words: ['small'], tier: 'size', unsized: 'intermediate', most: 'intermediate' },
    ],
  },
  {
    heads: [['ministral']],
    vendors: ['mistral', 'mistralai'],
    open: true,
    also: ['3'],
    lines: [{ words: [], tier: 'size', most: 'intermediate' }],
  },
  {
    heads: [['gemma']],
    vendors: ['google'],
    open: true,
    also: ['v2'],
    lines: [
      { words: [], tier: 'size', most: 'intermediate' },
      { words: [/^1(?:\.1)?$|^[23]$|^3n$/], tier: 'size', most: 'intermediate' },
    ],
  },
  {
    heads: [['phi']],
    vendors: ['microsoft'],
    open: true,
    also: ['4k', '8k', '16k', '128k', 'plus', 'silica'],
    lines: [
      { words: [], tier: 'size', most: 'intermediate' },
      { words: [/^[123](?:\.5)?$/], tier: 'size', most: 'intermediate' },
      { words: ['3', 'medium'], tier: 'size', unsized: 'intermediate', most: 'intermediate' },
      { words: ['4'], tier: 'size', unsized: 'intermediate', most: 'intermediate' },
      { words: [/^[34](?:\.5)?$/, 'mini'], tier: 'basic' },
      { words: ['4', 'multimodal'], tier: 'basic' },
    ],
  },
  {
    heads: [['glm'], ['chatglm']],
    vendors: ['zhipu', 'zhipuai', 'z-ai', 'zai', 'zai-org', 'thudm'],
    open: true,
    lines: [
      { words: [/^[1-4]$/], tier: 'size', most: 'intermediate' },
      { words: [/^4\.[567]v?$|^5(?:\.[0-9])?$/], tier: 'size', unsized: 'advanced' },
      { words: [/^4(?:\.[567]v?)?$|^5(?:\.[0-9])?$/, /^(?:air|airx|flash|flashx|x)$/], tier: 'intermediate' },
      { words: ['4', 'plus'], tier: 'intermediate' },
    ],
  },
  {
    heads: [['kimi']],
    vendors: ['moonshot', 'moonshotai'],
    open: true,
    also: ['0711', '0905'],
    lines: [
      { words: [/^k[23](?:\.[0-9])?$/], tier: 'size', unsized: 'advanced' },
      { words: ['linear'], tier: 'size', most: 'intermediate' },
    ],
  },
  {
    heads: [['minimax']],
    vendors: ['minimax', 'minimaxai', 'minimax-ai'],
    open: true,
    also: ['80k', '40k'],
    lines: [
      { words: [/^m[123](?:\.[0-9])?$/], tier: 'size', unsized: 'advanced' },
      { words: ['text', /^0?1$/], tier: 'intermediate' },
    ],
  },
  { heads: [['gpt', 'oss']], vendors: ['openai'], open: true, also: ['safeguard'], lines: [{ words: [], tier: 'size' }] },
  {
    heads: [['granite']],
    vendors: ['ibm', 'ibm-granite'],
    open: true,
    also: ['code', 'dense', 'h'],
    lines: [
      { words: [], tier: 'size', most: 'intermediate' },
      { words: [/^[34](?:\.[0-9])?$/], tier: 'size', most: 'intermediate' },
    ],
  },
  {
    heads: [['nemotron']],
    vendors: ['nvidia'],
    open: true,
    also: [/^[34]$/],
    lines: [
      { words: [], tier: 'size' },
      { words: ['nano'], tier: 'size', most: 'intermediate' },
      { words: ['super'], tier: 'size', unsized: 'intermediate' },
      { words: ['ultra'], tier: 'size', unsized: 'advanced' },
    ],
  },
  { heads: [['smollm']], vendors: ['huggingfacetb'], open: true, also: [/^[23]$/], lines: [{ words: [], tier: 'basic' }] },
  {
    heads: [['neural', 'chat'], ['openchat']],
    vendors: ['intel', 'openchat'],
    open: true,
    also: [/^v?3(?:\.[0-9])?$/, '1210', '0106'],
    lines: [{ words: [], tier: 'size', unsized: 'intermediate', most: 'intermediate' }],
  },
];

export const modelFamilies: readonly ModelFamily[] = [...closedFamilies, ...openFamilies];
