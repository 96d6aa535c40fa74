/** A plan's rehearsal: every step goes the path of a call, and its tool runs, on a copy of the cluster as it is now. */

import { startDeadline } from '#execution/deadline';
import { toFault } from '#kernel/errors';
import { type Inverse, noWayBack } from '#kernel/guest-condition';
import { type JsonObject, wordOf } from '#kernel/json';
import {
  foretold,
  isPlannable,
  type Plan,
  type PlanStep,
  type ProposedStep,
  type Rehearsal,
  type StepRefusal,
  settingsBetween,
} from '#kernel/plans/plan';
import type { Resource } from '#kernel/resource';
import { english, say } from '#kernel/text/message';
import type { ActionTier } from '#kernel/tiers';
import { impactOf, type ToolResult } from '#kernel/tool';
import { lastingTarget } from '#pipeline/action';
import { toolContext } from '#pipeline/context';
import { decideCall, findObstacle, passStages, withCondition } from '#pipeline/decide-call';
import { type CallDeps, type ClusterCopy, type IncomingCall, type PipelineDeps, type TagMemory, withSettings } from '#pipeline/deps';
import { given } from '#pipeline/execute';
import { derivedBy, takeInventory } from '#pipeline/inventory';
import { changes, timesAhead } from '#pipeline/limits';
import { type Foresight, foresee } from '#pipeline/losses';
import type { Classified, Refusal, Validated } from '#pipeline/stage';
import { validate } from '#pipeline/validate';
import { type TagsOfGuests, withTags } from '#policy/deciding-tags';
import { conditionsNow } from '#tools/support/condition';
import { type NumberedStep, wayBack, withSnapshots } from './kept-snapshots.ts';
import { type StepFacts, stepFacts } from './step-facts.ts';

interface Of {
  readonly call: IncomingCall;
  readonly cluster: string;
  readonly undoes?: string;
  readonly signal: AbortSignal;
}

type Failed = Extract<Rehearsal, { ok: false }>;

/** @throws {Fault} when the cluster cannot be read */
export async function rehearse(steps: readonly ProposedStep[], of: Of, pipeline: PipelineDeps): Promise<Rehearsal> {
  const live = await withSettings(pipeline);
  const numbered = withSnapshots(steps);
  if ('refusal' in numbered) return { ok: false, status: 'error', ...numbered };
  const proposed = numbered.map((step) => ({ ...step, arguments: { ...step.arguments, cluster: of.cluster } }));
  const named: Validated[] = [];
  for (const step of numbered) {
    const checked = nameStep(step, of, live);
    if ('refusal' in checked) return { ...checked, step: step.own };
    named.push(checked);
  }
  const copy = await copyFor(named, of, live);
  const done: RehearsedStep[] = [];
  const deps = await onCopy(live, of, copy);
  const api = live.clusters.get(of.cluster)?.access.api;
  const foresight = foresee({
    live: api,
    copy: copy.access.api,
    touched: vmidsIn(named),
    declared: {
      cluster: of.cluster,
      roles: live.settings.roles,
      bore: await borneOn(deps, of),
    },
    signal: of.signal,
  });
  const facts = stepFacts({ live: api ?? copy.access.api, copy: copy.access.api, clock: live.clock, signal: of.signal });
  const stage: Stage = { of, copy, foresight, facts, deps: { ...deps, audit: countingOn(live.audit, of.call.agent.id, done) } };
  for (const step of proposed) {
    of.signal.throwIfAborted();
    const rehearsed = await rehearseStep(step, stage).catch((thrown: unknown) => byFault(thrown, of.signal));
    if ('refusal' in rehearsed) return { ...rehearsed, step: step.own };
    done.push(rehearsed);
  }
  return { ok: true, plan: planOf(done, of) };
}

/** The trail as it will be: the steps before have used up their part of a budget. */
function countingOn(audit: CallDeps['audit'], agent: string, done: readonly RehearsedStep[]): CallDeps['audit'] {
  const changesSince: CallDeps['audit']['changesSince'] = async (...span) => {
    const spent = new Map(await audit.changesSince(...span));
    spent.set(agent, (spent.get(agent) ?? 0) + done.filter(({ counts }) => counts).length);
    return [...spent];
  };
  return { ...audit, changesSince };
}

