/** Everything there is to know about one request, as a page without scripts. */
import { isForPhones, qrDrawing } from '#app/people/qr-code';
import type { Explanation } from '#kernel/app';
import type { ReviewCard } from '#kernel/approval/answer';
import { grantsEnd, type RequestRecord, type RequestStatus } from '#kernel/approval/request';
import { isSettledReport, lapsedUnused } from '#kernel/approval/request-end';
import { applyHeldTool } from '#kernel/effects';
import type { JsonObject } from '#kernel/json';
import type { LiveFact } from '#kernel/live';
import { type PlanProgress, planIn } from '#kernel/plans/plan-progress';
import { describeTarget, isTargetKind, type Target } from '#kernel/resource';
import { Html, html, lines, nothing } from '#kernel/text/html';
import { changeLines, changesIn } from '#kernel/text/shown-change';
import { impactInWords } from '#kernel/tiers';
import { agentName } from '../approvals-view/agent-name.ts';
import { t } from '../l10n.ts';
import { shownSteps, standingNames, stepNames, stepWord } from '../plans/step-rows.ts';
import { statusNames } from '../request-words.ts';
import { detailsStyle } from './details-style.ts';
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
  /** ms since the epoch */
  readonly now: number;
  /** Of this one page. */
  readonly nonce: string;
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

