/**
 * Texts for people in their own language. As `vscode.l10n.t`, without needing an editor: what draws pages and rows is tested without one.
 * Not for what models, the trail or the log get, nor for words that a person has to type.
 */

let bundle: Readonly<Record<string, string>> = {};

/** Called first of all, since tables of words are made as files are loaded. @param texts English → the editor's language; absent: English */
export function useTexts(texts: Readonly<Record<string, string>> | undefined): void {
  bundle = texts ?? {};
}

/** A tool's title, which the catalog has in English. Every title is in the translations. */
export function titleOf({ title }: { readonly title: string }): string {
  return bundle[title] ?? title;
}

/** @param message English, a literal, with `{0}`, `{1}`, … for the values; `media/l10n` has it in other languages (docs: CONTRIBUTING.md) */
export function t(message: string, ...values: readonly (string | number)[]): string {
  return (bundle[message] ?? message).replace(/\{(\d+)\}/g, (place, number: string) => String(values[Number(number)] ?? place));
}