function byFault(thrown: unknown, signal: AbortSignal): Failed {
  signal.throwIfAborted();
  const { code, message, next } = toFault(thrown);
  return { ok: false, status: 'error', refusal: { code, message, ...(next === undefined ? {} : { next }) } };
}

/** @param tier of the step */
function byRefusal({ status, code, message, next }: Refusal, tier: ActionTier | undefined): Failed {
  const isDenied = status === 'denied';
  const refusal = { code, message, ...given({ next, tier: isDenied ? tier : undefined }) };
  return { ok: false, status: isDenied ? 'denied' : 'error', refusal };
}

/** What can be said of a step before anything is read. */
function nameStep(step: ProposedStep, { call, cluster }: Of, { tools }: CallDeps): Failed | Validated {
  const tool = tools.find(({ name, internal }) => name === step.tool && internal === undefined);
  const failed = (refusal: StepRefusal): Failed => ({ ok: false, status: 'error', refusal });
  if (tool === undefined || !isPlannable(tool)) {
    const plannable = tools.filter(isPlannable).map(({ name }) => name);
    const what = tool === undefined ? `no tool is named \`${step.tool.slice(0, 100)}\`` : `\`${step.tool}\` is no step of a plan`;
    return failed({ code: 'not_plannable', message: `${what}; steps are ${plannable.join(', ')}`, next: 'call other tools by themselves' });
  }
  const { cluster: named = cluster } = step.arguments;
  if (named !== cluster)
    return failed({
      code: 'invalid_input',
      message: `a plan is of one cluster, here \`${cluster}\``,
      next: 'propose a plan for each cluster',
    });
  const checked = validate(tool, { ...step.arguments, cluster }, call.agent);
  return checked.ok ? checked.state : byRefusal(checked.refusal, tool.tier);
}

async function copyFor(named: readonly Validated[], { cluster, signal }: Of, { clusters }: CallDeps): Promise<ClusterCopy> {
  const resources = named.flatMap((step) => step.resources);
  const nodes = resources.flatMap((one) => (one.kind === 'node' || one.kind === 'storage' ? (one.node ?? []) : []));
  const archives = resources.flatMap((one) => (one.kind === 'tags' && one.archive !== undefined ? [one.archive] : []));
  const pools = resources.flatMap((one) => (one.kind === 'new_guest' ? (one.pool ?? []) : []));
  const copy = await clusters.get(cluster)?.copy?.({ vmids: [...vmidsIn(named)], nodes: [...new Set(nodes)], pools, archives }, signal);
  if (copy === undefined) throw new Error(`cluster ${cluster} has no copy`);
  return copy;
}

function vmidsIn(named: readonly Validated[]): ReadonlySet<number> {
  const backedUp = (one: Resource) => (one.kind === 'new_guest' ? (one.from?.vmid ?? []) : []);
  return new Set(named.flatMap(({ resources }) => resources.flatMap((one) => [vmidOf(one) ?? [], backedUp(one)].flat())));
}

interface Stage {
  readonly of: Of;
  readonly foresight: Foresight;
  readonly facts: StepFacts;
  readonly copy: ClusterCopy;
  readonly deps: CallDeps;
}

/** The pipeline's parts with the copy in the cluster's place. SECURITY: what is remembered of protecting tags counts, and learns nothing from a copy. */
async function onCopy(live: CallDeps, { cluster, signal }: Of, copy: ClusterCopy): Promise<CallDeps> {
  const configured = live.clusters.get(cluster);
  if (configured === undefined) throw new Error(`no cluster is named ${cluster}`);
  // A tag that is seen now is remembered, as by any call.
  const inventory = await takeInventory(cluster, configured, { needsAddresses: false, signal });
  const { bore = new Map(), gained = new Map(), brought = new Map() } = await derivedBy(inventory, live.settings.protectedList, configured);
  const tags: TagMemory = {
    selecting: configured.tags?.selecting ?? new Set(),
    // A guest that a step makes is admitted as it will be when that has run.
    remember: async (bearers) => ({ bore: withTags(bore, bearers), gained, brought }),
    making: async () => undefined,
  };
  const rehearsed = { aliases: configured.aliases, access: copy.access, tags };
  return { ...live, clusters: new Map([[cluster, rehearsed]]), clock: copy.clock };
}

