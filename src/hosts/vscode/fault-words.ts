/** What went wrong, for a person. */
import type { Finding } from '#kernel/app';
import type { Decision } from '#kernel/decision';
import { type Fault, toFault } from '#kernel/errors';
import type { Outcome } from '#kernel/outcome';
import { asListed, listed, wordsOf } from '#kernel/text/message';
import { inWords, t } from './l10n.ts';

/** The message, and what to do next: a person should not have to look for that. */
export function faultWords(thrown: unknown): string {
  const { message, next } = faultTexts(toFault(thrown));
  return `${message}. ${t('What to do: {0}', next)}`;
}

/** What came of a call, and what to do next. */
export function outcomeWords({ status, message, next }: Outcome): string {
  const step = next === undefined && status !== 'ok' ? t('“Banksman: Show Activity” has the call, with why it ended so') : next;
  return step === undefined
    ? inWords(asListed(message))
    : `${inWords(asListed(message))}. ${t('What to do: {0}', inWords(asListed(step)))}`;
}

/** What a failure says, and what to do next: by who must act where the failure does not know better, so that none leaves a person without a step. */
export function faultTexts(fault: Fault): { readonly message: string; readonly next: string } {
  const { message, next, words } = fault;
  return {
    message: inWords(words.message ?? asListed(message)),
    next: next === undefined ? usualNext(fault) : inWords(words.next ?? asListed(next)),
  };
}

/** What programs know findings by, and people read. */
const topics: ReadonlySet<string> = new Set([
  listed('agents'),
  listed('approvals'),
  listed('approvers'),
  listed('audit'),
  listed('auto-approve'),
  listed('clock'),
  listed('clusters'),
  listed('configuration'),
  listed('disk'),
  listed('effects'),
  listed('embedded'),
  listed('outcome unknown'),
  listed('plans'),
  listed('protected'),
  listed('roles'),
  listed('runtime'),
  listed('sandbox'),
  listed('scopes'),
  listed('security level'),
  listed('service'),
  listed('sinks'),
  listed('spool'),
  listed('standing'),
  listed('state'),
  listed('store'),
  listed('tiers'),
  listed('undo'),
  listed('windows'),
  listed('witness'),
]);

const clusterTopic = /^cluster (\S+)(?: (endpoint|ssh|token|pin)(?: (.+))?)?$/;

/** What a finding is about. */
export function topicOf({ topic }: Pick<Finding, 'topic'>): string {
  const [, cluster, part, which = ''] = clusterTopic.exec(topic) ?? [];
  if (cluster === undefined) return topics.has(topic) ? saidWords(topic) : topic;
  const parts: Readonly<Record<string, string>> = {
    endpoint: t('endpoint {0}', which),
    ssh: `ssh ${which}`,
    token: t('token'),
    pin: t('pin'),
  };
  return [t('cluster {0}', cluster), ...(part === undefined ? [] : [parts[part]])].join(' ');
}

/** What was found, and what to do about it. */
export function findingTexts({ message, remedy, words = {} }: Finding): { readonly message: string; readonly remedy?: string } {
  const own = inWords(words.message === undefined ? asListed(message) : wordsOf(message, words.message));
  if (remedy === undefined) return { message: own };
  return { message: own, remedy: inWords(words.next === undefined ? asListed(remedy) : wordsOf(remedy, words.next)) };
}

/** What somebody said in English, for people: what is whole in the translations is theirs; the rest stays. */
export function saidWords(text: string): string {
  return inWords(asListed(text));
}

/** Why the policy decides so. */
export function reasonWords({ reason, words }: Pick<Decision, 'reason' | 'words'>): string {
  return words === undefined ? saidWords(reason) : inWords(wordsOf(reason, words));
}

function usualNext({ audience, retryable }: Fault): string {
  if (retryable) return t('try again; if it goes on, “Banksman: Doctor” looks for the cause');
  if (audience === 'user') return t('if it is not what you meant, change it and try again');
  if (audience === 'operator') return t('“Banksman: Doctor” looks for the cause');
  return t('this is an error of Banksman’s own: report it, with what the log says (“Banksman: Show Log”)');
}
