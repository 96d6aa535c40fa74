/** A plan on the page: how far it is, a hand on it while it runs, and steps that can be struck before anybody approves. */
import type { PlanProgress, StepProgress, StepState } from '#kernel/plans/plan-progress';
import { asListed, type Message, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { html, type Markup, nothing } from './markup.ts';

export function isUnderWay(plan: PlanProgress | undefined): boolean {
  return plan?.standing === 'running' || plan?.standing === 'paused';
}

export const standingWords: Readonly<Record<PlanProgress['standing'], Message>> = {
  waiting: say`waiting`,
  approved: say`approved`,
  over: say`over`,
  running: say`running`,
  paused: say`paused`,
  stopped: say`stopped`,
  done: say`done`,
};

/** Said aloud when it changes. */
export function planSummary(plan: PlanProgress | undefined): Message | undefined {
  if (plan === undefined) return undefined;
  const { standing, steps } = plan;
  return say`The plan is ${standingWords[standing]}, ${countDone(steps)} of ${steps.length} steps done.`;
}

export function countDone(steps: PlanProgress['steps']): number {
  return steps.filter(({ state }) => state === 'done').length;
}

const looks: Readonly<Record<StepState, { readonly words: Message; readonly look: string }>> = {
  not_done: { words: say`to come`, look: '' },
  running: { words: say`running`, look: 'waits' },
  done: { words: say`done`, look: 'waits' },
  failed: { words: say`failed`, look: 'irreversible' },
  refused: { words: say`not run`, look: 'disruptive' },
  unknown: { words: say`not known`, look: 'irreversible' },
};

export function planProgress(plan: PlanProgress | undefined): Markup {
  if (plan === undefined) return nothing;
  const { standing, message, steps, replacedBy } = plan;
  const done = say`${countDone(steps)} of ${steps.length} steps done`;
  return html`<section class="answer" aria-labelledby="progress"><h2 id="progress">${say`The plan is ${standingWords[standing]}`}</h2>
<p>${message === '' ? done : say`${done}: ${plainSaying(message, 500)}`}.</p>
${replacedBy === undefined ? nothing : html`<p class="note">${say`Steps were struck from it:`} <a href="/r/${replacedBy}">${say`the plan that is left`}</a></p>`}
<ol class="plain progress">${steps.map((step) => stepLine(step, standing))}</ol>
${buttons(plan)}</section>`;
}

function stepLine({ title, state, message }: StepProgress, standing: PlanProgress['standing']): Markup {
  const { words, look } = looks[state];
  const isOver = state === 'not_done' && (standing === 'stopped' || standing === 'over');
  const why = message === undefined || state === 'done' ? nothing : html`<br><span class="quiet">${plainSaying(message, 300)}</span>`;
  return html`<li><span class="chip ${look}">${isOver ? say`not run` : words}</span> ${showPlainly(title, 200)}${why}</li>`;
}

/** What a process said of a plan, in English; whole texts of ours are in the translations. */
function plainSaying(message: string, most: number): Message {
  return { ...asListed(message), most };
}

/** Pausing and stopping need nobody; going on is signed, as everything is that loosens. */
function buttons({ id, standing }: PlanProgress): Markup {
  if (standing !== 'running' && standing !== 'paused') return nothing;
  const change = JSON.stringify({ kind: 'resume_plan', plan: id });
  const first =
    standing === 'running'
      ? html`<button type="button" data-act="plan" data-control="pause" data-plan="${id}" id="plan-pause">${say`Pause before the next step`}</button>`
      : html`<button type="button" class="primary" data-act="change" data-change="${change}" id="plan-resume">${say`Let it go on`}</button>`;
  return html`<div class="buttons">${first}<button type="button" class="danger" data-act="plan" data-control="stop" data-plan="${id}" id="plan-stop">${say`Stop the plan`}</button></div>
<p class="quiet">${say`The step that is under way ends. A plan that was stopped is not gone on with: what is left is proposed anew.`}</p>`;
}

/** SECURITY: nothing of a plan that was read changes: what is left is rehearsed, read and signed as a plan of its own. */
export function strikes(plan: PlanProgress | undefined): Markup {
  if (plan === undefined || plan.steps.length < 2) return nothing;
  const { steps } = plan;
  return html`<details class="small"><summary id="strikes">${say`Strike steps first`}</summary>
<form data-act="strike" aria-labelledby="strikes">
<p>${say`What is left is rehearsed anew and asked as a plan of its own; this one is cancelled.`}</p>
<ul class="checks">${steps.map(
    ({ number, title }) =>
      html`<li><label><input type="checkbox" name="step" value="${number}" id="strike-${number}"> <span>${number}. ${showPlainly(title, 200)}</span></label></li>`,
  )}</ul>
<div class="buttons"><button id="strike">${say`Strike the chosen steps`}</button></div></form></details>`;
}