async function borneOn({ clusters }: CallDeps, { cluster }: Of): Promise<TagsOfGuests | undefined> {
  return (await clusters.get(cluster)?.tags?.remember(new Map(), new Set()))?.bore;
}

interface RehearsedStep extends PlanStep {
  /** What others lose by it, what is to be known of its guests, and by when it has to run. */
  readonly losses: readonly string[];
  readonly limits: readonly string[];
  /** In budgets. */
  readonly counts: boolean;
  readonly resources: Validated['resources'];
}

async function rehearseStep(step: NumberedStep, stage: Stage): Promise<Failed | RehearsedStep> {
  const { of, deps, copy } = stage;
  if (step.wait_seconds !== undefined) await copy.clock.sleep(step.wait_seconds * 1_000, of.signal);
  const { byHand: _, ...asker } = of.call;
  let tier: ActionTier | undefined;
  const stages = decideCall({ ...asker, tool: step.tool, input: step.arguments }, deps, of.signal);
  const decided = await passStages(stages, ({ state }) => {
    tier = state?.tier ?? state?.tool?.tier ?? tier;
  });
  if (!decided.ok) return byRefusal(withOwnChanges(decided.refusal), tier);
  const [state, obstacle] = await Promise.all([
    withCondition(decided.state, deps, of.signal),
    findObstacle(decided.state, deps, of.signal),
  ]);
  if (obstacle !== undefined) return byRefusal(obstacle, tier);
  const { tool, input, targets } = state;
  const losses = await Promise.all([
    stage.foresight.losses(tool.takes?.(input, targets) ?? []).then((lines) => lines.map(english)),
    stage.facts.of(targets, impactOf(tool, targets, input)),
  ]);
  const result = await perform(state, stage);
  if (!result.ok) return { ok: false, status: 'error', refusal: { ...result, next: result.next ?? 'change the plan' } };
  copy.settle();
  return stepOf(step, state, { result, stage, losses: losses.flat() });
}

/** Of a budget the plan's own steps have used a part that nobody finds in the trail. */
function withOwnChanges(refusal: Refusal): Refusal {
  if (refusal.code !== 'over_budget') return refusal;
  return { ...refusal, message: refusal.message.replace('are made,', 'are made, those of the steps before it among them,') };
}

/** A call's own limit is the real one's; on the copy nothing waits. */
async function perform(state: Classified, { of, deps }: Stage): Promise<ToolResult> {
  const deadline = startDeadline(deps.limits.callMs, of.signal);
  try {
    const { context } = toolContext(state, { call: of.call, deps, deadline });
    return await state.tool.run(state.input, { ...context, progress: () => undefined, leftMs: () => 3_600_000 });
  } finally {
    deadline.end();
  }
}

async function stepOf(
  step: NumberedStep,
  state: Classified,
  { result, stage: { of, copy, deps }, losses }: { readonly result: ToolResult; readonly stage: Stage; readonly losses: readonly string[] },
): Promise<RehearsedStep> {
  const { tool, input, targets, resources, before = [] } = state;
  const { wait_seconds: waits } = step;
  const vmids = before.map(({ vmid }) => vmid);
  const after = await conditionsNow(copy.access.api, vmids, of.signal);
  const sets = settingsBetween(before, after);
  return {
    ...{ tool: tool.name, input, ...(waits === undefined ? {} : { wait_seconds: waits }), title: english(tool.headline(input, targets)) },
    ...{
      impact: impactOf(tool, targets, input),
      targets: targets.map(lastingTarget),
      ...{ resources, losses, limits: timesAhead(state, deps), counts: changes(state) },
    },
    ...{ before: foretold(before), after: foretold(after), ...(sets.length === 0 ? {} : { sets }) },
    undo: stored(wayBack(tool.inverse?.(input, before, result.result) ?? noWayBack(say`it has no way back`), step)),
  };
}

