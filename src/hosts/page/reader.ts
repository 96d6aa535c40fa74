/** In which language a browser's person reads (RFC 9110, 12.5.4). */
import { inEnglish, type Language } from '#kernel/text/message';

/**
 * @param accepted the header `Accept-Language`; absent: English
 * @returns German where the browser prefers that to English, by weight and then by order
 */
export function languageTag(accepted: string | undefined): 'de' | 'en' {
  const ranges = (accepted ?? '').slice(0, longestHeader).split(',').map(rangeOf);
  const [best] = ranges.filter(({ tag, weight }) => tag !== undefined && weight > 0).toSorted((a, b) => b.weight - a.weight);
  return best?.tag ?? 'en';
}

const longestHeader = 500;

/** `de-AT;q=0.8`. Any language (`*`) is English. */
function rangeOf(range: string): { readonly tag: 'de' | 'en' | undefined; readonly weight: number } {
  const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const [primary] = name.split('-');
  const tag = primary === 'de' ? 'de' : primary === 'en' || primary === '*' ? 'en' : undefined;
  const given = parameters.find((parameter) => parameter.startsWith('q='));
  const weight = given === undefined ? 1 : Number(given.slice(2));
  return { tag, weight: Number.isFinite(weight) ? weight : 0 };
}

let german: Promise<Language> | undefined;

/** The German texts are read with the first reader of them. @throws where the file with them is not there */
export function languageOf(accepted: string | undefined): Promise<Language> | Language {
  if (languageTag(accepted) === 'en') return inEnglish;
  german ??= import('./german.ts').then(({ texts }) => ({ tag: 'de', texts }));
  return german;
}
