/**
 * What decides about a call, stage by stage. Running, explaining and consuming a grant go over these same answers: the first two over
 * `decideCall`, the last over its end, `decideTargets`, since the target may have changed while a person was thinking.
 */

import { lowestTierWith, permits } from '#identity/permissions';
import { errorTolerance, successesToRestore } from '#identity/standing';
import type { Agent } from '#kernel/agent';
import { allow, ask, type Decision, deny, strictest } from '#kernel/decision';
import type { JsonObject } from '#kernel/json';
import { notSent } from '#kernel/known-effect';
import type { CommandResource, HeldResource, PathResource, Target } from '#kernel/resource';
import { asListed, english, type Message, say } from '#kernel/text/message';
import type { ActionTier, SecurityLevel } from '#kernel/tiers';
import type { Tool } from '#kernel/tool';
import { decideFetch, ruleSubject, settleByRules } from '#policy/auto-approve';
import { decideTier, effectiveTier, networkAtLevel } from '#policy/classify';
import { decideServiceUnit } from '#policy/service-units';
import { effectiveAction } from './action.ts';
import { clusterOf } from './context.ts';
import type { CallDeps, DecidingDeps, IncomingCall, PolicySettings, WorkspaceJudge } from './deps.ts';
import { withEffectWords } from './execute.ts';
import { pauseDecision, scopeDecision, timesDecision, toolScopeDecision } from './limits.ts';
import { notProtected, protect } from './protect.ts';
import { withoutConcealed } from './record.ts';
import { type Classified, goOn, type Refusal, type Resolved, refuse, refuseBy, type Step, type Validated } from './stage.ts';
import { findTool, validate } from './validate.ts';

/** In their order. */
export const stageNames = ['identify', 'validate', 'authorize', 'pause', 'protect', 'scope', 'times', 'classify', 'feasible'] as const;

/** One stage's answer. `refusal`: a call that runs ends here; only an explanation goes on. */
export interface StageAnswer {
  readonly stage: (typeof stageNames)[number];
  readonly decision: Decision;
  /** What is known of the call after this stage; whole after `classify`. */
  readonly state?: Partial<Classified>;
  readonly refusal?: Refusal;
  /** What the stage found out, for people. Made only where it is shown. */
  detail?(): JsonObject;
}

export interface DecidedCall extends Pick<IncomingCall, 'tool' | 'input' | 'agent' | 'restrict' | 'byHand' | 'internal'> {
  /** What `validate` says of it: for who decides about the same call more than once. No settings change that. */
  validate?(tool: Tool): Step<Validated>;
}

/** @throws {Fault} when the cluster, a rule or a path cannot be read */
export async function* decideCall(
  call: DecidedCall,
  deps: DecidingDeps,
  signal: AbortSignal,
): AsyncGenerator<StageAnswer, Classified | undefined> {
  const found = findTool(call.tool, deps.tools, call.byHand !== undefined || call.internal === true, call.agent.host);
  if (!found.ok) {
    yield refused('identify', found.refusal);
    return undefined;
  }
  yield { stage: 'identify', ...identified(found.state, call.agent) };
  const validated = call.validate?.(found.state) ?? validate(found.state, call.input, call.agent);
  if (!validated.ok) {
    yield refused('validate', validated.refusal);
    return undefined;
  }
  const { state } = validated;
  yield {
    stage: 'validate',
    decision: allow('valid_input', 'the arguments fit the schema'),
    state,
    detail: () => ({ arguments: withoutConcealed(state.tool, state.input) }),
  };
  yield authorizeAnswer(state, call, deps);
  return yield* decideTargets(state, call.agent, deps, signal);
}

/** What a call touches, and what the policy says of that. */
export async function* decideTargets(
  validated: Validated,
  agent: Agent,
  deps: DecidingDeps,
  signal: AbortSignal,
): AsyncGenerator<StageAnswer, Classified | undefined> {
  yield answerOf('pause', pauseDecision(validated.tool, agent, deps.settings), validated);
  const resolved = await protectStage(validated, deps, signal);
  if (!resolved.ok) {
    yield refused('protect', resolved.refusal);
    return undefined;
  }
  yield {
    stage: 'protect',
    decision: notProtected,
    state: resolved.state,
    detail: () => ({ targets: effectiveAction(resolved.state, agent, deps.settings.version).targets }),
  };
  yield answerOf('scope', await scopeDecision(resolved.state, agent, deps), resolved.state);
  yield answerOf('times', timesDecision(resolved.state, deps), resolved.state);
  const state = await classify(resolved.state, agent, deps);
  const { decision } = state;
  yield {
    stage: 'classify',
    decision,
    state,
    detail: () => ({ tier: state.tier, level: deps.settings.securityLevel }),
    ...(decision.effect === 'deny' ? { refusal: refuseBy(decision).refusal } : {}),
  };
  return state;
}

