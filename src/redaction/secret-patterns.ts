/**
 * Our own patterns: what secretlint does not know (Proxmox VE, our tokens, hashes), what it takes too narrowly, and passwords by the word
 * before them. Each is linear in the text: every repeat is bounded, none is nested, and a match that fails has looked at a bounded number of
 * characters (for a key: up to the next dashed line, so that two keys never look at the same text).
 */

import { rules } from '@secretlint/secretlint-rule-preset-recommend';
import { type HintWord, hintWords, holdsHint, type PairedText } from './hint-pairs.ts';
import { isLiteralSecret, isPlaceholder } from './literal-secret.ts';

export interface SecretPattern {
  readonly kind: string;
  /** Lower case. Without one of them in the text there is no match: looking for them is a hundred times faster than the pattern. */
  readonly hints: readonly string[];
  /** Global. The secret is group 1 where there is one, else the whole match. */
  readonly pattern: RegExp;
  /** Whether the match is one; default: unless it is a placeholder. */
  accepts?(secret: string, match: readonly (string | undefined)[], after: string): boolean;
}

const hasDigit = (secret: string) => /\d/.test(secret);
/** `bearer authentication-scheme` is prose. */
const isNoProse = (secret: string) => !/^[A-Za-z]?[a-z]*(?:[-./][a-z]+)*\.?$/.test(secret) && !isPlaceholder(secret);

