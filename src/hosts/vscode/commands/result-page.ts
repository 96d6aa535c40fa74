/** Results as pages for people, without scripts; everything from outside is escaped. */
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { Html, html, lines, nothing } from '#kernel/text/html';
import { columnTitle, fieldTitle, formatField, rowField, tableShape } from '#kernel/text/result-fields';
import { detailsStyle } from '../details/details-style.ts';
import { t } from '../l10n.ts';

const maxRows = 500;
const maxText = 100_000;

/** Makes the page's document once its own nonce is known. */
export type Page = (nonce: string) => string;

export function resultPage(title: string, outcome: Outcome): Page {
  // For models, who page by themselves.
  const message = outcome.message.replace(/ \(pass `cursor` for more\)/, '');
  const body = outcome.result === undefined ? nothing : resultBody(outcome.result);
  return page(title, html`<p class="lead">${sentence(message)}</p>${body}`);
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

/** SECURITY: the policy of the document allows its one style sheet and nothing else: no script, no image, no request. */
function page(title: string, body: Html): Page {
  return (nonce) => {
    const csp = `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
    return html`<!DOCTYPE html>
<html lang="${t('en')}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(csp)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style nonce="${nonce}">${new Html(detailsStyle + resultStyle)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${body}
</main>
</body>
</html>`.markup;
  };
}

function resultBody(value: JsonValue): Html {
  const text = JSON.stringify(value, undefined, 2);
  const whole = html`<details><summary>${t('Everything the answer holds')}</summary><pre>${lines(text, maxText)}</pre></details>`;
  if (Array.isArray(value)) return html`${listPart('', value as readonly JsonValue[])}${whole}`;
  if (!isJsonObject(value)) return html`<p>${formatField('', value)}</p>`;
  const entries = Object.entries(value);
  const lists = entries.flatMap(([name, item]) => (isList(item) ? [listPart(name, item)] : []));
  return html`${factTable(value)}${texts(value)}${lists}${whole}`;
}

function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value) && (value.length === 0 || value.some(isJsonObject));
}

/** Single values, and one level of the objects among them, that have a title; the number of rows is in the message. */
function factTable(value: JsonObject): Html {
  const flat = Object.entries(value).flatMap(([name, item]): [string, JsonValue | undefined][] =>
    isJsonObject(item) && fieldTitle(name) === undefined
      ? Object.entries(item).map(([inner, field]) => [`${name}.${inner}`, field])
      : [[name, item]],
  );
  const rows = flat.flatMap(([name, item]) => {
    const title = fieldTitle(name);
    const text = formatField(name, item);
    return title === undefined || text === '' || isList(item) || text.includes('\n')
      ? []
      : [html`<tr><th scope="row">${title}</th><td>${text}</td></tr>`];
  });
  return rows.length === 0 ? nothing : html`<table>${rows}</table>`;
}

/** What a program printed, as it printed it. */
function texts(value: JsonObject): readonly Html[] {
  return Object.entries(value).flatMap(([name, item]) =>
    typeof item === 'string' && item.includes('\n')
      ? [html`<h2>${columnTitle(name)}</h2><pre>${lines(item.trimEnd(), maxText)}</pre>`]
      : [],
  );
}

function listPart(name: string, values: readonly JsonValue[]): Html {
  const rows = values.filter(isJsonObject);
  if (values.length === 0) return html`<p class="dim">${t('Nothing there.')}</p>`;
  const more = values.length > maxRows ? html`<p class="dim">${t('{0} more are not shown.', values.length - maxRows)}</p>` : nothing;
  if (rows.length < values.length)
    return html`<ul>${values.slice(0, maxRows).map((value) => html`<li>${formatField('', value)}</li>`)}</ul>${more}`;
  const { title, columns } = tableShape(name, rows);
  const head = columns.map((column) => html`<th scope="col">${columnTitle(column)}</th>`);
  const body = rows.slice(0, maxRows).map((row) => html`<tr>${columns.map((column) => cell(row, column))}</tr>`);
  return html`<h2>${title}</h2><table class="rows"><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>${more}`;
}

/** The title stands beside the value where the page is too narrow for columns. */
function cell(row: JsonObject, column: string): Html {
  const text = rowField(row, column);
  // Only what is longer than any word may be broken anywhere: else `running` is broken before a long name is.
  const long = /\S{17}/.test(text) ? html` class="long"` : nothing;
  return html`<td data-title="${columnTitle(column)}"${long}>${text}</td>`;
}

const resultStyle = `
.lead { font-size: 1.1em; }
.rows { width: 100%; }
.rows th, .rows td { overflow-wrap: break-word; border-bottom: 1px solid var(--vscode-panel-border, var(--vscode-contrastBorder, transparent)); padding: .35em 1em .35em 0; }
.rows .long { overflow-wrap: anywhere; }
.rows tbody tr:hover { background: var(--vscode-list-hoverBackground); }
.rows thead th { font-weight: 600; }
details { margin-top: 2em; color: var(--vscode-descriptionForeground); }
summary { cursor: pointer; }
@media (max-width: 520px) {
  body { padding: 0 1em 2em; }
  .rows thead { display: none; }
  .rows tr { display: block; padding: .5em 0; border-bottom: 1px solid var(--vscode-panel-border, var(--vscode-contrastBorder, transparent)); }
  .rows td, .rows th { display: block; width: auto; border: 0; padding: .1em 0; overflow-wrap: anywhere; }
  .rows td[data-title]:empty { display: none; }
  .rows td[data-title]::before { content: attr(data-title) ": "; color: var(--vscode-descriptionForeground); }
}
`;
