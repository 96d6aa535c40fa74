/** The page *Activity*: calls over time by tier and outcome, and each of them. Pure; all from outside is escaped. */
import { type Html, html, lines, nothing } from '#kernel/text/html';
import { localTime } from '#kernel/text/result-fields';
import { showPlainly } from '#kernel/text/text';
import { saidWords } from '../fault-words.ts';
import { t } from '../l10n.ts';
import {
  type ActivityCall,
  type Bucket,
  type CallEnd,
  type CallFilter,
  callEnds,
  counted,
  filtered,
  type Range,
  tierWords,
} from './calls.ts';

export interface ActivityFacts {
  /** All that was read, newest first; undefined: not yet. */
  readonly calls: readonly ActivityCall[] | { readonly failed: string } | undefined;
  /** The trail has more than was read. */
  readonly hasMore: boolean;
  readonly filter: CallFilter;
  /** The call that is unfolded, and what was asked about it besides. */
  readonly open: { readonly id: string; readonly extra: string } | undefined;
  /** ms since the epoch */
  readonly now: number;
}

export const activityParts = ['filters', 'charts', 'calls'] as const;

const shownCalls = 200;

export function activityMarkup(facts: ActivityFacts): Record<(typeof activityParts)[number], string> {
  const { calls = [], filter, now } = facts;
  if ('failed' in calls)
    return { filters: '', charts: html`<p class="banner bad">${t('The trail cannot be read: {0}', calls.failed)}</p>`.markup, calls: '' };
  const shown = filtered(calls, filter, now);
  return {
    filters: filters(calls, filter).markup,
    charts: charts(shown, filter.range, now).markup,
    calls: callList(shown, facts).markup,
  };
}

const rangeWords: Record<Range, string> = {
  hour: t('The last hour'),
  day: t('The last day'),
  week: t('The last week'),
  all: t('All that was read'),
};
const endWords: Record<CallEnd, string> = {
  ok: t('done'),
  error: t('failed'),
  denied: t('refused'),
  pending: t('waits for a person'),
  running: t('running'),
  unknown: t('outcome unknown'),
};

function filters(calls: readonly ActivityCall[], filter: CallFilter): Html {
  const words = (of: (call: ActivityCall) => string) =>
    [...new Set(calls.map(of))]
      .filter((word) => word !== '')
      .sort((a, b) => a.localeCompare(b))
      .map((word) => [word, word] as const);
  const any = ['', t('all')] as const;
  return html`<p class="filters">
${select('range', t('Time'), Object.entries(rangeWords), filter.range)}
${select('agent', t('Agent'), [any, ...words(({ agent }) => agent)], filter.agent)}
${select('tool', t('Tool'), [any, ...words(({ tool }) => tool)], filter.tool)}
${select('end', t('Outcome'), [any, ...callEnds.map((end) => [end, endWords[end]] as const)], filter.end)}
<label>${t('Target or words')} <input type="search" data-say="search" value="${filter.search}"></label></p>`;
}

function select(name: string, title: string, options: readonly (readonly [string, string])[], chosen: string): Html {
  const items = options.map(
    ([value, text]) => html`<option value="${value}"${value === chosen ? html` selected` : nothing}>${text}</option>`,
  );
  return html`<label>${title} <select data-say="${name}">${items}</select></label>`;
}

function charts(calls: readonly ActivityCall[], range: Range, now: number): Html {
  const byEnd = counted(calls, range, now, ({ end }) => end);
  const byTier = counted(calls, range, now, ({ tier }) => tier);
  const ends = callEnds.map((end) => [end, endWords[end]] as const);
  const tiers = tierWords.map((tier) => [tier, tier] as const);
  return html`<div class="charts">${chart(t('By outcome'), byEnd, ends)}${chart(t('By tier'), byTier, tiers)}</div>`;
}

const width = 400;
const height = 90;

