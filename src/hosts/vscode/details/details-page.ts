/** Everything there is to know about one request: what it does, what it affects, who asks and whether anybody waits; the rest is folded. */
import { isForPhones, qrDrawing } from '#app/people/qr-code';
import type { Explanation } from '#kernel/app';
import type { CardSection, ReviewCard } from '#kernel/approval/answer';
import { grantsEnd, type RequestRecord, type RequestStatus, requestReason, requestRisk } from '#kernel/approval/request';
import { isSettledReport, lapsedUnused } from '#kernel/approval/request-end';
import { applyHeldTool } from '#kernel/effects';
import { isJsonObject, type JsonObject, textOf } from '#kernel/json';
import type { LiveFact } from '#kernel/live';
import { type PlanProgress, planIn } from '#kernel/plans/plan-progress';
import { isTargetKind, type Target, targetWords } from '#kernel/resource';
import { Html, html, lines, nothing } from '#kernel/text/html';
import { isMessage, type Message } from '#kernel/text/message';
import { changeLines, changesIn } from '#kernel/text/shown-change';
import { showPlainly } from '#kernel/text/text';
import { unifiedDiff } from '#kernel/text/unified-diff';
import { impactWords } from '#kernel/tiers';
import { reasonWords } from '../fault-words.ts';
import { inWords, t } from '../l10n.ts';
import { shownSteps, standingNames, stepNames, stepWord } from '../plans/step-rows.ts';
import { agentName, statusNames } from '../request-words.ts';
import { writes } from './write-sides.ts';

/** What is read while the page is open already: undefined while it is under way, a text where it cannot be read. */
export type Loaded<T> = T | { readonly failed: string } | undefined;

export interface RequestFacts {
  readonly record: RequestRecord;
  readonly card: Pick<ReviewCard, 'title' | 'tampered' | 'sections'>;
  readonly live: Loaded<readonly LiveFact[]>;
  readonly policy: Loaded<Explanation>;
  /** How far it is, where it is a plan that somebody has decided about. */
  readonly progress?: PlanProgress;
  /** Origin of the page on which it can be approved with a passkey; absent: there is none. */
  readonly page?: string;
}

const maxArguments = 20_000;

const statusInWords: Partial<Record<RequestStatus, string>> = {
  consumed: t('approved and used'),
  approved: t('approved, not used yet'),
  expired: t('expired (nobody decided)'),
};

function statusOf(record: RequestRecord): string {
  if (isSettledReport(record)) return t('settled');
  return lapsedUnused(record) ? t('approved, not used in time') : (statusInWords[record.status] ?? statusNames[record.status]);
}

/** `state` is spoken when it changes; what is folded at first is in `rest`. */
export const detailsParts = ['state', 'acts', 'card', 'rest'] as const;

/** SECURITY: markup in which everything from outside is escaped; its buttons say a verb, and the panel knows which request is meant. */
export function detailsMarkup(facts: RequestFacts): Record<(typeof detailsParts)[number], string> {
  const { record, card, page } = facts;
  const isCall = record.reported === undefined;
  const parts = {
    state: banner(facts),
    acts: html`${actions(record, page !== undefined)}${timeLeft(facts)}`,
    card: html`${planSection(facts)}
${section(t('What it does'), whatRows(record))}
${record.reported === undefined ? nothing : section(t('Reported block'), reportRows(record.reported))}
${heldSection(record.action.targets)}
${isCall ? writtenSection(record) : nothing}
${factList(t('What it affects, as told when it was asked'), requestRisk(record).map(inWords))}
${record.action.cluster === null ? nothing : liveSection(facts.live)}
${section(t('Who asks, and why'), [...whyRows(record), ...agreeRows(card)])}`,
    rest: html`${isCall ? fold('exact', t('Exactly what runs'), exactCall(record)) : nothing}
${isCall && planIn(record) === undefined ? fold('policy', t('What the policy says now'), policySection(facts.policy)) : nothing}
${fold('times', t('Times and marks'), rowTable(timeRows(record)))}
${record.status === 'pending' && page !== undefined ? phoneSection(`${page}/r/${record.id}`) : nothing}`,
  };
  return { state: parts.state.markup, acts: parts.acts.markup, card: parts.card.markup, rest: parts.rest.markup };
}

/** @param id by which it stays unfolded when it is drawn anew */
function fold(id: string, title: string, inside: Html, isOpen = false): Html {
  return html`<details id="fold-${id}"${isOpen ? new Html(' open') : nothing}><summary>${title}</summary>${inside}</details>`;
}