function answerOf(stage: StageAnswer['stage'], decision: Decision, state: Validated): StageAnswer {
  return {
    stage,
    decision,
    state,
    ...(decision.effect === 'deny' ? { refusal: refuseBy(decision, limitAdvice[decision.code]).refusal } : {}),
  };
}

/** What is left to who is held back for a time. */
const limitAdvice: Readonly<Record<string, string>> = {
  frozen: 'wait until the window is over, or tell the user: only a person can change the windows',
  outside_maintenance: 'wait until the window opens, or tell the user: only a person can change the windows',
  agents_paused: 'stop here and tell the user: only a person resumes agents (`banksman resume`, in the editor, or on the approval page)',
  over_budget: 'change nothing more for now, and tell the user: only a person can raise the budget',
};

/** How long the look before a person is asked may take, in ms. */
const lookMs = 5_000;

/**
 * What the tool knows to stand in the way for sure, asked before a person is and before a grant is consumed. What cannot be read keeps nobody
 * from asking.
 */
export async function findObstacle(state: Classified, deps: CallDeps, caller: AbortSignal): Promise<Refusal | undefined> {
  const { tool, input, targets, cluster } = state;
  if (tool.precheck === undefined || state.decision.effect === 'deny') return undefined;
  const signal = AbortSignal.any([caller, AbortSignal.timeout(lookMs)]);
  try {
    const obstacle = await tool.precheck(input, { targets, signal, cluster: clusterOf(tool, cluster, deps) });
    return obstacle && { status: 'error', ...obstacle, message: withEffectWords(obstacle.message, notSent) };
  } catch {
    caller.throwIfAborted();
    return undefined;
  }
}

/** With the guests as they are now, where the tool's grants are bound to that. What cannot be read is no part of it. */
export async function withCondition(state: Classified, deps: CallDeps, caller: AbortSignal): Promise<Classified> {
  const { tool, input, targets, cluster } = state;
  if (tool.precondition === undefined) return state;
  const signal = AbortSignal.any([caller, AbortSignal.timeout(lookMs)]);
  return { ...state, before: await tool.precondition(input, { targets, signal, cluster: clusterOf(tool, cluster, deps) }) };
}

/** Goes through the stages up to the first refusal. */
export async function passStages(
  answers: AsyncGenerator<StageAnswer, Classified | undefined>,
  onAnswer?: (answer: StageAnswer) => void,
): Promise<Step<Classified>> {
  for (;;) {
    const { done, value } = await answers.next();
    if (done) {
      if (value === undefined) throw new Error('the stages ended without an answer');
      return goOn(value);
    }
    onAnswer?.(value);
    if (value.refusal !== undefined) return refuse(value.refusal);
  }
}

function identified(tool: Tool, agent: Agent): Omit<StageAnswer, 'stage'> {
  return {
    decision: allow('known_tool', say`\`${tool.name}\` is called by ${agent.id}`),
    state: { tool },
    detail: () => ({ agent: agent.id, model_tier: agent.modelTier, classified_tier: agent.classifiedTier }),
  };
}

/** The model's tier, and what the host says of the workspace. */
function authorizeAnswer(state: Validated, call: DecidedCall, deps: Pick<DecidingDeps, 'settings'>): StageAnswer {
  const { tool } = state;
  const decision = authorize(tool, call.agent);
  if (decision.effect === 'deny')
    return { stage: 'authorize', decision, state, refusal: refuseBy(decision, tierAdvice(call.agent)).refusal };
  const untrusted = restricted(tool, effectiveTier(tool.name, tool.tier, deps.settings.tiers), call.restrict);
  if (untrusted === undefined) return { stage: 'authorize', decision, state };
  const { refusal } = refuseBy(untrusted, 'ask the user to trust this workspace; do not retry before');
  return { stage: 'authorize', decision: untrusted, state, refusal };
}

