/** The page of one guest: its parts as markup, made here and put into place by the page's script. Pure; all from outside is escaped. */

import type { AuditRecord } from '#kernel/audit-event';
import { isJsonObject, type JsonObject, type JsonValue, textOf } from '#kernel/json';
import type { GuestSheet, TaskLook, Unreadable } from '#kernel/live';
import { agentsIn } from '#kernel/of-user';
import { Html, html, lines, nothing } from '#kernel/text/html';
import { formatField, localTime, taskTitle } from '#kernel/text/result-fields';
import { t } from '../l10n.ts';
import { table } from '../live-shell.ts';
import { flagInWords, type TreeRow } from './cluster-rows.ts';

export interface GuestFacts {
  /** As in the tree; undefined: it is there no more. */
  readonly row: TreeRow | undefined;
  readonly sheet: GuestSheet | undefined;
  /** Of this guest, newest first; `whole`: of the whole trail that was looked through. */
  readonly trail: readonly AuditRecord[] | Unreadable | undefined;
  readonly log: { readonly upid: string; readonly title: string; readonly look: TaskLook | Unreadable | undefined } | undefined;
  /** Verbs that fit what it is now, and what each button says. */
  readonly acts: readonly { readonly verb: string; readonly label: string }[];
}

/** In the order of the page. */
export const guestParts = ['head', 'graphs', 'agents', 'tasks', 'log', 'snapshots', 'backups', 'config'] as const;
export type GuestPart = (typeof guestParts)[number];

const maxText = 60_000;
const shownRecords = 50;

export function guestMarkup(facts: GuestFacts): Record<GuestPart, string> {
  const { sheet } = facts;
  const parts: Record<GuestPart, Html> = {
    head: headPart(facts),
    graphs: part(t('The last hour'), sheet?.metrics, graphs),
    agents: part(t('What agents did to it'), facts.trail, trailTable),
    tasks: part(t('Tasks'), sheet?.tasks, taskTable),
    log: logPart(facts.log),
    snapshots: part(t('Snapshots'), sheet?.snapshots, snapshotTable),
    backups: part(t('Backups'), sheet?.backups, backupTable),
    config: part(t('Configuration'), sheet?.config, configTable),
  };
  return Object.fromEntries(Object.entries(parts).map(([name, { markup }]) => [name, markup])) as Record<GuestPart, string>;
}

function headPart({ row, acts }: GuestFacts): Html {
  if (row === undefined)
    return html`<p class="banner bad">${t('It is not in the cluster any more, or the cluster does not tell of it.')}</p>`;
  const buttons = acts.map(
    ({ verb, label }) => html`<button type="button" class="button quiet" data-say="act" data-value="${verb}">${label}</button>`,
  );
  const words = row.flags.map(flagInWords);
  const notes = words.length === 0 ? nothing : html`<p class="banner waits">${words.join('; ')}.</p>`;
  const [first = '', ...rest] = row.details();
  return html`<p>${first}</p>${notes}<p class="actions">${buttons}</p><ul class="facts">${rest.map((line) => html`<li>${line}</li>`)}</ul>`;
}

/** Each part by itself: one that cannot be read says so and leaves the others. */
function part<T>(title: string, read: T | Unreadable | undefined, show: (read: T) => Html): Html {
  const body =
    read === undefined
      ? html`<p class="dim">${t('Reading…')}</p>`
      : isUnreadable(read)
        ? html`<p class="bad">${t('It cannot be read: {0}', read.failed)}</p>`
        : show(read);
  return html`<h2>${title}</h2>${body}`;
}

function isUnreadable(read: unknown): read is Unreadable {
  return typeof read === 'object' && read !== null && 'failed' in read && typeof read.failed === 'string';
}

const bytes = (value: number) => formatField('size', Math.max(value, 0)) || '0';
const perSecond = (value: number) =>
  value < 1024 ? `${Math.round(value)} B/s` : value < 2 ** 20 ? `${(value / 1024).toFixed(0)} KiB/s` : `${bytes(value)}/s`;

function graphs(rows: readonly JsonObject[]): Html {
  const sorted = [...rows].sort((a, b) => Number(a['time'] ?? 0) - Number(b['time'] ?? 0));
  const of = (name: string) => ({ name, points: sorted.map((row) => numberOf(row[name])) });
  const times = sorted.map((row) => Number(row['time'] ?? 0) * 1000);
  const most = Math.max(0, ...sorted.map((row) => numberOf(row['maxmem']) ?? 0));
  const percent = (value: number) => `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`;
  const all = [
    graph('CPU', [of('cpu')], { times, inWords: percent }),
    graph(t('Memory'), [of('mem')], { times, inWords: bytes, ...(most > 0 ? { top: most } : {}) }),
    graph(t('Network'), [of('netin'), of('netout')], { times, inWords: perSecond }),
    graph(t('Disk'), [of('diskread'), of('diskwrite')], { times, inWords: perSecond }),
  ];
  const isEmpty = sorted.every((row) => numberOf(row['cpu']) === undefined && numberOf(row['mem']) === undefined);
  return isEmpty
    ? html`<p class="dim">${t('Nothing was measured: it did not run, or it is too new.')}</p>`
    : html`<div class="graphs">${all}</div>`;
}

