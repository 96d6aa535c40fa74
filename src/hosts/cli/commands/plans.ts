/** `banksman plans`: what agents have planned, how far it is, and a person's hand on it. */
import type { App } from '#kernel/app';
import { mostSteps } from '#kernel/plans/plan';
import type { PlanControl, PlanProgress } from '#kernel/plans/plan-progress';
import { showPlainly } from '#kernel/text/text';
import { badUsage, type CommandOptions, commandHint, noSuchVerb, operands } from '../command-line.ts';
import { printError, printJson, printText } from '../output.ts';
import { noSuchRequest, personHere, requestId } from '../request-text.ts';
import { looking, withApp } from '../session.ts';
import { agentOf, exitStatus } from './call.ts';
import { changeSetting } from './level.ts';

const verbs: Readonly<Record<string, (words: readonly string[], options: CommandOptions) => Promise<number>>> = {
  list,
  show,
  strike,
  clean,
  pause: (words, options) => ask('pause', words, options),
  resume,
  stop: (words, options) => ask('stop', words, options),
};

export async function runPlans([verb = '', ...words]: readonly string[], options: CommandOptions): Promise<number> {
  const run = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (run !== undefined) return run(words, options);
  throw noSuchVerb('plans', Object.keys(verbs), verb);
}

async function list(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  return withApp(
    options,
    async (app) => {
      const plans = await app.plans.list();
      if (options.json) printJson(plans);
      else for (const plan of plans) printText(lineOf(plan));
      if (plans.length === 0 && !options.json) printError('there are no plans');
      return 0;
    },
    looking,
  );
}

function lineOf({ id, standing, title, steps }: PlanProgress): string {
  const done = steps.filter(({ state }) => state === 'done').length;
  return `${id}  ${standing.padEnd(8)} ${done} of ${steps.length} done  ${showPlainly(title, 120)}`;
}

async function show(words: readonly string[], options: CommandOptions): Promise<number> {
  const id = requestId(words);
  return withApp(
    options,
    async (app) => {
      const plan = await planOf(app, id, options);
      if (options.json) printJson(plan);
      else printPlan(plan);
      const back = options.json ? undefined : wayBackHint(plan, options);
      if (back !== undefined) printText(back);
      return 0;
    },
    looking,
  );
}

function printPlan(plan: PlanProgress): void {
  printText(lineOf(plan));
  if (plan.replacedBy !== undefined) printText(`a person made plan ${plan.replacedBy} of it`);
  if (plan.message !== '') printText(showPlainly(plan.message, 500));
  for (const { number, state, title, message, upid } of plan.steps) {
    printText(`${String(number).padStart(3)}. ${state.padEnd(8)} ${showPlainly(title, 160)}`);
    if (message !== undefined && state !== 'done') printText(`              ${showPlainly(message, 300)}`);
    if (upid !== undefined && state !== 'done') printText(`              task ${showPlainly(upid, 200)}`);
  }
}

function wayBackHint({ id, standing, steps }: PlanProgress, options: CommandOptions): string | undefined {
  const isOver = standing === 'stopped' || standing === 'done';
  if (!isOver || !steps.some(({ state }) => state === 'done')) return undefined;
  return `to take back what is done: ${commandHint(['call', 'undo_plan', '--input', JSON.stringify({ plan_id: id })], options)}`;
}

async function planOf({ plans }: App, id: string, options: CommandOptions): Promise<PlanProgress> {
  const plan = await plans.get(id);
  if (plan === undefined) throw noSuchRequest(id, options);
  return plan;
}

async function ask(control: PlanControl, words: readonly string[], options: CommandOptions): Promise<number> {
  const id = requestId(words);
  return withApp(options, async (app) => {
    await planOf(app, id, options);
    const { ok, message } = await app.plans.control(id, control, personHere());
    if (options.json) printJson({ ok, message, plan_id: id });
    else printText(message);
    return ok ? 0 : 2;
  });
}

/** It loosens what a person did, so it is signed as everything is that does. */
async function resume(words: readonly string[], options: CommandOptions): Promise<number> {
  const id = requestId(words);
  return changeSetting('letting a plan go on', options, (app, signer) => app.plans.resume(id, signer));
}

/** In ms. */
function ageOf(text = '7d'): number {
  const days = /^(\d{1,4})d$/.exec(text)?.[1];
  if (days === undefined) throw badUsage(`\`--older\` is a number of days such as 7d, not \`${showPlainly(text, 40)}\``);
  return Number(days) * 86_400_000;
}

/** Nothing is deleted by this: a person reads the plan and approves it. */
async function clean(words: readonly string[], options: CommandOptions): Promise<number> {
  operands(words, []);
  const age = ageOf(options.older);
  return withApp(options, async (app, signal) => {
    const old = (await app.plans.snapshots()).filter(({ takenAt }) => Date.now() - takenAt >= age);
    const [first] = old;
    if (first === undefined) {
      const message = 'there is nothing to clean up';
      if (options.json) printJson({ status: 'ok', code: 'ok', message });
      else printError(message);
      return 0;
    }
    const here = old.filter(({ cluster }) => cluster === first.cluster).slice(0, mostSteps);
    const steps = here.map(({ vmid, name }) => ({ tool: 'delete_snapshot', arguments: { vmid, name } }));
    const agent = agentOf(options, app.config.defaultModelTier);
    const input = { steps, cluster: first.cluster, reason: 'ways back of earlier plans, not needed any more' };
    const outcome = await app.call({ tool: 'propose_plan', input, agent, signal, waitMs: 0 });
    if (options.json) printJson(outcome);
    else printText(outcome.message);
    if (here.length < old.length) printError(`${old.length - here.length} more are left for another time`);
    return exitStatus[outcome.status];
  });
}

/** A plan without some steps is another question: the card and the code of the new one are what is approved. */
async function strike(words: readonly string[], options: CommandOptions): Promise<number> {
  const [id = '', numbers = ''] = operands(words, ['ID', 'STEPS']);
  const steps = numbers.split(',').map(Number);
  if (!steps.every((step) => Number.isInteger(step) && step > 0)) throw badUsage('STEPS are numbers of steps, for example `3,5`');
  return withApp(options, async (app) => {
    await planOf(app, requestId([id]), options);
    const outcome = await app.plans.without(id, steps, personHere());
    const made = outcome.status === 'pending' ? outcome.request_id : undefined;
    if (options.json) printJson(outcome);
    else printText(outcome.message);
    if (made !== undefined) printError(`read it: ${commandHint(['approvals', 'show', made], options)}`);
    return made === undefined ? 1 : 0;
  });
}