/** Protection; black is refused whether or not its target can be found. */
async function protectStage(state: Validated, deps: DecidingDeps, signal: AbortSignal): Promise<Step<Resolved>> {
  const tier = effectiveTier(state.tool.name, state.tool.tier, deps.settings.tiers);
  if (tier !== 'black') return protect(state, deps, signal);
  const resolved = await protect(state, deps, signal).catch(() => undefined);
  return resolved?.ok || (resolved !== undefined && resolved.refusal.status === 'denied')
    ? resolved
    : refuseBy(decideTier(state.tool.name, tier, deps.settings.securityLevel));
}

export function refused(stage: StageAnswer['stage'], refusal: Refusal): StageAnswer {
  return { stage, decision: deny(refusal.code, refusal.message, refusal.rules ?? []), refusal };
}

/** Whether this model may use this kind of tool at all. */
export function authorize(tool: Tool, agent: Agent): Decision {
  if (permits(agent.modelTier, tool.permission)) {
    return allow('permitted', say`model tier ${agent.modelTier} holds \`${tool.permission}\``, [`permission:${tool.permission}`]);
  }
  return deny(
    'model_tier_too_low',
    say`\`${tool.name}\` needs \`${tool.permission}\`, which starts at model tier ${lowestTierWith(tool.permission)}; this caller has ${agent.modelTier}${loweredWords(agent)}`,
    [`permission:${tool.permission}`],
  );
}

/** Why it has less than its model, and what brings that back; empty where it has not. */
function loweredWords({ classifiedTier }: Agent): Message | string {
  if (classifiedTier === undefined) return '';
  return say`, lowered from ${classifiedTier} by repeated errors (${errorTolerance[classifiedTier]} failed calls, a file that is not there counts); ${successesToRestore} calls in a row that succeed give a step back`;
}

/** What is left to who may not use a tool. */
function tierAdvice({ classifiedTier }: Agent): string {
  return classifiedTier === undefined
    ? 'use a tool that needs less, or tell the user'
    : `go on with tools that need less, with names that you have seen (list_directory before read_file): ${successesToRestore} that succeed in a row give the step back; then repeat this call`;
}

/** Where the host says that the workspace is not trusted: only what reads. undefined: nothing to say. */
function restricted(tool: Tool, tier: ActionTier, restrict: 'green_only' | undefined): Decision | undefined {
  if (restrict === undefined || tier === 'green') return undefined;
  return deny('untrusted_workspace', say`\`${tool.name}\` does not run in an untrusted workspace: only tools that read do`, [
    'workspace:untrusted',
  ]);
}

// classify: the action tier at this security level, and what the policies for commands, paths and units say.

interface ClassifyDeps {
  readonly settings: PolicySettings;
  /** Absent where there is no workspace. */
  readonly judge?: WorkspaceJudge;
}

/** Replaces every command on a node by its canonical text and every path by what it is: what runs is what was checked. */
export async function classify(state: Resolved, agent: Agent, deps: ClassifyDeps): Promise<Classified> {
  const { tool, tier } = state;
  const byTier = tierDecision(tool, tier, deps.settings.securityLevel);
  const judged = await Promise.all(state.targets.map((target) => judgeTarget(target, agent, deps)));
  const targets = judged.map((entry) => entry.target);
  const decisions = [byTier, ...judged.flatMap((entry) => entry.decisions)];
  // Other tiers have no rules: what they read would change nothing.
  const rules = state.tier === 'yellow' ? await deps.settings.rules() : [];
  const subject = ruleSubject(state.tool.name, state.tier, targets);
  return { ...state, targets, decision: strictest(settleByRules(decisions, subject, rules)) };
}

function tierDecision({ name, onGrant }: Tool, tier: ActionTier, level: SecurityLevel): Decision {
  return decideTier(name, tier, onGrant === true && tier === 'yellow' ? 'balanced' : level);
}

/** What the stages say of a tool whatever it is given: those that need its arguments or a target come on top. The strictest, the first among equals. */
export function decideTool(
  tool: Tool,
  agent: Agent,
  settings: Pick<PolicySettings, 'paused' | 'scopes' | 'securityLevel' | 'tiers'>,
): { readonly stage: StageAnswer['stage']; readonly decision: Decision } {
  const tier = effectiveTier(tool.name, tool.tier, settings.tiers);
  const answers = [
    ['classify', tierDecision(tool, tier, settings.securityLevel)],
    ['authorize', authorize(tool, agent)],
    ['pause', pauseDecision(tool, agent, settings)],
    ['scope', toolScopeDecision(tool, agent, settings)],
  ] as const;
  const worst = strictest(answers.map(([, decision]) => decision));
  const [stage, decision] = answers.find(([, one]) => one === worst) ?? answers[0];
  return { stage, decision };
}

