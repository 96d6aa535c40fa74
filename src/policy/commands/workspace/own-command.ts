/**
 * Banksman's own command line. SECURITY: what people do with it (approve, create tokens and approvers, set the level and the rules) is
 * refused to agents by whatever name it is called; the passphrase and the store's roles hold where a name is not recognised.
 */
import type { Decision } from '#kernel/decision';
import { askFor, refuseFor } from './findings.ts';
import type { Invocation } from './invocation.ts';
import { single } from './shell-word.ts';

const peoples: Readonly<Record<string, RegExp>> = {
  tokens: /^(?:list|create|revoke)$/,
  approvals: /^(?:list|show|approve|deny|watch)$/,
  approvers: /^(?:create|list|revoke)$/,
  level: /^(?:get|set)$/,
  'auto-approve': /^(?:list|set|remove)$/,
  sandbox: /^clean$/,
};
const ownName = /^(?:banksman(?:@[\w.^~-]+)?(?:\.[cm]?js|\.cmd|\.ps1|\.exe)?)$/;
/** The file of the command line, whatever it was copied to. */
const scriptName = /(?:^|\/)(?:cli|banksman)\.[cm]?js$/;
const starters = /^(?:node|nodejs|bun|deno|tsx|ts-node|electron|code|npx|bunx)$/;

/** undefined: it is not Banksman. */
export function judgeOwnCommand({ program, args, offset }: Invocation): readonly Decision[] | undefined {
  if (!program.includes('banksman') && !starters.test(program) && !scriptName.test(program)) return undefined;
  const texts = args.map((word) => single(word) ?? '');
  const isOwn = ownName.test(program.slice(program.lastIndexOf('/') + 1));
  const start = isOwn ? 0 : scriptIndex(program, texts) + 1;
  if (!isOwn && start === 0 && !scriptName.test(program)) return undefined;
  const verb = texts.findIndex((text, index) => index >= start && peoples[text]?.test(texts[index + 1] ?? ''));
  if (verb >= 0) return [refuseFor('own-command', offset, `\`banksman ${texts[verb]} ${texts[verb + 1]}\` is for people, not for agents`)];
  // Words that are not known could be any of them.
  if (isOwn) return [askFor('runs_other_code', offset, '`banksman` itself, which an agent uses through its tools')];
  return undefined;
}

function scriptIndex(program: string, texts: readonly string[]): number {
  return starters.test(program) ? texts.findIndex((text) => scriptName.test(text) || /(?:^|\/)banksman(?:$|[@/])/.test(text)) : -1;
}