/** Bars upon each other; what a screen reader says are the sums. */
function chart(title: string, buckets: readonly Bucket[], words: readonly (readonly [string, string])[]): Html {
  const sum = (word: string) => buckets.reduce((all, { counts }) => all + (counts[word] ?? 0), 0);
  const known = words.filter(([word]) => sum(word) > 0);
  const most = Math.max(1, ...buckets.map(({ counts }) => known.reduce((all, [word]) => all + (counts[word] ?? 0), 0)));
  const step = width / buckets.length;
  const bars = buckets.flatMap(({ counts }, index) => {
    let top = height;
    return known.flatMap(([word]) => {
      const tall = ((counts[word] ?? 0) / most) * height;
      top -= tall;
      return tall === 0
        ? []
        : [
            html`<rect class="bar-${word}" x="${(index * step).toFixed(1)}" y="${top.toFixed(1)}" width="${(step - 1).toFixed(1)}" height="${tall.toFixed(1)}"/>`,
          ];
    });
  });
  const said = known.map(([word, text]) => `${sum(word)} ${text}`);
  const legend = known.map(([word], index) => html`<li class="key-${word}">${said[index] ?? ''}</li>`);
  return html`<figure><figcaption>${title}</figcaption>
<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${title}: ${said.length === 0 ? t('no call') : said.join(', ')}">${bars}</svg>
<p class="dim axis"><span>${localTime(buckets[0]?.from ?? 0)}</span><span>${t('at most {0} a bar', most)}</span><span>${t('now')}</span></p>
<ul class="legend">${legend}</ul></figure>`;
}

function callList(shown: readonly ActivityCall[], { open, hasMore, calls }: ActivityFacts): Html {
  if (calls === undefined) return html`<p class="dim">${t('Reading the trail…')}</p>`;
  const more =
    shown.length > shownCalls ? html`<p class="dim">${t('{0} older ones are not shown.', shown.length - shownCalls)}</p>` : nothing;
  const rest = hasMore
    ? html`<p class="dim">${t('The trail goes back further than what is read here: “banksman audit tail” and “banksman audit export” have all of it.')}</p>`
    : nothing;
  if (shown.length === 0) return html`<h2>${t('Calls')}</h2><p class="dim">${t('None that fits.')}</p>${rest}`;
  return html`<h2>${shown.length === 1 ? t('1 call') : t('{0} calls', shown.length)}</h2><ol class="calls">${shown
    .slice(0, shownCalls)
    .map((call) => callItem(call, open?.id === call.id ? open.extra : undefined))}</ol>${more}${rest}`;
}

/** A label is the caller's own word, and stands beside what is known. */
function whoOf({ agent, agentFacts: { label } }: ActivityCall): string {
  return typeof label === 'string' && label !== '' ? `${agent} “${showPlainly(label, 60)}”` : agent;
}

/** @param extra of the one that is unfolded */
function callItem(call: ActivityCall, extra: string | undefined): Html {
  const isOpen = extra !== undefined;
  const bad = call.end === 'error' || call.end === 'denied' || call.end === 'unknown';
  const head = html`<button type="button" class="call" data-say="open" data-value="${call.id}" aria-expanded="${String(isOpen)}">
<span class="dim">${localTime(call.at)}</span> <strong>${call.tool}</strong> ${call.targets.join(', ')} <span class="dim">${t('by {0}', whoOf(call))}</span> <span class="${bad ? 'bad' : 'fine'}">${endWords[call.end]}</span></button>`;
  return html`<li>${head}${isOpen ? details(call, extra) : nothing}</li>`;
}

const workspaceTools: ReadonlySet<string> = new Set(['run_command', 'write_file', 'edit_file']);

