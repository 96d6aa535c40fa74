/**
 * A person's hand on plans. SECURITY: any extension can run these commands and press what they open. What tightens (pause, stop, strike) asks for no
 * more than a click; what loosens (going on) goes through the modal and a key, and approving is never here.
 */
import { commands, type Disposable, ProgressLocation, type QuickPickItem, window } from 'vscode';
import { paletteAgent } from '#app/for-hosts';
import type { App } from '#kernel/app';
import { type RequestRecord, requestIdPattern } from '#kernel/approval/request';
import type { JsonObject } from '#kernel/json';
import type { Outcome } from '#kernel/outcome';
import { type PlanControl, type PlanProgress, planIn } from '#kernel/plans/plan-progress';
import { showPlainly } from '#kernel/text/text';
import { requestIdFrom } from '../approvals-view/approval-row.ts';
import { openPage } from '../commands/open-page.ts';
import { plainLabel } from '../commands/picks.ts';
import { outcomeWords, saidWords } from '../fault-words.ts';
import { confirmRun } from '../gate/confirm-run.ts';
import { t } from '../l10n.ts';
import { tellFault } from '../notices.ts';
import { notify } from '../notify.ts';
import { answerText } from '../request-words.ts';
import type { SecurityCommandDeps } from '../security/security-commands.ts';
import { changeSetting } from '../security/setting-changes.ts';
import { workspaceRestriction } from '../tools/run-tool.ts';
import { shownSteps, standingNames } from './step-rows.ts';

export interface PlanCommandDeps extends SecurityCommandDeps {
  /** The person's name on this machine. */
  readonly osUser: string;
  review(id: string): Promise<unknown>;
  showDetails(id: string): Promise<void>;
  /** Something was done to a plan: what is shown may be old. */
  changed(): void;
}

type Standing = PlanProgress['standing'];
const underWay: readonly Standing[] = ['running', 'paused'];

export function registerPlanCommands(deps: PlanCommandDeps): Disposable[] {
  const onPlan = (command: string, standings: readonly Standing[], act: (plan: Chosen, app: App) => Promise<void>) =>
    commands.registerCommand(command, async (argument: unknown) => {
      try {
        await deps.session.use(async (app) => {
          const id = requestIdFrom(argument) ?? (await pickPlan(app, standings));
          const plan = id === undefined ? undefined : await app.plans.get(id);
          if (id !== undefined && plan === undefined) return void notify.info(t('There is no plan {0}.', id));
          if (plan !== undefined) await act({ plan, argument }, app);
        });
      } catch (thrown) {
        void tellFault(thrown);
      }
      deps.changed();
    });
  return [
    onPlan('banksman.showPlan', [], ({ plan }) => deps.showDetails(plan.id)),
    onPlan('banksman.strikeSteps', ['waiting'], (chosen, app) => strike(chosen, app, deps)),
    onPlan('banksman.pausePlan', ['running'], ({ plan }, app) => control(plan, 'pause', app, deps)),
    onPlan('banksman.resumePlan', ['paused'], ({ plan }, app) => resume(plan, app, deps)),
    onPlan('banksman.stopPlan', underWay, ({ plan }, app) => stop(plan, app, deps)),
    onPlan('banksman.undoPlan', ['done', 'stopped'], ({ plan }, app) => undo(plan, app, deps)),
  ];
}

interface Chosen {
  readonly plan: PlanProgress;
  /** Of the command: an id or a row of the tree. */
  readonly argument: unknown;
}

/** @param standings none: any */
async function pickPlan({ plans }: App, standings: readonly Standing[]): Promise<string | undefined> {
  const all = await plans.list();
  const fitting = all.filter(({ standing }) => standings.length === 0 || standings.includes(standing));
  if (fitting.length === 0)
    return void notify.info(
      standings.length === 0
        ? t('There is no plan.')
        : t('There is no plan that is {0}.', standings.map((one) => standingNames[one]).join(t(' or '))),
    );
  const items = fitting.map(({ id, title, standing, steps }): QuickPickItem & { readonly id: string } => ({
    label: plainLabel(title.replace(/\?$/, '')),
    description: t(
      '{0} · {1} of {2} steps done',
      standingNames[standing],
      steps.filter(({ state }) => state === 'done').length,
      steps.length,
    ),
    id,
  }));
  return (await window.showQuickPick(items, { title: t('Plans'), placeHolder: t('Choose a plan') }))?.id;
}

async function control(plan: PlanProgress, what: PlanControl, app: App, { osUser }: PlanCommandDeps): Promise<void> {
  const result = await app.plans.control(plan.id, what, `user:${osUser}`);
  if (result.ok) notify.status(`Banksman: ${answerText(result)}`);
  else void notify.info(`Banksman: ${answerText(result)}.`);
}

/** It cannot be gone on with afterwards, so a click by mistake must not be enough. */
async function stop(plan: PlanProgress, app: App, deps: PlanCommandDeps): Promise<void> {
  if (!underWay.includes(plan.standing))
    return void notify.info(t('Plan {0} is {1}: nothing to stop.', plan.id, standingNames[plan.standing]));
  const detail = `${titleOf(plan)}\n\n${t('The step that is under way ends, and no other begins. What is left is a new plan, then.')}`;
  const question = {
    key: `stop ${plan.id}`,
    title: t('Stop this plan?'),
    detail,
    stay: t('Let It Run'),
    proceed: t('Stop Plan'),
    harmless: true,
  } as const;
  if (await confirmRun(question, deps.confirm)) await control(plan, 'stop', app, deps);
}

