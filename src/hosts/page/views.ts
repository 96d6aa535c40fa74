/** What the page shows: the document, the list, and what a browser is told about itself. */

import type { PasskeyApprover } from '#kernel/approval/passkey';
import { type RequestRecord, requestTitle, waitState } from '#kernel/approval/request';
import type { Pause } from '#kernel/approval/security';
import type { PlanProgress } from '#kernel/plans/plan-progress';
import { Html } from '#kernel/text/html';
import { asIs, durationWords, type Language, type Message, plainly, plural, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { impactWords } from '#kernel/tiers';
import { demoNotice } from './demo-passkey.ts';
import { changed, html, type Markup, marked, momentInUtc, nothing, type View } from './markup.ts';
import { soundChoice } from './page-sound.ts';
import { countDone, standingWords } from './plan-view.ts';

/** The document without anything of anybody in it: the script asks for the rest. @param nonce of this document */
export function shell(nonce: string, isDemo: boolean, language: Language): string {
  return html`<!DOCTYPE html>
<html lang="${language.tag}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Banksman</title>
<link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/page.css" nonce="${nonce}">
</head>
<body>
<a class="skip" href="#main">${say`Skip to content`}</a>
<header>
<a class="brand" href="/">${new Html(mark)}<span>Banksman</span></a>
<nav aria-label="${say`Pages`}"><a href="/" data-nav="/">${say`Waiting`}</a><a href="/settings" data-nav="/settings">${say`Settings`}</a><a href="/me" data-nav="/me">${say`This browser`}</a></nav>
${demoNotice(isDemo)}</header>
<div id="trouble" role="alert"></div>
<div id="result" class="notice" role="status" tabindex="-1" hidden></div>
<main id="main" tabindex="-1"><p class="quiet">${say`Loading…`}</p></main>
<div id="said" class="unseen" role="status" aria-live="polite"></div>
<dialog id="ask" aria-labelledby="asktitle"><form method="dialog">
<h2 id="asktitle">${say`Deny?`}</h2>
<p class="field"><label for="words" id="wordslabel">${say`Words for the agent (optional)`}</label><textarea id="words" rows="3" maxlength="2000"></textarea></p>
<div class="buttons"><button value="yes" class="danger" id="askyes">${say`Deny`}</button><button value="" id="askno">${say`Keep waiting`}</button></div>
</form></dialog>
<noscript><p class="notice">${say`This page needs its script: a passkey can be used by no other way.`}</p></noscript>
${isDemo ? html`<script src="/demo-passkey.js" nonce="${nonce}"></script>` : nothing}<script type="module" src="/page.js" nonce="${nonce}"></script>
</body>
</html>`.draw(language);
}

/** As `media/activity.svg`. */
const drawing =
  '<path d="M9.3 7.8a4.2 4.2 0 0 1 8.4 0" fill="currentColor"/><path d="M8 7.8h11"/><path d="M10.4 8.3a3.1 3.1 0 0 0 6.2 0"/><path d="M7.6 21.2v-3.7a5.9 5.9 0 0 1 11.8 0v3.7"/><path d="M8.6 14 4.6 10.6V4.8"/>';
const strokes = 'fill="none" stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round"';
const mark = `<svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true" stroke="currentColor" ${strokes}>${drawing}</svg>`;
export const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" stroke="#3b6fb6" color="#3b6fb6" ${strokes}>${drawing}</svg>`;

export interface Listed {
  readonly records: readonly RequestRecord[];
  /** Plans under way. */
  readonly running: readonly PlanProgress[];
  /** Of all agents. */
  readonly paused?: Pause;
  /** Changes of the configuration that wait for a person. */
  readonly held: number;
  /** There are more than are shown. */
  readonly more: boolean;
  /** ms since the epoch */
  readonly now: number;
}

export function listView({ records, running, paused, more, held, now }: Listed): View {
  // The oldest first: what comes meanwhile moves nothing that somebody is about to press.
  const agents = Map.groupBy(records.toReversed(), ({ agent }) => agent.id);
  const count = records.length;
  const summary = waitingWords(count, more);
  const body =
    count === 0
      ? html`<div class="empty"><p>${summary}</p><p class="quiet">${say`When an agent wants to do something that needs a person, it appears here by itself.`}</p></div>`
      : html`${[...agents.values()].map((group) => agentGroup(group, now))}${more ? html`<p class="quiet">${say`There are more; these are the newest.`}</p>` : nothing}`;
  return {
    title: count === 0 ? say`Nothing waits` : say`(${count}) Waiting`,
    summary: paused === undefined ? summary : say`All agents are paused. ${summary}`,
    ...(running.length === 0 ? {} : { lively: true as const }),
    main: html`<h1>${say`Waiting for an answer`}</h1>${pausedNotice(paused)}${heldNotice(held)}${plansUnderWay(running)}${body}${
      agents.size > 1 ? html`<p class="buttons">${denyButton(records, 'deny-all')}</p>` : nothing
    }${pauseAll(paused)}`,
  };
}

function waitingWords(count: number, more: boolean): Message {
  if (count === 0) return say`Nothing waits for you.`;
  if (more) return say`${count} and more requests wait for an answer.`;
  return plural(count, say`1 request waits for an answer.`, say`${count} requests wait for an answer.`);
}

function pausedNotice(paused: Pause | undefined): Markup {
  if (paused === undefined) return nothing;
  const by = plainName(paused.by);
  const who =
    paused.reason === undefined
      ? say`**All agents are paused** by ${by}.`
      : say`**All agents are paused** by ${by}: “${showPlainly(paused.reason, 300)}”.`;
  return html`<p class="notice warn">${marked(who)} ${marked(say`What you approve does not run before they are [resumed](/settings).`)}</p>`;
}

/** Nobody has to look for it: it is below all that waits, and in the settings. */
export function pauseAll(paused: Pause | undefined): Markup {
  return paused === undefined
    ? html`<p class="buttons"><button type="button" data-act="pause-all" id="pause-all">${say`Pause all agents…`}</button></p>`
    : nothing;
}

function plansUnderWay(running: readonly PlanProgress[]): Markup {
  if (running.length === 0) return nothing;
  return html`<section class="group" aria-labelledby="plans"><div class="grouphead"><h2 id="plans">${say`Plans under way`}</h2></div>
<ul class="rows">${running.map(
    ({ id, title, standing, steps }) => html`<li><a class="row" href="/r/${id}" id="row-${id}">
<span class="rowtitle">${withoutMark(asIs(title))}</span>
<span class="meta"><span class="chip${standing === 'paused' ? ' disruptive' : ' waits'}">${standingWords[standing]}</span><span class="left">${say`${countDone(steps)} of ${steps.length} steps done`}</span></span>
</a></li>`,
  )}</ul></section>`;
}

function heldNotice(held: number): Markup {
  if (held === 0) return nothing;
  const words = plural(
    held,
    say`A change of the configuration waits for a person, too`,
    say`${held} changes of the configuration wait for a person, too`,
  );
  return html`<p class="notice"><a href="/settings">${words}</a></p>`;
}

function agentGroup(records: readonly RequestRecord[], now: number): Markup {
  const [first] = records;
  if (first === undefined) return nothing;
  const { agent } = first;
  const key = `agent-${first.id}`;
  const denyAll = records.length > 1 ? denyButton(records, `deny-${first.id}`, plainName(agent.id)) : nothing;
  return html`<section class="group" aria-labelledby="${key}">
<div class="grouphead"><h2 id="${key}">${agentName(agent)}</h2>${denyAll}</div>
<ul class="rows">${records.map((record) => row(record, now))}</ul>
</section>`;
}

/** @param agent whose they are; absent: of several */
function denyButton(records: readonly RequestRecord[], id: string, agent = ''): Markup {
  const ids = records.map((record) => record.id).join(' ');
  return html`<button type="button" class="small" data-act="deny-many" data-agent="${agent}" data-requests="${ids}" id="${id}">${say`Deny all ${records.length}…`}</button>`;
}

function row(record: RequestRecord, now: number): Markup {
  const where = targetsOf(record).map(({ short }, index) => html`${index === 0 ? '' : ' · '}${short}`);
  return html`<li><a class="row" href="/r/${record.id}" id="row-${record.id}" data-tier="${record.tier}">
<span class="rowtitle">${withoutMark(requestTitle(record))}</span>
<span class="where">${where}</span>
<span class="meta"><span class="chip ${record.impact}">${impactWords[record.impact]}</span>${waitChip(record, now)}${timeLeft(record.expiresAt - now)}</span>
</a></li>`;
}

export function waitChip(record: RequestRecord, now: number): Markup {
  if (record.reported !== undefined || record.wait === undefined) return nothing;
  return waitState(record.wait, now).waits
    ? html`<span class="chip waits">${say`a call waits`}</span>`
    : html`<span class="chip">${say`no call waits`}</span>`;
}

/** The script counts it down, on its own monotonic clock: a phone's time of day may be wrong. */
export function timeLeft(ms: number): Markup {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return html`<span class="left" data-left="${seconds}">${seconds === 0 ? timeOver : leftWords(durationWords(seconds * 1000))}</span>`;
}

export const timeOver = say`time is over`;

export function leftWords(duration: Message | string): Message {
  return say`${duration} left`;
}

/** How a kind of target is shown: its parts, and in a line. SECURITY: what it is (its number, its node) before what somebody named it. */
interface TargetShape {
  readonly parts: readonly (readonly [label: Message, field: string])[];
  short(of: (field: string) => string): Message;
}

const [node, cluster] = [
  [say`Node`, 'node'],
  [say`Cluster`, 'cluster'],
] as const;

const guest = (label: Message): TargetShape => ({
  parts: [[label, 'vmid'], node, cluster, [say`Name`, 'name'], [say`State`, 'status']],
  short: (of) => say`${label} ${of('vmid')} on ${of('node')}`,
});

const targetShapes: ReadonlyMap<unknown, TargetShape> = new Map<unknown, TargetShape>([
  ['qemu', guest(say`VM`)],
  ['lxc', guest(say`Container`)],
  ['node', { parts: [node, cluster], short: (of) => say`node ${of('node')}` }],
  ['service', { parts: [[say`Service`, 'service'], node, cluster], short: (of) => say`${of('service')} on ${of('node')}` }],
  [
    'path',
    {
      parts: [
        [say`File`, 'path'],
        [say`Really`, 'real'],
      ],
      short: (of) => asIs(of('path')),
    },
  ],
  ['destination', { parts: [[say`Destination`, 'host']], short: (of) => asIs(of('host')) }],
  ['command', { parts: [], short: (of) => asIs(of('text')) }],
]);

export function targetsOf({
  action,
}: Pick<RequestRecord, 'action'>): readonly { readonly short: Message; readonly facts: readonly Fact[] }[] {
  return action.targets.flatMap((target) => {
    const { kind, guestType } = target;
    const shape = targetShapes.get(kind === 'guest' ? guestType : kind);
    if (shape === undefined) return [];
    // A forged record may hold anything.
    const partOf = (field: string) => {
      const value = target[field];
      return typeof value === 'string' || typeof value === 'number' ? plainName(String(value)) : undefined;
    };
    const facts = shape.parts.flatMap(([label, field]) => {
      const value = partOf(field);
      return value === undefined ? [] : [{ label, value }];
    });
    return [{ short: shape.short((field) => partOf(field) ?? '?'), facts }];
  });
}

export interface Fact {
  readonly label: Message;
  readonly value: string;
}

const longestName = 80;

/** A name from outside is short where it stands. */
export function plainName(text: string): string {
  return showPlainly(text, longestName);
}

const hostWords = { chat: say`Chat`, mcp: asIs('MCP'), cli: say`Command line`, palette: say`Palette`, hook: say`Hook` } as const;

export function agentName({ host, id, label }: RequestRecord['agent']): Message {
  return say`${hostWords[host]} · ${plainName(label ?? id.slice(id.indexOf(':') + 1))}`;
}

/** A question as a title. Its target stands beside it, however long it is. */
export function withoutMark(title: Message): Markup {
  return changed(plainly(title, longestName), (words) => words.replace(/\?$/, ''));
}

/** What a browser sees that nobody enrolled. */
export function strangerView(origin: string): View {
  return {
    title: say`Not enrolled`,
    summary: say`This browser is not enrolled.`,
    main: html`<h1>${say`This browser is not enrolled`}</h1>
<p>${say`Requests are shown, and answered, only in a browser that holds a passkey of an approver.`}</p>
<ol class="steps">
<li>${marked(say`Whoever runs Banksman makes a link for you: \`banksman approvers enroll NAME --display outside\``)}</li>
<li>${marked(say`Open that link within ten minutes **on the device you will approve with**. A phone is best: what an agent's programs can reach, they can show you a false card on.`)}</li>
<li>${say`Compare the fingerprint that both sides show.`}</li>
</ol>
<p class="quiet">${say`Was it enrolled before? Browsers forget such keys when their site data is cleared, and some after weeks without a visit. Ask for a new link. This page is ${origin}.`}</p>`,
  };
}

export function meView({ name, person, display, fingerprint, enrolledAt }: PasskeyApprover, all: readonly PasskeyApprover[]): View {
  const others = all.filter((other) => other.name !== name);
  const enrolled = Date.parse(enrolledAt);
  return {
    title: say`This browser`,
    summary: say`This browser approves as ${person}.`,
    main: html`<h1>${say`This browser`}</h1>
<dl class="facts">
<div><dt>${say`Person`}</dt><dd>${plainName(person)}</dd></div>
<div><dt>${say`Passkey`}</dt><dd>${plainName(name)}</dd></div>
<div><dt>${say`Fingerprint`}</dt><dd><code>${fingerprint}</code></dd></div>
<div><dt>${say`Enrolled`}</dt><dd>${Number.isNaN(enrolled) ? enrolledAt : momentInUtc(enrolled)}</dd></div>
<div><dt>${say`Display`}</dt><dd>${displayInWords[display]}</dd></div>
</dl>
${soundChoice}
<h2>${say`Other passkeys that count here`}</h2>
${others.length === 0 ? html`<p class="quiet">${say`None. Have a second one, on another device: a lost phone is then no trouble.`}</p>` : html`<ul class="plain">${others.map((other) => html`<li><strong>${plainName(other.person)}</strong> <span class="quiet">${plainName(other.name)}, <code>${other.fingerprint}</code></span></li>`)}</ul>`}
<p class="quiet">${marked(say`A passkey is taken away with \`banksman approvers revoke ${plainName(name)}\`. It stops counting at once, also for what it approved and no call has used.`)}</p>`,
  };
}

export const displayInWords = {
  outside: say`outside the agents’ account (a phone, another user)`,
  'same-account': say`in the agents’ own account: programs there can show another card than the one that is signed`,
} as const;