/** The API gives numbers as texts, too, and NaN as one. */
function numberOf(value: JsonValue | undefined): number | undefined {
  const number = typeof value === 'string' ? Number.parseFloat(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

function time(seconds: JsonValue | undefined): string {
  return Number(seconds) > 0 ? localTime(Number(seconds) * 1000) : '';
}

function taskTable(tasks: readonly JsonObject[]): Html {
  const rows = tasks.map((task) => {
    const state = task['endtime'] === undefined ? 'running' : textOf(task['status']) || 'unknown';
    const button = html`<button type="button" class="link" data-say="log" data-value="${textOf(task['upid']) ?? ''}">${t('Log')}<span class="unseen"> ${t('of {0}, {1}', taskTitle(task['type']), time(task['starttime']))}</span></button>`;
    return [
      taskTitle(task['type']),
      time(task['starttime']),
      html`<span class="${state === 'OK' || state === 'running' ? 'fine' : 'bad'}">${state}</span>`,
      textOf(task['user']) ?? '',
      button,
    ];
  });
  return table([t('Task'), t('Began'), t('State'), t('By'), t('Log')], rows, t('None that its node still keeps.'));
}

function logPart(log: GuestFacts['log']): Html {
  if (log === undefined) return nothing;
  return part(t('Log: {0}', log.title), log.look, ({ running, exitStatus, lines: said }) => {
    const state = running ? t('It runs; this follows.') : t('It ended: {0}.', exitStatus ?? t('unknown'));
    return html`<p role="status">${state}</p><pre tabindex="0" aria-label="${t('The task’s log')}">${lines(said.join('\n'), maxText)}</pre>`;
  });
}

function snapshotTable(snapshots: readonly JsonObject[]): Html {
  const rows = snapshots
    .filter(({ name }) => name !== 'current')
    .map((row) => [
      textOf(row['name']) ?? '',
      time(row['snaptime']),
      Number(row['vmstate'] ?? 0) === 1 ? t('yes') : t('no'),
      textOf(row['description']) ?? '',
    ]);
  return table([t('Name'), t('Taken'), t('With memory'), t('Description')], rows, t('It has none.'));
}

function backupTable(backups: readonly JsonObject[]): Html {
  const newest = [...backups].sort((a, b) => Number(b['ctime'] ?? 0) - Number(a['ctime'] ?? 0));
  const rows = newest.map((row) => [
    time(row['ctime']),
    formatField('size', row['size']),
    textOf(row['volid']) ?? '',
    textOf(row['notes']) ?? '',
  ]);
  return table([t('Made'), t('Size'), t('Volume'), t('Notes')], rows, t('No storage that its node sees holds one.'));
}

function configTable(config: JsonObject): Html {
  const rows = Object.entries(config)
    .filter(([key]) => key !== 'digest')
    .sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    .map(([key, value]) => html`<tr><th scope="row">${key}</th><td>${formatField('', value)}</td></tr>`);
  return html`<table>${rows}</table>`;
}

/** What a record of the trail says was done, for people. */
const told: Readonly<Record<string, string>> = {
  'tool.finished': t('called'),
  'tool.denied': t('refused'),
  'approval.requested': t('asked'),
  'approval.approved': t('approved'),
  'approval.denied': t('denied'),
  'attempt.resolved': t('outcome looked up'),
  'task.ended': t('task ended'),
};

/** Those of the trail that are about this guest, newest first. */
export function recordsOf(records: readonly AuditRecord[], cluster: string, vmid: number): readonly AuditRecord[] {
  const isIt = (target: JsonValue) => isJsonObject(target) && target['vmid'] === vmid && (target['cluster'] ?? cluster) === cluster;
  const own = records.filter(({ name, attributes: { target } }) => Object.hasOwn(told, name) && Array.isArray(target) && target.some(isIt));
  return own.toReversed().slice(0, shownRecords);
}

function trailTable(records: readonly AuditRecord[]): Html {
  const rows = records.map(({ time: at, name, attributes, sequence }) => {
    const status = textOf(attributes['status']) ?? '';
    const isBad = name === 'tool.denied' || status === 'error' || status === 'denied';
    const message = textOf(attributes['message']) ?? '';
    return [
      localTime(Date.parse(at)),
      textOf(attributes['gen_ai.tool.name']) ?? textOf(attributes['tool']) ?? '',
      agentsIn(attributes).join(', '),
      html`<span class="${isBad ? 'bad' : 'fine'}">${status === '' ? (told[name] ?? name) : status}</span>`,
      html`${message} <span class="dim">${t('record {0}', sequence)}</span>`,
    ];
  });
  return table(
    [t('When'), t('Tool'), t('Agent'), t('Outcome'), t('What came of it')],
    rows,
    t('Nothing, as far as the newest part of the trail tells.'),
  );
}

// One graph as SVG, drawn by attributes and classes alone: the page's policy allows no style of an element's own.

interface Series {
  /** The API's name of it. */
  readonly name: string;
  /** undefined: nothing was measured then. */
  readonly points: readonly (number | undefined)[];
}

interface Axes {
  /** Of each point, ms since the epoch. */
  readonly times: readonly number[];
  inWords(value: number): string;
  /** Of the vertical axis; absent: the largest value. */
  readonly top?: number;
}

const width = 300;
const height = 70;

const titles: Readonly<Record<string, string>> = { netin: t('in'), netout: t('out'), diskread: t('read'), diskwrite: t('written') };

/** At most two series. What a screen reader says of it are the figures that count. */
function graph(title: string, series: readonly Series[], { times, inWords, top }: Axes): Html {
  const known = series.filter(({ points }) => points.some((point) => point !== undefined));
  if (known.length === 0) return html`<figure><figcaption>${title}</figcaption><p class="dim">${t('Nothing was measured.')}</p></figure>`;
  const most = top ?? Math.max(...known.flatMap(({ points }) => points.map((point) => point ?? 0)), Number.MIN_VALUE);
  const figures = known.map((one) => figuresOf(one, inWords));
  const drawn = known.map(({ points }, index) => pathOf(points, most, index));
  const [from = 0, to = 0] = [times[0], times.at(-1)];
  const words = figures.map(({ name, now, average, max }) =>
    t('{0}{1} now, {2} on average, at most {3}', name === '' ? '' : `${name} `, now, average, max),
  );
  const legend = words.map((line, index) => html`<li class="legend-${index}">${line}</li>`);
  return html`<figure>
<figcaption>${title}</figcaption>
<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${title}: ${words.join('; ')}">${drawn}</svg>
<p class="dim axis"><span>${localTime(from)}</span><span>${localTime(to)}</span></p>
<ul class="legend">${legend}</ul>
</figure>`;
}

function figuresOf({ name, points }: Series, inWords: (value: number) => string) {
  const known = points.filter((point) => point !== undefined);
  const sum = known.reduce((all, value) => all + value, 0);
  const words = { now: inWords(known.at(-1) ?? 0), average: inWords(sum / known.length), max: inWords(Math.max(...known)) };
  return { name: titles[name] ?? '', ...words };
}

/** A line that has a gap where nothing was measured. */
function pathOf(points: readonly (number | undefined)[], most: number, index: number): Html {
  const step = width / Math.max(1, points.length - 1);
  let isDown = false;
  const moves = points.map((point, at) => {
    const move =
      point === undefined
        ? ''
        : `${isDown ? 'L' : 'M'}${(at * step).toFixed(1)} ${(height - 2 - (point / most) * (height - 4)).toFixed(1)}`;
    isDown = point !== undefined;
    return move;
  });
  return new Html(`<path class="line-${index}" vector-effect="non-scaling-stroke" fill="none" d="${moves.join('')}"/>`);
}

/** What this page has besides all live ones. */
export const guestStyle = `
.graphs { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20em, 100%), 1fr)); gap: 1.2em; }
figure { margin: 0; }
figcaption { font-weight: 600; margin-bottom: .3em; }
svg { display: block; width: 100%; height: 5.5em; background: var(--vscode-textCodeBlock-background); border: 1px solid var(--vscode-contrastBorder, transparent); }
.line-0 { stroke: var(--vscode-charts-blue, var(--vscode-foreground)); stroke-width: 1.5px; }
.line-1 { stroke: var(--vscode-charts-purple, var(--vscode-foreground)); stroke-width: 1.5px; stroke-dasharray: 5 3; }
.axis { display: flex; justify-content: space-between; margin: .2em 0; font-size: .9em; }
.legend { list-style: none; padding: 0; }
.legend li::before { content: "— "; font-weight: 700; }
.legend-0::before { color: var(--vscode-charts-blue, inherit); }
.legend-1::before { color: var(--vscode-charts-purple, inherit); }
.legend .legend-1::before { content: "- - "; }
.facts { columns: 2; margin-bottom: 1em; }
@media (max-width: 520px) { .facts { columns: 1; } }
`;