export const secretPatterns: readonly SecretPattern[] = [
  // Its END line may have been cut off: then whatever follows, up to the next dashed line.
  {
    kind: 'private-key',
    hints: ['private key'],
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!-{4})){0,65536}(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?/g,
  },
  { kind: 'private-key', hints: ['private-lines:'], pattern: /(?<=^Private-Lines: \d{1,4}\r?\n)(?:[A-Za-z0-9+/=]{1,128}\r?\n){1,500}/gm },
  { kind: 'private-key', hints: ['age-secret-key-'], pattern: /\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b/g },
  { kind: 'approver-key', hints: ['ed25519-private:'], pattern: /\bed25519-private:[A-Za-z0-9_-]{16,200}/g },
  { kind: 'mcp-token', hints: ['bkm.'], pattern: /\bbkm\.[a-z0-9_-]{1,63}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])/g },
  { kind: 'pve-token', hints: ['pveapitoken'], pattern: /(?<=PVEAPIToken[=:] ?[^\s=:]{1,128}[=:])[0-9a-fA-F-]{16,64}/g },
  // `user@realm!name=UUID`, as `pveum` prints it and token files may hold it.
  {
    kind: 'pve-token',
    hints: ['!'],
    pattern: /(?<=@[A-Za-z0-9._-]{1,64}![A-Za-z0-9._-]{1,64}[=:] ?)[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}/g,
  },
  {
    kind: 'pve-ticket',
    hints: ['pve:', 'pvevnc:', 'pbs:', 'pmg:'],
    pattern: /\b(?:PVE(?:VNC)?|PBS|PMG):[^\s:"']{0,128}:[0-9A-F]{8}::[A-Za-z0-9+/]{20,1000}={0,2}/g,
  },
  { kind: 'aws-key', hints: ['akia', 'asia', 'abia', 'acca'], pattern: /\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b/g },
  {
    kind: 'github-token',
    hints: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_'],
    pattern: /\b(?:gh[pousr]_[A-Za-z0-9_]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b/g,
  },
  {
    kind: 'gitlab-token',
    hints: ['glpat-', 'gldt-', 'glrt-', 'glcbt-', 'glptt-', 'glft-', 'glsoat-', 'glimt-', 'glagent-', 'gloas-'],
    pattern: /\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[A-Za-z0-9_.-]{20,128}\b/g,
  },
  { kind: 'slack-token', hints: ['xox', 'xapp-'], pattern: /\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,250}\b/g, accepts: hasDigit },
  { kind: 'api-key', hints: ['sk-'], pattern: /\bsk-[A-Za-z0-9_-]{20,250}\b/g, accepts: hasDigit },
  { kind: 'npm-token', hints: ['npm_'], pattern: /\bnpm_[A-Za-z0-9]{36}\b/g },
  {
    kind: 'stripe-key',
    hints: ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_', 'whsec_'],
    pattern: /\b(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,250}\b/g,
    accepts: hasDigit,
  },
  { kind: 'google-key', hints: ['aiza', 'gocspx-'], pattern: /\b(?:AIza[A-Za-z0-9_-]{35}|GOCSPX-[A-Za-z0-9_-]{28})(?![A-Za-z0-9_-])/g },
  { kind: 'google-key', hints: ['ya29.'], pattern: /\bya29\.[A-Za-z0-9_-]{20,1000}/g },
  { kind: 'pypi-token', hints: ['pypi-age'], pattern: /\bpypi-AgE[A-Za-z0-9_-]{50,1000}/g },
  { kind: 'digitalocean-token', hints: ['_v1_'], pattern: /\bdo[opr]_v1_[a-f0-9]{64}\b/g },
  { kind: 'telegram-token', hints: [':aa'], pattern: /\b\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])/g },
  {
    kind: 'azure-key',
    hints: ['accountkey=', 'sharedaccesskey='],
    pattern: /(?<=\b(?:AccountKey|SharedAccessKey)=)[A-Za-z0-9+/]{40,100}={0,2}/g,
  },
  // Not `\b`: `eyJ-eyJ-eyJ-…` would start anew, and look 2,000 characters ahead, at every hyphen.
  { kind: 'jwt', hints: ['eyj'], pattern: /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{10,2000}\.[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}/g },
  // crypt(5): shadow files and htpasswd.
  {
    kind: 'password-hash',
    hints: ['$1$', '$5$', '$6$', '$y$', '$gy$', '$7$', '$apr1$', '$2', '$argon2', '$sha1$'],
    pattern: /\$(?:[156]|y|gy|7|apr1|2[abxy]|argon2(?:id?|d)|sha1)\$[A-Za-z0-9./,=$+-]{20,300}/g,
  },
  { kind: 'bearer', hints: ['bearer '], pattern: /(?<=\bbearer )[A-Za-z0-9._~+/-]{12,2000}=*/gi, accepts: isNoProse },
  { kind: 'basic-auth', hints: ['basic '], pattern: /(?<=\bauthorization["']?: ?["']?basic )[A-Za-z0-9+/]{6,2000}={0,2}/gi },
  // The last `@` ends the password, which may itself hold colons.
  { kind: 'url-password', hints: ['://'], pattern: /(?<=\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{0,100}:)[^\s/"'`<>]{1,200}(?=@)/gi },
  // GitHub's old form has the token where the user is.
  {
    kind: 'url-password',
    hints: ['://'],
    pattern: /(?<=\bhttps?:\/\/)[^\s:/@]{8,200}(?=:(?:x-oauth-basic|\[redacted:[a-z-]{1,20}\])@)/gi,
    accepts: hasDigit,
  },
  { kind: 'password', hints: ['login '], pattern: /(?<=\blogin \S{1,100}\s{1,4}password )\S{1,200}/g },
  { kind: 'password', hints: ['sshpass '], pattern: /\bsshpass -p ?["']?([^\s"'$]{3,200})/g },
  {
    kind: 'password',
    hints: ['mysql', 'mariadb'],
    pattern: /\b(?:mysql|mysqldump|mariadb)\b[^\n|;&]{0,100}? -p([^\s"'$-][^\s"']{2,100})/g,
  },
  { kind: 'password', hints: ['curl '], pattern: /\bcurl\b[^\n|;&]{0,100}? (?:-u|--user)[ =]["']?[^\s:"'$]{1,64}:([^\s"'$]{3,200})/g },
  // Also `DB_PASSWORD=…`, `--client-secret=…`, `"apiKey": "…"`: what stands before the word does not matter, unless it makes it a path.
  {
    kind: 'password',
    hints: ['pass', 'secret', 'key', 'token'],
    pattern:
      /(password|(?<!\/)passwd|passphrase|secret(?:[_-]?(?:access[_-]?)?key)?|(?:api|private|access|account|shared)[_-]?key|client-key-data|auth[_-]?key|(?<!PVEAPI)token)(["'`]?\]?[ \t]{0,3}(?:=>|:=|[=:])[ \t]{0,3})("[^"\n]{4,500}"|'[^'\n]{4,500}'|`[^`\n]{4,500}`|["'`]?(?:[^\s"'`,;\\]|\\(?![nrt"'])){4,500})/gi,
    accepts: (_secret, match, after) => isLiteralSecret(match, after),
  },
];

// The vendors' token formats as secretlint keeps them (docs/adr/0014). Its rules are plain synchronous functions; its core, which is
// asynchronous and reads configuration, is not used.

interface FoundSecret {
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
