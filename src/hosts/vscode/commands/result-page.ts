/** Results as pages for people, without scripts; everything from outside is escaped. */
import type { Finding } from '#kernel/app';
import { isJsonObject, type JsonObject, type JsonValue } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { Html, html, lines, nothing } from '#kernel/text/html';
import { detailsStyle } from '../details/details-style.ts';

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

export function doctorPage(findings: readonly Finding[]): Page {
  const byNeed = findings.toSorted((a, b) => need[b.state] - need[a.state]);
  const rows = byNeed.map(
    ({ topic, state, message, remedy }) => html`<tr><td class="${state}">${marks[state]}</td><th scope="row">${topic}</th>
<td>${message}${remedy === undefined ? nothing : html`<p class="remedy">What to do: ${remedy}</p>`}</td></tr>`,
  );
  const wrong = findings.filter(({ state }) => state !== 'ok').length;
  const lead = wrong === 0 ? 'All is well.' : `${wrong} of ${findings.length} findings ${wrong === 1 ? 'wants' : 'want'} your attention.`;
  return page('Banksman Doctor', html`<p class="lead">${lead}</p><table class="rows findings">${rows}</table>`);
}

/** What wants attention comes first; the rest stays in the order in which it was looked at. */
const need: Record<Finding['state'], number> = { ok: 0, warning: 1, failed: 2 };
const marks: Record<Finding['state'], string> = { ok: '✔ ok', warning: '⚠ warning', failed: '✘ failed' };

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
}