/** What is signed is in English alone. */
function stored(inverse: Inverse): Inverse {
  return 'none' in inverse ? { none: inverse.none } : inverse;
}

/** A fact is said of the first step that it is true of. */
function numberedLines(steps: readonly RehearsedStep[], linesOf: (step: RehearsedStep) => readonly string[]): readonly string[] {
  const said = new Set<string>();
  return steps.flatMap((step, index) => {
    const lines = linesOf(step).filter((line) => !said.has(line));
    for (const line of lines) said.add(line);
    return lines.map((line) => `step ${index + 1}: ${line}`);
  });
}

function planOf(steps: readonly RehearsedStep[], { cluster, undoes }: Of): Plan {
  const bare = steps.map((step): PlanStep => {
    const { resources: _named, losses: _lost, limits: _times, counts: _counts, ...rest } = step;
    return rest;
  });
  const plan: Plan = {
    ...{ cluster, steps: bare, touches: existingBefore(steps) },
    ...{
      blast: numberedLines(steps, ({ losses }) => losses),
      unknown: [...unforetold(bare), ...numberedLines(steps, ({ limits }) => limits)],
    },
    ...(undoes === undefined ? {} : { undoes }),
  };
  // Without `undefined`: it is digested, signed and stored.
  return JSON.parse(JSON.stringify(plan)) as Plan;
}

/** Each once; what an earlier step makes is not there yet, and a number is to be free only where no step frees it. */
function existingBefore(steps: readonly RehearsedStep[]): readonly JsonObject[] {
  const made = new Set<number>();
  const touched = new Set<number>();
  const found = new Map<string, JsonObject>();
  const taken = new Set<string>();
  for (const { resources, tool, input } of steps) {
    for (const resource of resources.filter((one) => !isOfSnapshot(one, taken))) {
      const vmid = vmidOf(resource);
      const isThere = vmid === undefined || !made.has(vmid);
      const isFreed = resource.kind === 'new_guest' && touched.has(resource.vmid);
      if (isThere && !isFreed) found.set(keyOf(resource), resource as unknown as JsonObject);
    }
    for (const resource of resources) {
      const vmid = vmidOf(resource);
      if (vmid !== undefined) (resource.kind === 'new_guest' ? made : touched).add(vmid);
    }
    taken.add(takenBy(tool, input));
  }
  return [...found.values()];
}

/** `100/before_update`; of other tools nothing that a snapshot is called. */
function takenBy(tool: string, { vmid, name }: JsonObject): string {
  return tool === 'create_snapshot' ? `${wordOf(vmid)}/${wordOf(name)}` : '';
}

/** The tags of a snapshot that an earlier step takes: they are tested with the step that goes back to it. */
function isOfSnapshot(resource: Resource, taken: ReadonlySet<string>): boolean {
  return resource.kind === 'tags' && taken.has(`${resource.vmid}/${resource.snapshot ?? ''}`);
}

/** What a step says besides of the same guest (its kind, its node) is tested with that step. */
function keyOf(resource: Resource): string {
  return JSON.stringify({ ...resource, guestType: undefined, ...(resource.kind === 'guest' ? { node: undefined } : {}) });
}

function vmidOf(resource: Resource): number | undefined {
  return 'vmid' in resource ? resource.vmid : undefined;
}

const obeyed = /^(?:shutdown|restart)_/;

function unforetold(steps: readonly PlanStep[]): readonly string[] {
  return steps.flatMap(({ tool, before, after }, index) => {
    const step = `step ${index + 1}`;
    const unread = after.filter(({ exists, status, settings, snapshots }) => exists && [status, settings, snapshots].includes(undefined));
    const made = after.filter(({ vmid, exists }) => exists && before.some((one) => one.vmid === vmid && !one.exists));
    return [
      ...(obeyed.test(tool) ? [`${step}: whether the guest obeys; the rehearsal takes it that it does`] : []),
      ...unread.map(({ vmid }) => `${step}: all of guest ${wordOf(vmid)}: this token cannot read it`),
      ...made.map(({ vmid }) => `${step}: the addresses and ids that guest ${vmid} gets`),
    ];
  });
}