/** A whole HTML document. SECURITY: its policy allows this one style sheet and nothing else: no script, no image, no request. */
export function detailsPage(facts: RequestFacts): string {
  const { record, card, nonce } = facts;
  const csp = `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
  const page = html`<!DOCTYPE html>
<html lang="${t('en')}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(csp)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${card.title}</title>
<style nonce="${nonce}">${new Html(detailsStyle)}</style>
</head>
<body>
<main>
<h1>${card.title.replace(/\?$/, '')}</h1>
${banner(facts)}
${actions(record, facts.page !== undefined)}
${planSection(facts)}
${section(t('What'), whatRows(record))}
${record.reported === undefined ? nothing : section(t('Reported block'), reportRows(record.reported))}
${section(t('Who asks, and why'), whyRows(record))}
${factList(t('What it affects, as told when it was asked'), record.risk)}
${heldSection(record.action.targets)}
${record.action.cluster === null ? nothing : liveSection(facts.live)}
${record.reported === undefined ? argumentSection(record) : nothing}
${record.reported === undefined ? policySection(facts.policy) : nothing}
${section(t('Times'), timeRows(record))}
${record.status === 'pending' && facts.page !== undefined ? phoneSection(`${facts.page}/r/${record.id}`) : nothing}
</main>
</body>
</html>`;
  return page.markup;
}

function banner({ record, card }: RequestFacts): Html {
  if (card.tampered) {
    return html`<p class="banner bad">${t('This request was changed in the store after it was made. It cannot be approved. Run “Banksman: Verify Audit Trail”.')}</p>`;
  }
  const { status, decision } = record;
  if (status === 'pending') return html`<p class="banner waits">${t('Waits for a person.')} ${stateOf(card).join(' ')}</p>`;
  const by = decision === undefined ? nothing : html` ${t('by {0} in the {1}', decision.by, decision.via)}`;
  const said = decision?.message === undefined ? nothing : html`: “${decision.message}”`;
  return html`<p class="banner over"><strong>${statusOf(record)}</strong>${by}${said}</p>`;
}

/** In the card's own words: whether a call waits for the answer, and how long it can be given. */
function stateOf({ sections }: RequestFacts['card']): readonly string[] {
  return sections.filter(({ kind }) => kind === 'wait' || kind === 'state').flatMap(({ lines: said }) => said);
}

/** SECURITY: the links carry the id and nothing else; what they open asks in a dialog that no page and no program can answer. */
function actions(record: RequestRecord, hasPage: boolean): Html {
  const links = [
    ...(record.status === 'pending' ? [link('review', t('Review…'), record.id), link('deny', t('Deny…'), record.id, 'quiet')] : []),
    ...(record.status === 'pending' && planIn(record) !== undefined ? [link('strikeSteps', t('Strike Steps…'), record.id, 'quiet')] : []),
    ...(record.status === 'pending' && hasPage ? [link('openPage', t('Open Approval Page'), record.id, 'quiet')] : []),
    ...(record.status === 'approved' && record.reported === undefined ? [link('revoke', t('Revoke…'), record.id)] : []),
    ...(writes(record.action) ? [link('showDiff', t('Compare with the File'), record.id, 'quiet')] : []),
  ];
  return links.length === 0 ? nothing : html`<p class="actions">${links}</p>`;
}

function link(command: string, label: string, id: string, look = ''): Html {
  const href = `command:banksman.${command}?${encodeURIComponent(JSON.stringify([id]))}`;
  return html`<a class="button ${look}" role="button" href="${href}">${label}</a>`;
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
  const others = rest.filter((line) => !/^(?:\d+\. | {3})/.test(line));
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
  return html`<h2>${t('On a phone with a passkey')}</h2>
${qrDrawing(address)}
<p>${address}</p>`;
}

/** SECURITY: escaped twice over: what would hide or reorder is shown as its code, and nothing is markup. */
function heldSection(targets: readonly JsonObject[]): Html {
  const changes = changesIn(targets).flatMap(changeLines);
  return changes.length === 0 ? nothing : html`<h2>${t('The held changes')}</h2><pre>${changes.join('\n')}</pre>`;
}

type Row = readonly [label: string, value: Html | string];

function whatRows({ action, tier, impact, reported }: RequestRecord): readonly Row[] {
  if (reported !== undefined) return [[t('Kind'), t('a block that an agent reported; settling it runs nothing and lets nothing through')]];
  const targets = action.targets.map(
    (target) => html`${targetInWords(target)}<br><code class="dim">${JSON.stringify({ ...target, changes: undefined })}</code><br>`,
  );
  return [
    [t('Tool'), html`<code>${action.tool}</code>`],
    [t('Action tier'), tier],
    [
      t('Impact'),
      action.tool === applyHeldTool && impact === 'reversible' ? t('can be undone: “Banksman: Undo This Run…”') : impactInWords[impact],
    ],
    ...(targets.length === 0 ? [] : [[t('Target'), html`${targets}`] as const]),
    ...(action.cluster === null ? [] : [[t('Cluster'), action.cluster] as const]),
  ];
}

/** By its kind; what is of no kind we know is only shown as it is. */
function targetInWords(target: JsonObject): string {
  return isTargetKind(target['kind']) ? describeTarget(target as unknown as Target) : '';
}

function reportRows({ reason, destination, pattern }: NonNullable<RequestRecord['reported']>): readonly Row[] {
  return [
    [t('Reason'), reason],
    [t('Destination'), html`<code>${destination}</code>`],
    ...(pattern === undefined ? [] : [[t('Matched (for people only)'), html`<code>${pattern}</code>`] as const]),
  ];
}

function whyRows({ agent, reason, code, claim }: RequestRecord): readonly Row[] {
  return [
    [t('Agent'), html`${agentName(agent)} <span class="dim">${agent.id}</span>`],
    ...(agent.model === undefined ? [] : [[t('Model'), agent.model] as const]),
    // That a red tool asks is no reason: what is at stake stands under what it affects, as on the card.
    ...(code === 'confirmation_required' ? [] : [[t('Why a person is asked'), html`${reason} <span class="dim">${code}</span>`] as const]),
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

function liveSection(live: Loaded<readonly LiveFact[]>): Html {
  if (live === undefined) return html`<h2>${t('Now, in the cluster')}</h2><p class="dim">${t('Asking the cluster…')}</p>`;
  if ('failed' in live) return html`<h2>${t('Now, in the cluster')}</h2><p class="bad">${t('It cannot be read: {0}', live.failed)}</p>`;
  const rows = live.map(({ label, value, warns }): Row => [label, warns === true ? html`<span class="bad">${value}</span>` : value]);
  return section(t('Now, in the cluster'), rows);
}

function argumentSection({ action }: RequestRecord): Html {
  const { content, ...rest } = action.arguments;
  const whole = action.tool === 'write_file' && typeof content === 'string';
  const shown = JSON.stringify(whole ? rest : action.arguments, undefined, 2);
  const text = whole ? html`<h2>${t('New content')}</h2><pre>${lines(content, maxArguments)}</pre>` : nothing;
  return html`<h2>${t('Arguments')}</h2><pre>${lines(shown, maxArguments)}</pre>${text}`;
}

function policySection(policy: Loaded<Explanation>): Html {
  const head = html`<h2>${t('What the policy says now')}</h2>`;
  if (policy === undefined) return html`${head}<p class="dim">${t('Asking the policy…')}</p>`;
  if ('failed' in policy) return html`${head}<p class="bad">${t('It cannot be told: {0}', policy.failed)}</p>`;
  const rows = policy.stages.map(
    ({ stage, decision }) => html`<tr><td>${stage}</td><td class="${decision.effect}">${decision.effect}</td>
<td>${decision.reason} <span class="dim">${decision.code}</span>${decision.rules.length === 0 ? nothing : html`<br><code>${decision.rules.join(', ')}</code>`}</td></tr>`,
  );
  return html`${head}<table class="trail">${rows}</table>`;
}

function factList(title: string, facts: readonly string[]): Html {
  return facts.length === 0 ? nothing : html`<h2>${title}</h2><ul>${facts.map((fact) => html`<li>${fact}</li>`)}</ul>`;
}

function section(title: string, rows: readonly Row[]): Html {
  const cells = rows.map(([label, value]) => html`<tr><th scope="row">${label}</th><td>${value}</td></tr>`);
  return rows.length === 0 ? nothing : html`<h2>${title}</h2><table>${cells}</table>`;
}