/** SECURITY: the policy of the document allows its one style sheet and nothing else: no script, no image, no request. */
function page(title: string, body: Html): Page {
  return (nonce) => {
    const csp = `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
    return html`<!DOCTYPE html>
<html lang="en">
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
  const whole = html`<details><summary>Everything the answer holds</summary><pre>${lines(text, maxText)}</pre></details>`;
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
  if (values.length === 0) return html`<p class="dim">Nothing there.</p>`;
  const more = values.length > maxRows ? html`<p class="dim">${values.length - maxRows} more are not shown.</p>` : nothing;
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
.rows .long, .findings th, .findings td { overflow-wrap: anywhere; }
.findings th { white-space: normal; width: 30%; }
.rows tbody tr:hover { background: var(--vscode-list-hoverBackground); }
.rows thead th { font-weight: 600; }
.failed { color: var(--vscode-errorForeground); white-space: nowrap; }
.warning { color: var(--vscode-editorWarning-foreground); white-space: nowrap; }
.ok { color: var(--vscode-charts-green, var(--vscode-foreground)); white-space: nowrap; }
.remedy { margin: .3em 0 0; color: var(--vscode-descriptionForeground); }
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

/** Titles by the API's names; `memory.used` names a field of an object. A field that is not here is a detail. */
const titles: Readonly<Record<string, string>> = {
  vmid: 'ID',
  name: 'Name',
  node: 'Node',
  storage: 'Storage',
  volid: 'Volume',
  type: 'Type',
  plugintype: 'Kind',
  status: 'Status',
  online: 'Online',
  health: 'Health',
  quorate: 'Quorate',
  ip: 'Address',
  cpu: 'CPU',
  maxcpu: 'Cores',
  mem: 'Memory',
  disk: 'Disk',
  memory: 'Memory',
  rootfs: 'Root file system',
  swap: 'Swap',
  uptime: 'Uptime',
  loadavg: 'Load (1, 5, 15 min)',
  'cpuinfo.model': 'Processor',
  'cpuinfo.cpus': 'Threads',
  kversion: 'Kernel',
  pveversion: 'Proxmox VE',
  lock: 'Lock',
  tags: 'Tags',
  content: 'Holds',
  size: 'Size',
  ctime: 'Made',
  format: 'Format',
  notes: 'Notes',
  starttime: 'Started',
  endtime: 'Ended',
  user: 'User',
  id: 'About',
  celsius: 'Temperature',
  hottest: 'Hottest',
  zone: 'Zone',
  cluster: 'Cluster',
  command: 'Command',
  exit_code: 'Exit code',
  stdout: 'Output',
  stderr: 'Errors',
  endpoint: 'Endpoint',
  certificate: 'Certificate',
};

/** undefined: not worth a person's first look. */
function fieldTitle(name: string): string | undefined {
  return Object.hasOwn(titles, name) ? titles[name] : undefined;
}

/** A name that the API gave and that is on no list of ours, as a person would write it. */
function columnTitle(name: string): string {
  return fieldTitle(name) ?? inWords(name);
}

function inWords(name: string): string {
  const words = name
    .replaceAll(/[_-]+/g, ' ')
    .replaceAll(/([a-z])([A-Z])/g, (_all, end: string, start: string) => `${end} ${start.toLowerCase()}`);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
}

interface TableShape {
  readonly title: string;
  /** The most important first: what does not fit is further to the right. */
  readonly columns: readonly string[];
}

const guestColumns = ['name', 'vmid', 'node', 'status', 'cpu', 'mem', 'uptime'];

/** By the name of the list in the result. */
const tables: Readonly<Record<string, TableShape>> = {
  vms: { title: 'Virtual machines', columns: guestColumns },
  containers: { title: 'Containers', columns: guestColumns },
  endpoints: { title: 'API endpoints', columns: ['endpoint', 'node', 'certificate'] },
  nodes: { title: 'Nodes', columns: ['node', 'online', 'ip'] },
  storage: { title: 'Storage', columns: ['storage', 'node', 'status', 'disk', 'plugintype', 'content'] },
  resources: { title: 'Resources', columns: ['name', 'vmid', 'type', 'node', 'status', 'cpu', 'mem', 'disk'] },
  backups: { title: 'Backups', columns: ['vmid', 'notes', 'ctime', 'size', 'volid'] },
  tasks: { title: 'Tasks', columns: ['type', 'id', 'node', 'status', 'starttime', 'user'] },
  zones: { title: 'Sensors', columns: ['type', 'celsius', 'zone'] },
};

/** The shape of a list that is not known: whatever of its fields has a title. */
function tableShape(list: string, rows: readonly JsonObject[]): TableShape {
  const known = Object.hasOwn(tables, list) ? tables[list] : undefined;
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const shape = known ?? {
    title: list === '' ? 'Rows' : inWords(list),
    columns: names.filter((name) => fieldTitle(name) !== undefined).slice(0, 7),
  };
  const columns = shape.columns.filter((column) => rows.some((row) => rowField(row, column) !== ''));
  return { title: shape.title, columns: columns.length > 0 ? columns : names.slice(0, 7) };
}

const kinds: Readonly<Record<string, string>> = {
  qemu: 'VM',
  lxc: 'container',
  qmstart: 'Start VM',
  qmstop: 'Stop VM',
  qmreboot: 'Restart VM',
  qmshutdown: 'Shut down VM',
  qmigrate: 'Migrate VM',
  vzstart: 'Start container',
  vzstop: 'Stop container',
  vzreboot: 'Restart container',
  vzshutdown: 'Shut down container',
  vzdump: 'Backup',
  aptupdate: 'Update package lists',
};

/** One cell of a table; `''` for nothing. Sizes are of the row: `0.7 GiB of 2.0 GiB`. */
export function rowField(row: JsonObject, name: string): string {
  const value = row[name];
  if (name === 'mem' || name === 'disk') return used(value, row[`max${name}`]);
  if (name === 'cpu' && row['status'] === 'stopped') return '';
  if (name === 'type' && typeof value === 'string') return kinds[value] ?? value;
  if (name === 'status') return statusOf(row);
  return formatField(name, name === 'name' ? nameOf(row) : value);
}

/** A template is never anything but stopped. */
function statusOf({ status, template, lock }: JsonObject): string {
  const state = template === 1 ? 'template' : formatField('status', status);
  return typeof lock === 'string' && lock !== '' ? `${state}, locked (${lock})` : state;
}

/** A storage or a node has no name of its own in the list of everything. */
function nameOf({ name, storage, node }: JsonObject): JsonValue | undefined {
  return name ?? storage ?? node;
}

/** Bytes in use of how many there are. Of a stopped guest, and of a VM's disk, the API knows the latter alone. */
function used(value: JsonValue | undefined, most: JsonValue | undefined): string {
  const all = typeof most === 'number' && most > 0 ? bytes(most) : '';
  const some = typeof value === 'number' && value > 0 ? bytes(value) : '';
  return some !== '' && all !== '' ? `${some} of ${all}` : some || all;
}

const byteFields = new Set(['mem', 'maxmem', 'disk', 'maxdisk', 'size', 'used', 'avail', 'total', 'free', 'swap', 'maxswap']);
const timeFields = new Set(['starttime', 'endtime', 'ctime']);
/** Below this a `total` is a count, not a size. */
const mebibyte = 2 ** 20;

/** Text for people; `''` for nothing. */
export function formatField(name: string, value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'number') return formatNumber(name, value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return name === 'tags' || name === 'content' ? value.replaceAll(/[;,]/g, ', ') : value;
  return formatObject(value);
}

function formatObject(value: JsonObject | readonly JsonValue[]): string {
  if (isJsonObject(value)) return typeof value['used'] === 'number' ? used(value['used'], value['total']) : JSON.stringify(value);
  return value.every((item) => typeof item !== 'object') ? value.join(', ') : JSON.stringify(value);
}

const units: Readonly<Record<string, (value: number) => string>> = {
  cpu: (value) => (value >= 0 && value <= 1 ? `${(value * 100).toFixed(1)}\u00a0%` : String(value)),
  celsius: (value) => `${value}\u00a0°C`,
  hottest: (value) => `${value}\u00a0°C`,
  uptime: age,
};

function formatNumber(name: string, value: number): string {
  if (byteFields.has(name) && value >= mebibyte) return bytes(value);
  if (timeFields.has(name) && value > 1e9) return localTime(value * 1000);
  return (units[name] ?? String)(value);
}

/** `Nov 22, 14:02`, with the year where it is another one; in the reader's own time zone. */
function localTime(at: number): string {
  const time = new Date(at);
  const year = time.getFullYear() === new Date().getFullYear() ? {} : { year: 'numeric' as const };
  return time.toLocaleString('en', { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hour12: false, ...year });
}

function bytes(value: number): string {
  const gibibytes = value / 2 ** 30;
  if (gibibytes >= 1024) return `${(gibibytes / 1024).toFixed(1)}\u00a0TiB`;
  return gibibytes >= 1 ? `${gibibytes.toFixed(1)}\u00a0GiB` : `${Math.round(value / mebibyte)}\u00a0MiB`;
}

/** @param seconds since the start; 0 is what the API says of something that does not run */
function age(seconds: number): string {
  if (seconds <= 0) return '';
  const minutes = Math.floor(seconds / 60);
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60) % 24];
  if (days > 0) return `${days}\u00a0d ${hours}\u00a0h`;
  return hours > 0 ? `${hours}\u00a0h ${minutes % 60}\u00a0min` : `${minutes}\u00a0min`;
}
