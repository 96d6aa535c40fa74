/**
 * The vendors' token formats as secretlint keeps them (docs/adr/0014). Its rules are plain synchronous functions; its core, which is
 * asynchronous and reads configuration, is not used.
 */
import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import { type HintWord, hintWords, holdsHint, type PairedText } from './hint-pairs.ts';

export interface FoundSecret {
  readonly kind: string;
  readonly secret: string;
}

/**
 * SECURITY: `filter-comments` would let any text switch the others off with `secretlint-disable`. `gcp` opens files by name. The two for URLs
 * leave out what looks like an example and would take the whole address; our own pattern takes every password in a URL. `github` needs 8 s
 * for a megabyte of `ghs_1_`, and our own patterns know its tokens.
 */
const unused = new Set(['filter-comments', 'gcp', 'basicauth', 'database-connection-string', 'github']);

/** Lower case. A rule whose formats begin with one of these has nothing to find in a text without them; one that is not here always runs. */
const hints: Readonly<Record<string, readonly string[]>> = {
  '1password': ['ops_'],
  anthropic: ['sk-ant-'],
  aws: ['secret'],
  cloudflare: ['cfk_', 'cfut_', 'cfat_'],
  docker: ['dckr_'],
  databricks: ['dapi', 'dose'],
  figma: ['figd_', 'figo'],
  gitlab: ['glpat-'],
  grafana: ['glc_', 'glsa_'],
  groq: ['gsk_'],
  'hashicorp-vault': ['hvs.', 'hvb.', 'hvr.'],
  huggingface: ['hf_', 'api_org_'],
  linear: ['lin_'],
  notion: ['secret_', 'ntn_'],
  npm: ['npm_', 'x-oauth-basic'],
  openai: ['sk-'],
  privatekey: ['private key'],
  sendgrid: ['sg.'],
  shopify: ['shp'],
  slack: ['xox', 'xapp', 'hooks.slack.com'],
  stripe: ['_live_', '_test_'],
  tailscale: ['tskey-'],
  vercel: ['vc'],
};

/** All of them; a rule without any would have to run always, so it counts as the empty hint that every text has. */
export const secretlintHints: readonly string[] = rules
  .filter((rule) => !unused.has(nameOf(rule)))
  .flatMap((rule) => hints[nameOf(rule)] ?? ['']);

/** A pattern that needs this many characters at least: none of the formats is shorter. */
const shortestToken = 16;

type Rule = (typeof rules)[number];
type Handler = ReturnType<Rule['create']>;
type Context = Parameters<Rule['create']>[0];
type Source = Parameters<NonNullable<Handler['file']>>[0];

interface Sink {
  found: FoundSecret[];
}

const sink: Sink = { found: [] };
const handlers: readonly { readonly words: readonly HintWord[] | undefined; readonly handler: Handler }[] = rules
  .filter((rule) => !unused.has(nameOf(rule)))
  .map((rule) => ({ words: wordsOf(nameOf(rule)), handler: rule.create(contextOf(nameOf(rule)), {}) }));

function wordsOf(name: string): readonly HintWord[] | undefined {
  const words = hints[name];
  return words === undefined ? undefined : hintWords(words);
}

function nameOf(rule: Rule): string {
  return rule.meta.id.replace(/^.*secretlint-rule-/, '');
}

/** In place of a message for people, a rule's translator hands on what the rule has found: the secret itself is among its properties. */
function contextOf(kind: string): Context {
  return {
    sharedOptions: {},
    createTranslator: () => (_id: unknown, data: unknown) => ({ message: '', messageId: '', data: { found: data } }),
    report: ({ message }: { readonly message: { readonly data: { readonly found: unknown } } }) => {
      // INVARIANT: ranges are not used. Some rules report the key's name with it, and the length of the secret alone.
      const secret = longestText(message.data.found);
      if (secret !== undefined) sink.found.push({ kind, secret });
    },
    ignore: () => undefined,
  };
}

function longestText(data: unknown): string | undefined {
  const texts = typeof data === 'object' && data !== null ? Object.values(data).filter((value) => typeof value === 'string') : [];
  return texts.toSorted((a, b) => b.length - a.length)[0];
}

/** Secrets in `text`, each as often as it was found. Linear: each rule's pattern has bounded repeats. `paired`: the pairs of this very text. */
export function secretlintFinds(text: string, paired: PairedText): readonly FoundSecret[] {
  if (text.length < shortestToken) return [];
  sink.found = [];
  // No name and no extension: nothing is read from a file, and no rule leaves the text out because of its name.
  const source = { content: text, contentType: 'text', filePath: undefined, ext: '' } as unknown as Source;
  for (const { words, handler } of handlers) if (words === undefined || holdsHint(paired, words)) void handler.file?.(source);
  const { found } = sink;
  sink.found = [];
  return found;
}
