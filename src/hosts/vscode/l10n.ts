/**
 * Texts for people in their own language. As `vscode.l10n.t`, without needing an editor: what draws pages and rows is tested without one.
 * Not for what models, the trail or the log get, nor for words that a person has to type.
 */
import { inWords as inLanguage, type Language, type Message } from '#kernel/text/message';

let bundle: Readonly<Record<string, string>> = {};
let language: Language = { tag: 'en', texts: bundle };

/** Called first of all, since tables of words are made as files are loaded. @param texts English → the editor's language; absent: English. @param tag of that language */
export function useTexts(texts: Readonly<Record<string, string>> | undefined, tag = 'en'): void {
  bundle = texts ?? {};
  language = { tag: texts === undefined ? 'en' : tag, texts: bundle };
}

/** A tool's title, which the catalog has in English. Every title is in the translations. */
export function titleOf({ title }: { readonly title: string }): string {
  return bundle[title] ?? title;
}

/** What the kernel and its neighbours say to people. */
export function inWords(message: Message): string {
  return inLanguage(message, language);
}

/** @param message English, a literal, with `{0}`, `{1}`, … for the values; `media/l10n` has it in other languages (docs: CONTRIBUTING.md) */
export function t(message: string, ...values: readonly (string | number | Message)[]): string {
  return inWords({ text: message, values });
}