function banner({ record, card }: RequestFacts): Html {
  if (card.tampered) {
    return html`<p class="banner bad">${t('This request was changed in the store after it was made. It cannot be approved. Run “Banksman: Verify Audit Trail”.')}</p>`;
  }
  const { status, decision } = record;
  if (status === 'pending') return html`<p class="banner waits">${t('Waits for a person.')} ${linesOf(card, 'wait').join(' ')}</p>`;
  const by = decision === undefined ? nothing : html` ${t('by {0} in the {1}', decision.by, decision.via)}`;
  const said = decision?.message === undefined ? nothing : html`: “${decision.message}”`;
  return html`<p class="banner over"><strong>${statusOf(record)}</strong>${by}${said}</p>`;
}

/** Not in what is spoken: it changes every minute. */
function timeLeft({ record, card }: RequestFacts): Html {
  if (record.status !== 'pending') return nothing;
  return html`<p class="dim">${linesOf(card, 'state').join(' ')}</p>`;
}

/** In the card's own words: whether a call waits for the answer, who has to agree, how long it can be given. */
function linesOf({ sections }: RequestFacts['card'], wanted: CardSection['kind']): readonly string[] {
  return sections.filter(({ kind }) => kind === wanted).flatMap(({ lines: said }) => said.map(inWords));
}

function agreeRows(card: RequestFacts['card']): readonly Row[] {
  const rules = linesOf(card, 'rules');
  return rules.length === 0 ? [] : [[t('Who has to agree'), html`${rules.map((line) => html`${line}<br>`)}`]];
}

/** What a button of the page may run; each takes the request's id and none decides anything. */
export const detailsVerbs = ['review', 'deny', 'revoke', 'showDiff', 'openPage', 'strikeSteps'] as const;
type Verb = (typeof detailsVerbs)[number];

function actions(record: RequestRecord, hasPage: boolean): Html {
  const isPending = record.status === 'pending';
  const buttons = [
    ...(isPending ? [button('review', t('Review…')), button('deny', t('Deny…'), 'quiet')] : []),
    ...(isPending && planIn(record) !== undefined ? [button('strikeSteps', t('Strike Steps…'), 'quiet')] : []),
    ...(isPending && hasPage ? [button('openPage', t('Open Approval Page'), 'quiet')] : []),
    ...(record.status === 'approved' && record.reported === undefined ? [button('revoke', t('Revoke…'))] : []),
    ...(writes(record.action) ? [button('showDiff', t('Compare with the File'), 'quiet')] : []),
  ];
  return buttons.length === 0 ? nothing : html`<p class="actions">${buttons}</p>`;
}

function button(verb: Verb, label: string, look = ''): Html {
  return html`<button type="button" class="button ${look}" data-say="run" data-value="${verb}">${label}</button>`;
}

/** The whole card: the steps with how each stands, what others lose by them, how it ends and what nobody can foretell. */
function planSection({ record, card, progress }: RequestFacts): Html {
  const plan = planIn(record);
  if (plan === undefined) return nothing;
  const rows = shownSteps(plan as unknown as JsonObject).map(({ title, call, tool, waitsFor, undo }, index) => {
    const now = progress?.steps[index];
    const word = progress === undefined || progress.standing === 'waiting' || now === undefined ? undefined : stepWord(now, progress);
    const why = now?.message === undefined || word === 'done' ? nothing : html`<br><span class="dim">${now.message}</span>`;
    return html`<li><strong>${title}</strong>${word === undefined ? nothing : html` <span class="word ${word}">${stepNames[word]}</span>`}${why}
<br><code>${tool} ${call}</code>${waitsFor === '' ? nothing : html`<br><span class="dim">${t('Begins {0}.', waitsFor)}</span>`}<br><span class="dim">${t('It {0}.', undo)}</span></li>`;
  });
  const rest = card.sections.filter(({ kind }) => kind === 'plan').flatMap(({ lines: told }) => told);
  const others = rest.filter(({ text }) => !/^(?:\{0\}\. | {3})/.test(text)).map(inWords);
  const state =
    progress === undefined || progress.standing === 'waiting'
      ? nothing
      : html`<p>${standingNames[progress.standing]}${progress.message === '' ? '' : `: ${progress.message}`}.</p>`;
  const left =
    progress?.replacedBy === undefined
      ? nothing
      : html`<p>${t('A person struck steps from it; what is left is {0}.', progress.replacedBy)}</p>`;
  const [first, ...last] = others.map((line) => html`<p>${line}</p>`);
  return html`<h2>${t('The plan')}</h2>${state}${left}${first ?? nothing}<ol class="plan">${rows}</ol>${last}`;
}