/** Loosens what a person did: shown in a modal and signed, or done on the page. */
async function resume(plan: PlanProgress, app: App, deps: PlanCommandDeps): Promise<void> {
  if (plan.standing !== 'paused') return void notify.info(t('Plan {0} is {1}, not paused.', plan.id, standingNames[plan.standing]));
  const { answersAt, page } = app.config;
  if (answersAt !== undefined) {
    const buttons = page === undefined ? [] : [t('Open Page')];
    const pressed = await notify.info(t('Plan {0} is paused. No window changes that: {1}.', plan.id, answersAt), ...buttons);
    if (pressed !== undefined) await openPage(deps.session, `r/${plan.id}`);
    return;
  }
  const done = plan.steps.filter(({ state }) => state === 'done').length;
  const next = plan.steps[done]?.title ?? '';
  const question = {
    key: `resume ${plan.id}`,
    title: t('Let this plan go on?'),
    detail: `${t('{0}: {1} of {2} steps done.', titleOf(plan), done, plan.steps.length)}\n${t('Next: {0}', showPlainly(next, 200))}`,
    stay: t('Keep It Paused'),
    proceed: t('Resume Plan'),
  };
  const signed = { setting: 'plan_resumed', plan: plan.id };
  const carryOut = (signer: Parameters<App['plans']['resume']>[1]) => app.plans.resume(plan.id, signer);
  await changeSetting({ question, signed, carryOut }, { ...deps, approvals: app.approvals });
}

/** What is left is rehearsed and asked as a plan of its own: what a person signs is what they read. */
async function strike({ plan, argument }: Chosen, app: App, deps: PlanCommandDeps): Promise<void> {
  if (plan.standing !== 'waiting') return void notify.info(t('Plan {0} waits for no answer, so nothing can be struck from it.', plan.id));
  const record = await app.approvals.get(plan.id);
  const steps = record === undefined ? [] : await chooseSteps(record, stepIn(argument));
  if (steps === undefined || steps.length === 0) return;
  const title = t('Banksman: the steps that are left are rehearsed');
  const outcome = await window.withProgress({ location: ProgressLocation.Notification, title }, () =>
    app.plans.without(plan.id, steps, `user:${deps.osUser}`),
  );
  await offerReview(outcome, t('Nothing was struck'), deps);
}

type StepItem = QuickPickItem & { readonly number: number };

/** @param first chosen already */
async function chooseSteps(record: RequestRecord, first: number | undefined): Promise<readonly number[] | undefined> {
  const items = shownSteps((planIn(record) ?? {}) as JsonObject).map(
    ({ title, tool }, index): StepItem => ({
      label: plainLabel(`${index + 1}. ${title}`),
      description: plainLabel(tool),
      number: index + 1,
      picked: index + 1 === first,
    }),
  );
  const options = {
    title: t('Strike Steps'),
    placeHolder: t('Which steps? What is left is rehearsed anew and asked as a plan of its own'),
    canPickMany: true,
  } as const;
  return (await window.showQuickPick(items, options))?.map(({ number }) => number);
}

function stepIn(argument: unknown): number | undefined {
  const number: unknown = typeof argument === 'object' && argument !== null && 'number' in argument ? argument.number : undefined;
  return typeof number === 'number' ? number : undefined;
}

/** Proposes a plan; a person reads and approves it like any. */
async function undo(plan: PlanProgress, app: App, deps: PlanCommandDeps): Promise<void> {
  const call = {
    ...{ tool: 'undo_plan', input: { plan_id: plan.id }, agent: paletteAgent(deps.osUser), waitMs: 0 },
    ...{ signal: AbortSignal.timeout(rehearsalMs), ...workspaceRestriction() },
  };
  const title = t('Banksman: how to undo the plan is rehearsed');
  const outcome = await window.withProgress({ location: ProgressLocation.Notification, title }, () => app.call(call));
  await offerReview(outcome, t('No plan was proposed'), deps);
}

const rehearsalMs = 180_000;

async function offerReview(outcome: Outcome, otherwise: string, { review }: PlanCommandDeps): Promise<void> {
  const { status, request_id: id } = outcome;
  if (status !== 'pending' || id === undefined || !requestIdPattern.test(id))
    return void notify.warning(`${otherwise}: ${showPlainly(outcomeWords(outcome), 500)}`);
  // Not waited for: who does not look now finds it in the list.
  void notify
    .info(`Banksman: ${showPlainly(saidWords(outcome.message), 500)}.`, t('Review'))
    .then((pressed) => (pressed === undefined ? undefined : review(id)));
}

/** In the notification of a plan that has ended. */
export async function tellPlanEnd(plan: PlanProgress): Promise<void> {
  const { id, standing, message, steps } = plan;
  const done = steps.filter(({ state }) => state === 'done').length;
  const why = standing === 'done' ? '' : ` (${showPlainly(message, 300)})`;
  const words = t('{0}: {1}, {2} of {3} steps done{4}.', titleOf(plan), standingNames[standing], done, steps.length, why);
  const show = t('Show Plan');
  const pressed = await (standing === 'done' ? notify.info(words, show) : notify.warning(words, show));
  if (pressed === show) await commands.executeCommand('banksman.showPlan', id);
}

function titleOf({ title }: Pick<PlanProgress, 'title'>): string {
  return showPlainly(title, 160).replace(/\?$/, '');
}