function details(call: ActivityCall, extra: string): Html {
  const rows: readonly (readonly [string, Html | string])[] = [
    [t('What came of it'), `${saidWords(call.message)}${call.code === '' || call.code === 'ok' ? '' : ` (${call.code})`}`],
    [t('Tier'), call.tier],
    [t('Took'), call.durationMs === undefined ? '' : t('{0} ms without the time of people', call.durationMs)],
    [t('Rules'), call.rules.join(', ')],
    [t('Request'), call.requestId ?? ''],
    [t('Record'), t('{0}, call {1}', call.sequence, call.id)],
  ];
  const cells = rows
    .filter(([, value]) => value !== '')
    .map(([title, value]) => html`<tr><th scope="row">${title}</th><td>${value}</td></tr>`);
  const button = (say: string, label: string) =>
    html`<button type="button" class="button quiet" data-say="${say}" data-value="${call.id}">${label}</button>`;
  const buttons = [
    button('explain', t('Explain')),
    button('proof', t('Show Proof')),
    ...(call.requestId === undefined ? [] : [button('request', t('Show Request'))]),
    ...(workspaceTools.has(call.tool) && call.end === 'ok' ? [button('undo', t('Undo This Run…'))] : []),
  ];
  const text = JSON.stringify(call.arguments, undefined, 2);
  const more = extra === '' ? nothing : html`<pre tabindex="0" aria-label="${t('Answer')}">${lines(extra, 20_000)}</pre>`;
  return html`<div class="inside"><table>${cells}</table><p class="actions">${buttons}</p>${more}<h3>${t('Arguments')}</h3><pre tabindex="0" aria-label="${t('Arguments')}">${lines(text, 20_000)}</pre></div>`;
}

export const activityStyle = `
.filters { display: flex; flex-wrap: wrap; gap: .6em 1.2em; align-items: center; }
select, input { font: inherit; color: var(--vscode-input-foreground); background: var(--vscode-input-background); border: 1px solid var(--vscode-input-border, var(--vscode-contrastBorder, var(--vscode-descriptionForeground))); padding: .2em .4em; max-width: 16em; }
select:focus-visible, input:focus-visible, .call:focus-visible { outline: 1px solid var(--vscode-focusBorder); outline-offset: 1px; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(20em, 100%), 1fr)); gap: 1.4em; }
figure { margin: 0; }
figcaption, h3 { font-weight: 600; font-size: 1em; margin: 0 0 .3em; }
svg { display: block; width: 100%; height: 6.5em; background: var(--vscode-textCodeBlock-background); border: 1px solid var(--vscode-contrastBorder, transparent); }
.axis { display: flex; justify-content: space-between; margin: .2em 0; font-size: .9em; }
.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2em 1.2em; }
.legend li::before { content: "■ "; }
.bar-ok, .bar-green { fill: var(--vscode-charts-green); } .key-ok::before, .key-green::before { color: var(--vscode-charts-green); }
.bar-error, .bar-red { fill: var(--vscode-charts-red); } .key-error::before, .key-red::before { color: var(--vscode-charts-red); }
.bar-denied, .bar-black { fill: var(--vscode-charts-purple); } .key-denied::before, .key-black::before { color: var(--vscode-charts-purple); }
.bar-pending, .bar-yellow { fill: var(--vscode-charts-yellow); } .key-pending::before, .key-yellow::before { color: var(--vscode-charts-yellow); }
.bar-running { fill: var(--vscode-charts-blue); } .key-running::before { color: var(--vscode-charts-blue); }
.bar-unknown { fill: var(--vscode-foreground); } .key-unknown::before { color: var(--vscode-foreground); }
.calls { list-style: none; padding: 0; }
.calls li { border-bottom: 1px solid var(--vscode-panel-border, var(--vscode-contrastBorder, transparent)); }
.call { display: block; width: 100%; text-align: left; border: 0; padding: .45em .2em; background: none; color: inherit; overflow-wrap: anywhere; }
.call:hover { background: var(--vscode-list-hoverBackground); }
.inside { padding: .2em 0 1em 1.2em; }
`;