/** For who has the passkey on a phone. */
function phoneSection(address: string): Html {
  if (!isForPhones(address)) return nothing;
  return fold('phone', t('On a phone with a passkey'), html`${qrDrawing(address)}<p>${address}</p>`);
}

/** So many lines of differences are read at once; of more, each file is unfolded by itself. */
const linesUnfolded = 120;

/** SECURITY: escaped twice over: what would hide or reorder is shown as its code, and nothing is markup. */
function heldSection(targets: readonly JsonObject[]): Html {
  const changes = changesIn(targets).map((change) => changeLines(change).map(inWords));
  if (changes.length === 0) return nothing;
  const isShort = changes.flat().length <= linesUnfolded;
  const rest = targets.reduce((sum, { more }) => sum + (typeof more === 'number' ? more : 0), 0);
  const files = changes.map(([title = '', ...inside], index) =>
    inside.length === 0 ? html`<p><code>${title}</code></p>` : fold(`held-${index}`, title, difference(title, inside), isShort),
  );
  const more = rest === 0 ? nothing : html`<p class="bad">${t('And {0} more changes, which are not shown.', rest)}</p>`;
  return html`<h2>${t('The held changes')}</h2>${files}${more}`;
}

/** @param changed lines of `changeLines` or of a unified diff, marked in the third column */
function difference(title: string, changed: readonly string[]): Html {
  const look = (line: string) => (/^ {2}\+/.test(line) ? 'add' : /^ {2}-/.test(line) ? 'del' : '');
  const rows = changed.map(
    (line) => html`<span class="${look(line)}">${line}
</span>`,
  );
  return html`<pre class="still" tabindex="0" aria-label="${t('Differences: {0}', title)}">${rows}</pre>`;
}

/** All of what would be written. */
function writtenSection({ action: { tool, arguments: values } }: RequestRecord): Html {
  const { content, edits, path } = values;
  if (tool === 'write_file' && typeof content === 'string') {
    const name = t('New content');
    return html`<h2>${name}</h2><pre class="still" tabindex="0" aria-label="${name}">${lines(content, maxArguments)}</pre>`;
  }
  if (tool !== 'edit_file' || !Array.isArray(edits)) return nothing;
  const changed = edits
    .filter(isJsonObject)
    .flatMap(({ old_text: before, new_text: after }) =>
      typeof before === 'string' && typeof after === 'string' ? unifiedDiff(before, after) : [],
    );
  return html`<h2>${t('The changes')}</h2>${difference(
    showPlainly(textOf(path) ?? ''),
    changed.map((line) => `  ${showPlainly(line, 2_000)}`),
  )}`;
}

type Row = readonly [label: string, value: Html | string];

function whatRows({ action, tier, impact, reported }: RequestRecord): readonly Row[] {
  if (reported !== undefined) return [[t('Kind'), t('a block that an agent reported; settling it runs nothing and lets nothing through')]];
  const targets = action.targets.map((target) => html`${targetInWords(target)}<br>`);
  const { content: _written, edits: _edited, ...values } = action.arguments;
  return [
    ...(targets.length === 0 || planIn({ action }) !== undefined ? [] : [[t('Target'), html`${targets}`] as const]),
    ...(action.cluster === null ? [] : [[t('Cluster'), action.cluster] as const]),
    [
      t('Impact'),
      action.tool === applyHeldTool && impact === 'reversible'
        ? t('can be undone: “Banksman: Undo This Run…”')
        : inWords(impactWords[impact]),
    ],
    ...(planIn({ action }) === undefined
      ? [[t('Call'), html`<code>${action.tool} ${showPlainly(JSON.stringify(values), 600)}</code>`] as const]
      : []),
    [t('Action tier'), tier],
  ];
}

/** By its kind; what is of no kind we know is only shown as it is. */
function targetInWords(target: JsonObject): string {
  return isTargetKind(target['kind']) ? inWords(targetWords(target as unknown as Target)) : '';
}

function reportRows({ reason, destination, pattern }: NonNullable<RequestRecord['reported']>): readonly Row[] {
  return [
    [t('Reason'), reason],
    [t('Destination'), html`<code>${destination}</code>`],
    ...(pattern === undefined ? [] : [[t('Matched (for people only)'), html`<code>${pattern}</code>`] as const]),
  ];
}

