/** What went wrong, for a person. */
import { type Fault, toFault } from '#kernel/errors';
import { asListed } from '#kernel/text/message';
import { inWords, t } from './l10n.ts';

/** The message, and what to do next where the fault knows it: a person should not have to look for that. */
export function faultWords(thrown: unknown): string {
  const { message, next } = faultTexts(toFault(thrown));
  return next === undefined ? message : `${message}. ${t('What to do: {0}', next)}`;
}

/** What a failure says, and what to do next, as far as that is a text without values: it is looked up whole. */
export function faultTexts({ message, next }: Pick<Fault, 'message' | 'next'>): { readonly message: string; readonly next?: string } {
  return { message: inWords(asListed(message)), ...(next === undefined ? {} : { next: inWords(asListed(next)) }) };
}
