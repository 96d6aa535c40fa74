/**
 * What the page shows, as markup whose texts are messages until it is known who reads it (docs/adr/0043-german.md): made once, drawn in the
 * language of each browser. What came from elsewhere is escaped (`kernel/text/html.ts`).
 */
import { html as escaped, Html } from '#kernel/text/html';
import { inEnglish, inWords, isMessage, type Language, type Message } from '#kernel/text/message';

type Draw = (language: Language) => string;

/** SECURITY: a class of its own, as `Html` is: a record out of the store may hold objects of any shape. */
export class Markup {
  readonly draw: Draw;

  constructor(draw: Draw) {
    this.draw = draw;
  }
}

type Part = Markup | Html | Message | string | number;

/** Values are text, which is escaped; messages, likewise once they are in the reader's language; or markup that was made here. */
export function html(parts: TemplateStringsArray, ...values: readonly (Part | readonly Part[])[]): Markup {
  return new Markup((language) =>
    parts.map((part, index) => (index === 0 ? part : drawn(values[index - 1] ?? '', language) + part)).join(''),
  );
}

export const nothing = html``;

/**
 * A text in which `**…**` is strong, `` `…` `` is code and `[…](/…)` a link of this page. SECURITY: in the text itself, which is ours. What its
 * values hold comes after, as text.
 */
export function marked({ text, values = [] }: Message): Markup {
  return new Markup((language) => {
    const withMarks = drawn(inWords({ text }, language))
      .replace(/\*\*(.+?)\*\*/g, '<strong>$1</strong>')
      .replace(/&#96;(.+?)&#96;/g, '<code>$1</code>')
      .replace(/\[([^\]]+)\]\((\/\w*)\)/g, '<a href="$2">$1</a>');
    return withMarks.replace(/\{(\d+)\}/g, (place, number: string) => {
      const value = values[Number(number)];
      return value === undefined ? place : drawn(inWords({ text: '{0}', values: [value] }, language));
    });
  });
}

/** A point in time as its reader writes it. The page knows no time zone of theirs. @param at ms since the epoch */
export function momentInUtc(at: number): Markup {
  const format = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' } as const;
  return new Markup(({ tag }) => `${drawn(new Date(at).toLocaleString(tag === 'en' ? 'en-GB' : tag, format))} UTC`);
}

/** A text in its reader's language, of which something is changed or left out. */
export function changed(message: Message, change: (words: string) => string): Markup {
  return new Markup((language) => drawn(change(inWords(message, language))));
}

export function capital(message: Message): Markup {
  return changed(message, (words) => `${words.charAt(0).toUpperCase()}${words.slice(1)}`);
}

function drawn(value: Part | readonly Part[], language: Language = inEnglish): string {
  if (value instanceof Markup) return value.draw(language);
  if (Array.isArray(value)) return value.map((one: Part) => drawn(one, language)).join('');
  if (value instanceof Html) return value.markup;
  return escaped`${isMessage(value) ? inWords(value, language) : (value as string)}`.markup;
}

/** A text in its reader's language, as a literal of a script; `{0}` in it is filled there. */
export type Tell = (message: Message) => string;

/** A script for the browser, as it is written but for the texts in it. */
export function script(parts: TemplateStringsArray, ...values: readonly (Message | ((tell: Tell) => string))[]): (tell: Tell) => string {
  return (tell) =>
    parts.raw.reduce((all, part, index) => {
      const value = values[index - 1] ?? { text: '' };
      return `${all}${typeof value === 'function' ? value(tell) : tell(value)}${part}`;
    });
}

/** One view: the main part of the document. */
export interface View {
  readonly title: Message;
  /** Said aloud when it changes while the page is open. */
  readonly summary: Message;
  readonly main: Markup;
  /** It can be answered still. */
  readonly open?: true;
  /** It changes without a change of any request: to be looked at again soon. */
  readonly lively?: true;
}

/** As the script gets it. */
export function drawnView({ title, summary, main, ...rest }: View, language: Language): object {
  return { ...rest, title: inWords(title, language), summary: inWords(summary, language), main: main.draw(language) };
}