function whyRows({ agent, reason, words, code, claim }: RequestRecord): readonly Row[] {
  return [
    [t('Agent'), html`${agentName(agent)} <span class="dim">${agent.id}</span>`],
    ...(agent.model === undefined ? [] : [[t('Model'), agent.model] as const]),
    // That a red tool asks is no reason: what is at stake stands under what it affects, as on the card.
    ...(code === 'confirmation_required'
      ? []
      : [
          [
            t('Why a person is asked'),
            html`${inWords(requestReason({ reason, ...(words === undefined ? {} : { words }) }))} <span class="dim">${code}</span>`,
          ] as const,
        ]),
    ...(claim === undefined ? [] : [[t('The agent says'), html`<q>${claim}</q>`] as const]),
  ];
}

function timeRows(record: RequestRecord): readonly Row[] {
  const time = (at: number) => new Date(at).toLocaleString(t('en'), { dateStyle: 'medium', timeStyle: 'medium', hour12: false });
  const { createdAt, expiresAt, decision, grants = [], consumedAt, consumedBy } = record;
  return [
    [t('Asked'), time(createdAt)],
    [t('Expires'), time(expiresAt)],
    ...(decision === undefined ? [] : [[t('Answered'), t('{0} by {1} ({2})', time(decision.at), decision.by, decision.via)] as const]),
    ...grants.map(
      ({ payload }) =>
        [
          t('Approved by'),
          `${payload.approver}, ${payload.display === 'outside' ? t('outside the agents’ account') : t('in the agents’ account')}`,
        ] as const,
    ),
    ...(decision === undefined || grants.length === 0 || record.reported !== undefined
      ? []
      : [[t('Approval good until'), time(grantsEnd(grants))] as const]),
    ...(consumedAt === undefined
      ? []
      : [[t('Used'), consumedBy === undefined ? time(consumedAt) : t('{0} by {1}', time(consumedAt), consumedBy)] as const]),
    [t('Request'), html`<code>${record.id}</code>`],
    [t('Digest'), html`<code>${record.digest}</code>`],
    [t('Policy'), record.action.policyVersion],
  ];
}

/** A service of an earlier version tells in English. */
function factWords(text: Message): string {
  return isMessage(text) ? inWords(text) : String(text);
}

function liveSection(live: Loaded<readonly LiveFact[]>): Html {
  if (live === undefined) return html`<h2>${t('Now, in the cluster')}</h2><p class="dim">${t('Asking the cluster…')}</p>`;
  if ('failed' in live) return html`<h2>${t('Now, in the cluster')}</h2><p class="bad">${t('It cannot be read: {0}', live.failed)}</p>`;
  const groups = Map.groupBy(live, ({ about }) => (about === undefined ? undefined : factWords(about)));
  const tables = [...groups].map(
    ([about, facts]) => html`${about === undefined ? nothing : html`<h3>${about}</h3>`}${rowTable(facts.map(factRow))}`,
  );
  return tables.length === 0 ? nothing : html`<h2>${t('Now, in the cluster')}</h2>${tables}`;
}

function factRow({ label, value, warns }: LiveFact): Row {
  const words = factWords(value);
  return [factWords(label), warns === true ? html`<span class="bad">${words}</span>` : words];
}

/** Every argument and target, as it is in what is signed. */
function exactCall({ action }: RequestRecord): Html {
  const targets = action.targets.map((target) => JSON.stringify({ ...target, changes: undefined }));
  const texts = [action.tool, JSON.stringify(action.arguments, undefined, 2), ...targets].join('\n');
  return html`<pre class="still" tabindex="0" aria-label="${t('Exactly what runs')}">${lines(texts, maxArguments)}</pre>`;
}

function policySection(policy: Loaded<Explanation>): Html {
  if (policy === undefined) return html`<p class="dim">${t('Asking the policy…')}</p>`;
  if ('failed' in policy) return html`<p class="bad">${t('It cannot be told: {0}', policy.failed)}</p>`;
  const rows = policy.stages.map(
    ({ stage, decision }) => html`<tr><td>${stage}</td><td class="${decision.effect}">${decision.effect}</td>
<td>${reasonWords(decision)} <span class="dim">${decision.code}</span>${decision.rules.length === 0 ? nothing : html`<br><code>${decision.rules.join(', ')}</code>`}</td></tr>`,
  );
  return html`<table class="trail">${rows}</table>`;
}

function factList(title: string, facts: readonly string[]): Html {
  return facts.length === 0 ? nothing : html`<h2>${title}</h2><ul>${facts.map((fact) => html`<li>${fact}</li>`)}</ul>`;
}

function section(title: string, rows: readonly Row[]): Html {
  return rows.length === 0 ? nothing : html`<h2>${title}</h2>${rowTable(rows)}`;
}

function rowTable(rows: readonly Row[]): Html {
  return html`<table>${rows.map(([label, value]) => html`<tr><th scope="row">${label}</th><td>${value}</td></tr>`)}</table>`;
}
