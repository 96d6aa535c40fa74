/** One request as a person reads it before they answer: the card of the store, what it is about first. */

import { isForPhones, qrDrawing } from '#app/people/qr-code';
import type { CardSection, ReviewCard } from '#kernel/approval/answer';
import type { PasskeyApprover } from '#kernel/approval/passkey';
import type { RequestRecord } from '#kernel/approval/request';
import { endInWords } from '#kernel/approval/request-end';
import { isJsonObject } from '#kernel/json';
import type { PlanProgress } from '#kernel/plans/plan-progress';
import { lines } from '#kernel/text/html';
import { asIs, english, type Message, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { unifiedDiff } from '#kernel/text/unified-diff';
import { capital, changed, html, type Markup, marked, nothing, type View } from './markup.ts';
import { isUnderWay, planProgress, planSummary, strikes } from './plan-view.ts';
import { agentName, displayInWords, plainName, targetsOf, timeLeft, waitChip, withoutMark } from './views.ts';

export interface ShownRequest {
  readonly card: ReviewCard;
  readonly approver: PasskeyApprover;
  readonly now: number;
  /** Of the page. */
  readonly origin: string;
  /** How far it is, where it is a plan. */
  readonly plan?: PlanProgress;
}

export function requestView({ card, approver, now, origin, plan }: ShownRequest): View {
  const { record } = card;
  // A plan's steps name what they touch.
  const facts = card.sections.some(({ kind }) => kind === 'plan') ? [] : targets(record);
  const waits = record.status === 'pending';
  const summary = waits ? say`Waits for your answer.` : (planSummary(plan) ?? say`${endInWords(record)}.`);
  return {
    title: card.titleWords,
    summary,
    ...(waits ? { open: true as const } : {}),
    ...(isUnderWay(plan) ? { lively: true as const } : {}),
    main: html`<article data-digest="${record.digest}" data-request="${record.id}">
<p class="crumb"><a href="/" id="back">${say`← All that waits`}</a></p>
${stateLine(record, now)}
<h1>${withoutMark(card.titleWords)}${waits ? '?' : ''}</h1>
${card.tampered ? html`<p class="notice bad">${marked(say`**This request was changed after it was made.** It cannot be approved. Deny it, and find out who writes to the store.`)}</p>` : nothing}
${waits ? nothing : planProgress(plan)}
${facts}
${card.sections.map((part) => section(part, facts.length > 0))}
${writes(record.action)}
${waits ? html`${answer(card, approver)}${strikes(plan)}${elsewhere(record.id, origin)}` : nothing}
<details class="small"><summary id="exact">${say`Exactly what is signed`}</summary>
<dl class="facts"><div><dt>${say`Request`}</dt><dd><code>${record.id}</code></dd></div><div><dt>${say`Digest`}</dt><dd><code class="break">${record.digest}</code></dd></div><div><dt>${say`Policy`}</dt><dd>${showPlainly(record.action.policyVersion, 100)}</dd></div></dl>
<pre>${lines(JSON.stringify(record.action.arguments, undefined, 2), 20_000)}</pre></details>
</article>`,
  };
}

function stateLine(record: RequestRecord, now: number): Markup {
  if (record.status !== 'pending') return html`<p class="state ended"><strong>${capital(endInWords(record))}</strong>${saying(record)}</p>`;
  return html`<p class="state"><span class="chip">${agentName(record.agent)}</span>${waitChip(record, now)}${timeLeft(record.expiresAt - now)}</p>`;
}

function saying({ decision }: RequestRecord): Markup {
  return decision?.message === undefined ? nothing : html` <q>${showPlainly(decision.message, 500)}</q>`;
}

function targets(record: RequestRecord): readonly Markup[] {
  const known = targetsOf(record).filter(({ facts }) => facts.length > 0);
  return known.map(
    ({ facts }) =>
      html`<dl class="facts target">${facts.map(({ label, value }) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`,
  );
}

const headings: Partial<Record<CardSection['kind'], Message>> = {
  effect: say`What happens`,
  report: say`The report`,
  changes: say`The changes`,
  plan: say`The plan`,
  call: say`The call`,
  asker: say`Who asks`,
  rules: say`Who has to agree`,
};

function section({ kind, lines: said }: CardSection, hasTarget: boolean): Markup {
  const heading = headings[kind];
  // The target stands at the top, in parts.
  const shown = said.filter((line) => english(line) !== '' && !(hasTarget && line.text.startsWith('Target: ')));
  // The warning and the state stand at the top.
  if (heading === undefined || shown.length === 0) return nothing;
  const body = kind === 'changes' ? diff(shown) : html`${shown.map(kind === 'plan' ? planLine : sentence)}`;
  return html`<section><h2>${heading}</h2>${body}</section>`;
}

/** What belongs to a step is set in below it. What a line is, its English says. */
function planLine(line: Message): Markup {
  const own = english(line);
  if (/^ {3}\w+ \{/.test(own)) return html`<p class="of-step"><code class="break">${trimmed(line)}</code></p>`;
  if (own.startsWith('   ')) return html`<p class="of-step quiet">${trimmed(line)}</p>`;
  return /^\d+\. /.test(own) ? html`<p class="step">${line}</p>` : sentence(line);
}

function trimmed(line: Message): Markup {
  return changed(line, (words) => words.trim());
}

const labels = /^(Note|Call|Target|Workspace|Why it asks|Reported|The detector matched|To know|Afterwards|Not foretold): /;

/** `Note: …`, `Call: …`: the word before the colon is ours, in every language. */
function sentence(line: Message): Markup {
  const [, label] = labels.exec(line.text) ?? [];
  if (label === undefined) return html`<p>${line}</p>`;
  const rest = changed(line, (words) => words.slice(words.indexOf(': ') + 2));
  if (label === 'Note') return html`<p class="note">${rest}</p>`;
  if (label === 'Call') return html`<p><code class="break">${rest}</code></p>`;
  return html`<p><span class="quiet">${changed(line, (words) => words.slice(0, words.indexOf(': ') + 1))}</span> ${rest}</p>`;
}

function diff(changes: readonly Message[]): Markup {
  const look = (line: string) =>
    /^ {2}\+/.test(line) ? 'add' : /^ {2}-/.test(line) ? 'del' : /^ {2}(?:@@| |held)/.test(line) ? 'ctx' : 'file';
  return html`<div class="diff" tabindex="0" role="group" aria-label="${say`Differences`}"><pre>${changes.map(
    (line) => html`<span class="${look(english(line))}">${line}
</span>`,
  )}</pre></div>`;
}

/** SECURITY: all of what would be written, in the page and not only in what is folded away: the line of the call ends after 600 characters. */
function writes({ tool, arguments: values }: RequestRecord['action']): Markup {
  const { content, edits } = values;
  if (tool === 'write_file' && typeof content === 'string') {
    return html`<section><h2>${say`The file, as it would be`}</h2><div class="diff" tabindex="0" role="group" aria-label="${say`New content`}"><pre>${lines(content, maxShown)}</pre></div></section>`;
  }
  if (tool !== 'edit_file' || !Array.isArray(edits)) return nothing;
  const edited = edits
    .filter(isJsonObject)
    .flatMap(({ old_text: before, new_text: after }) =>
      typeof before === 'string' && typeof after === 'string' ? unifiedDiff(before, after) : [],
    );
  return html`<section><h2>${say`The changes`}</h2>${diff(edited.map((line) => asIs(`  ${showPlainly(line, 2_000)}`)))}</section>`;
}

const maxShown = 200_000;

function answer({ record, typeToConfirm, tampered, progress }: ReviewCard, { person, display }: PasskeyApprover): Markup {
  const label = record.reported === undefined ? say`Approve once` : say`Settle the report`;
  const agreed = progress.people.includes(person);
  const typed =
    typeToConfirm === undefined
      ? nothing
      : html`<p class="field"><label for="typed">${say`To approve, type`} <strong class="typed">${typeToConfirm}</strong></label><input id="typed" autocomplete="off" autocapitalize="off" spellcheck="false" maxlength="200"></p>`;
  const approve = html`${typed}
<div class="buttons">
<button type="button" class="primary" data-act="approve" id="approve">${label}</button>`;
  return html`<section class="answer" aria-labelledby="answer-title"><h2 id="answer-title">${say`Your answer`}</h2>
${agreed ? html`<p>${say`You have approved it. Somebody else has to approve it, too.`}</p>` : html`<p class="quiet">${marked(say`With your passkey, as **${plainName(person)}**, on a display ${displayInWords[display]}.`)}</p>`}
${tampered || agreed ? html`<div class="buttons">` : approve}
<button type="button" data-act="deny" id="deny">${say`Deny…`}</button>
</div></section>`;
}

/** For who reads it at a desk and has the passkey on a phone. */
function elsewhere(id: string, origin: string): Markup {
  const address = `${origin}/r/${id}`;
  if (!isForPhones(address)) return nothing;
  return html`<details class="small"><summary id="phone">${say`Open it on a phone`}</summary>
${qrDrawing(address)}
<p class="quiet">${say`The phone needs a passkey of its own here. ${address}`}</p></details>`;
}
