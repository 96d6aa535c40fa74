/** Which new requests a person is told of, by their settings, and the words. */
import type { RequestRecord } from '#kernel/approval/request';
import { showPlainly } from '#kernel/text/text';
import { t } from './l10n.ts';
import { agentName, titleOfRequest } from './request-words.ts';

/** As somebody may have written it; what is none of the known words counts as the default. */
export interface Attention {
  readonly notify?: unknown;
  readonly notifyWhen?: unknown;
}

/** @param isFocused the window has the focus */
export function toTell(fresh: readonly RequestRecord[], { notify, notifyWhen }: Attention, isFocused: boolean): readonly RequestRecord[] {
  if (notify === 'never' || (notifyWhen === 'unfocused' && isFocused)) return [];
  // A dialog asks about those of an editor's own chat already, and about a person's own.
  const elsewhere = fresh.filter(({ agent }) => agent.host !== 'chat' && agent.host !== 'palette');
  return notify === 'red' ? elsewhere.filter(({ tier, reported }) => tier === 'red' && reported === undefined) : elsewhere;
}

/** Its end is cut off first, so what it is about comes first. */
export function newsInWords(news: readonly RequestRecord[]): string {
  const [only, ...more] = news;
  if (only === undefined) return '';
  const agents = new Set(news.map(({ agent }) => agent.id)).size;
  const agent = agentName(only.agent);
  if (more.length > 0) {
    if (agents === 1) return t('Banksman: {0} new requests of {1} wait for you.', news.length, agent);
    return t('Banksman: {0} new requests of {1} agents wait for you.', news.length, agents);
  }
  if (only.reported !== undefined) return t('Banksman: {0} reports a block: {1}', agent, showPlainly(only.reported.destination, 100));
  return t('Banksman: {0} asks: {1}', agent, titleOfRequest(only, 120));
}