interface Judged {
  readonly target: Target;
  readonly decisions: readonly Decision[];
}

async function judgeTarget(target: Target, agent: Agent, deps: ClassifyDeps): Promise<Judged> {
  if (target.kind === 'service' && target.access === 'operate') return { target, decisions: [decideServiceUnit(target.service)] };
  if (target.kind === 'path') return judgePath(target, agent, deps);
  if (target.kind === 'held') return judgeHeld(target, deps);
  if (target.kind === 'destination' && target.access === 'operate')
    return { target, decisions: [decideFetch(target.host, await deps.settings.rules(), deps.settings.securityLevel)] };
  if (target.kind !== 'command') return { target, decisions: [] };
  return target.surface === 'ssh' ? judgeSsh(target, deps.settings) : judgeCommand(target, deps);
}

async function judgeSsh(target: CommandResource, settings: PolicySettings): Promise<Judged> {
  const { decision, canonical } = await settings.decideSsh(target.text);
  return { target: { ...target, text: canonical ?? target.text }, decisions: [decision] };
}

/**
 * A command in the workspace. What a person would have to grant for exactly this run (the network, running without an enforced sandbox)
 * stands in the target, so that it is part of what they approve. INVARIANT: each such mark comes with an `ask` or a `deny`, unless
 * the security level or a person's rule for this very text settles that ask; running without a sandbox is never settled in advance.
 */
async function judgeCommand(target: CommandResource, { settings, judge }: ClassifyDeps): Promise<Judged> {
  if (judge === undefined || target.surface === 'ssh') return { target, decisions: [noWorkspace] };
  // Nothing of it runs here.
  if (target.surface === 'agent_shell' || target.surface === 'agent_run') return { target, decisions: [await judge.decideCommand(target)] };
  const leveled = networkAtLevel(await judge.decideCommand(target), settings.securityLevel);
  const contained = containment(await judge.sandbox(), settings.requireSandbox);
  if (contained === undefined) return { target, decisions: [leveled] };
  return { target: { ...target, unsandboxed: true }, decisions: [contained, leveled] };
}

/** Nothing degrades in silence: where the sandbox is not enforced, every command asks or is refused. */
function containment(sandbox: { readonly state: string; readonly reason: string }, required: boolean): Decision | undefined {
  if (sandbox.state === 'enforced') return undefined;
  const why = say`the OS sandbox is ${sandbox.state}: ${asListed(sandbox.reason)}`;
  return required
    ? deny('sandbox_required', english(why), ['sandbox:required'])
    : ask('sandbox_not_enforced', why, [`sandbox:${sandbox.state}`]);
}

async function judgePath(target: PathResource, agent: Agent, { judge }: ClassifyDeps): Promise<Judged> {
  if (judge === undefined) return { target, decisions: [noWorkspace] };
  const use = target.use ?? (target.access === 'operate' ? 'write' : 'read');
  const { decision, real } = await judge.decidePath(target.path, use, target.machine === true ? 'machine' : { agentId: agent.id });
  const agreed = decision.effect === 'ask' ? { agreed: true } : {};
  return { target: { ...target, ...(real === undefined ? {} : { real }), ...agreed }, decisions: [decision] };
}

/** The caller's id alone is believed: what is approved is what lies there now. */
async function judgeHeld({ kind, access, id }: HeldResource, { judge }: ClassifyDeps): Promise<Judged> {
  const held = await judge?.held(id);
  if (held === undefined) return { target: { kind, access, id }, decisions: [judge === undefined ? noWorkspace : heldGone] };
  const { digest, changes, more, lost } = held;
  return { target: { kind, access, id, digest, changes, more, lost }, decisions: [] };
}

const heldGone = deny(
  'held_gone',
  'what was held does not lie here: it was applied, dropped or is too old, or another machine or state directory has it',
  ['held:gone'],
);

const noWorkspace = deny('no_workspace', 'there is no workspace; open a folder, or set `workspace.root`', ['workspace:none']);
