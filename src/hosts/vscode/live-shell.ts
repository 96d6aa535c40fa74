/** The document around the parts of a live page, and the style that such pages share. */
import { Html, html, nothing } from '#kernel/text/html';
import { detailsStyle } from './details/details-style.ts';
import { t } from './l10n.ts';

interface Shell {
  readonly title: string;
  readonly nonce: string;
  /** Address of the script. */
  readonly script: string;
  /** Besides what all such pages have. */
  readonly style: string;
  readonly parts: readonly string[];
  /** The part whose changes a screen reader says. */
  readonly spoken?: string;
}

/** SECURITY: its policy allows this style, this script and nothing else: no image, no request. */
export function pageShell({ title, nonce, script, style, parts, spoken }: Shell): string {
  const csp = `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
  return html`<!DOCTYPE html>
<html lang="${t('en')}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(csp)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style nonce="${nonce}">${new Html(detailsStyle + liveStyle + style)}</style>
</head>
<body>
<main>
<h1 tabindex="-1">${title}</h1>
${parts.map((id) => html`<section id="${id}"${id === spoken ? new Html(' role="status"') : nothing}></section>`)}
</main>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>`.markup;
}

export function table(heads: readonly string[], rows: readonly (readonly (Html | string)[])[], empty: string): Html {
  if (rows.length === 0) return html`<p class="dim">${empty}</p>`;
  const head = heads.map((title) => html`<th scope="col">${title}</th>`);
  const body = rows.map((cells) => html`<tr>${cells.map((cell, index) => cellOf(cell, heads[index] ?? ''))}</tr>`);
  return html`<table class="rows"><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}

/** Only what is longer than any word may be broken anywhere. */
function cellOf(cell: Html | string, title: string): Html {
  const isLong = typeof cell === 'string' && /\S{17}/.test(cell);
  return html`<td data-title="${title}"${isLong ? html` class="long"` : nothing}>${cell}</td>`;
}

const liveStyle = `
body { background: var(--vscode-editor-background); }
.rows { width: 100%; }
.rows th, .rows td { overflow-wrap: break-word; border-bottom: 1px solid var(--vscode-panel-border, var(--vscode-contrastBorder, transparent)); padding: .35em 1em .35em 0; }
.rows thead th { font-weight: 600; }
.rows .long { overflow-wrap: anywhere; }
button { font: inherit; cursor: pointer; }
.link { border: 0; padding: 0; background: none; color: var(--vscode-textLink-foreground); text-decoration: underline; }
.link:focus-visible { outline: 1px solid var(--vscode-focusBorder); outline-offset: 2px; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
@media (max-width: 520px) {
  body { padding: 0 1em 2em; }
  .rows thead { display: none; }
  .rows tr { display: block; padding: .5em 0; border-bottom: 1px solid var(--vscode-panel-border, var(--vscode-contrastBorder, transparent)); }
  .rows td { display: block; border: 0; padding: .1em 0; }
  .rows td:empty { display: none; }
  .rows td::before { content: attr(data-title) ": "; color: var(--vscode-descriptionForeground); }
}
`;
