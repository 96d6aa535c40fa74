/** How a request stands, and what its call does, each in a word for people. */
import type { AnswerResult } from '#kernel/approval/answer';
import { type RequestRecord, type RequestStatus, requestTitle } from '#kernel/approval/request';
import { plainly, wordsOf } from '#kernel/text/message';
import type { Impact } from '#kernel/tiers';
import { inWords, t } from './l10n.ts';

/** `Stop VM 100 (web) on pve`. */
export function titleOfRequest(record: Pick<RequestRecord, 'title' | 'words'>, most = 300): string {
  return inWords(plainly(requestTitle(record), most)).replace(/\?$/, '');
}

/** What came of an answer. */
export function answerText({ message, words }: Pick<AnswerResult, 'message' | 'words'>): string {
  return inWords(wordsOf(message, words));
}

export const statusNames: Record<RequestStatus, string> = {
  pending: t('pending'),
  approved: t('approved'),
  consumed: t('consumed'),
  denied: t('denied'),
  revoked: t('revoked'),
  cancelled: t('cancelled'),
  expired: t('expired'),
};

export const impactNames: Record<Impact, string> = {
  none: t('none'),
  reversible: t('reversible'),
  disruptive: t('disruptive'),
  irreversible: t('irreversible'),
};
