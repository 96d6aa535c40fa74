/** HTML in which every value is escaped, unless it was made here. */
import { showPlainly } from './text.ts';

/** Markup that was made here. SECURITY: a class of its own, since a record out of the store may hold objects of any shape. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

const maxValue = 4000;

type Value = Html | readonly Html[] | string | number;

/** Values are text (escaped, nothing invisible or reordering in it) or markup that this function made itself. */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(parts.map((part, index) => (index === 0 ? part : markupOf(values[index - 1] ?? '') + part)).join(''));
}

/** Several lines, as they are: newlines stay. */
export function lines(text: string, maxLength: number): Html {
  const shown = text
    .slice(0, maxLength)
    .split('\n')
    .map((line) => escapeHtml(showPlainly(line, maxLength)));
  const rest = text.length > maxLength ? `\n… (${text.length - maxLength} characters more)` : '';
  return new Html(shown.join('\n') + rest);
}

export const nothing = new Html('');

function markupOf(value: Value | undefined): string {
  if (value instanceof Html) return value.markup;
  if (Array.isArray(value)) return value.map(markupOf).join('');
  // An object that is no markup of ours is shown as what it is.
  return escapeHtml(showPlainly(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), maxValue));
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;', '`': '&#96;' };

function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, (char) => entities[char] ?? '');
}
