/** What went wrong, for a person. */
import { toFault } from '#kernel/errors';
import { t } from './l10n.ts';

/** The message, and what to do next where the fault knows it: a person should not have to look for that. */
export function faultWords(thrown: unknown): string {
  const { message, next } = toFault(thrown);
  return next === undefined ? message : `${message}. ${t('What to do: {0}', next)}`;
}
