/**
 * What decides about a call, stage by stage. Running, explaining and spending a grant go over these same answers: the first two over
 * `decideCall`, the last over its end, `decideTargets`, since the target may have changed while a person was thinking.
 */
import type { Agent } from '#kernel/agent';
import { allow, type Decision, deny } from '#kernel/decision';
import type { JsonObject } from '#kernel/json';
import { notSent } from '#kernel/known-effect';
import type { Tool } from '#kernel/tool';
import { classify as classifyTier, effectiveTier } from '#policy/classify';
import { effectiveAction } from './action.ts';
import { authorize, restricted } from './authorize.ts';
import { classify } from './classify.ts';
import { clusterOf } from './context.ts';
import type { CallDeps, IncomingCall } from './deps.ts';
import { withEffectWords } from './execute.ts';
import { notProtected, protect } from './protect.ts';
import { withoutConcealed } from './record.ts';
import { type Classified, goOn, type Refusal, type Resolved, refuse, refuseBy, type Step, type Validated } from './stage.ts';
import { findTool, validate } from './validate.ts';

/** In their order. */
export const stageNames = ['identify', 'validate', 'authorize', 'protect', 'classify', 'feasible'] as const;

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

export type DecidedCall = Pick<IncomingCall, 'tool' | 'input' | 'agent' | 'restrict'>;

/** @throws {Fault} when the cluster, a rule or a path cannot be read */
export async function* decideCall(
  call: DecidedCall,
  deps: CallDeps,
  signal: AbortSignal,
): AsyncGenerator<StageAnswer, Classified | undefined> {
  const found = findTool(call.tool, deps.tools);
  if (!found.ok) {
    yield refused('identify', found.refusal);
    return undefined;
  }
  yield { stage: 'identify', ...identified(found.state, call.agent) };
  const validated = validate(found.state, call.input, call.agent);
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
  deps: CallDeps,
  signal: AbortSignal,
): AsyncGenerator<StageAnswer, Classified | undefined> {
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

/** How long the look before a person is asked may take, in ms. */
const lookMs = 5_000;

/**
 * What the tool knows to stand in the way for sure, asked before a person is and before a grant is spent. What cannot be read keeps nobody
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
    decision: allow('known_tool', `\`${tool.name}\` is called by ${agent.id}`),
    state: { tool },
    detail: () => ({ agent: agent.id, model_tier: agent.modelTier, classified_tier: agent.classifiedTier }),
  };
}

/** The model's tier, and what the host says of the workspace. */
function authorizeAnswer(state: Validated, call: DecidedCall, deps: CallDeps): StageAnswer {
  const { tool } = state;
  const decision = authorize(tool, call.agent);
  if (decision.effect === 'deny') return { stage: 'authorize', decision, state, refusal: refuseBy(decision).refusal };
  const untrusted = restricted(tool, effectiveTier(tool.name, tool.tier, deps.settings.tiers), call.restrict);
  if (untrusted === undefined) return { stage: 'authorize', decision, state };
  const { refusal } = refuseBy(untrusted, 'ask the user to trust this workspace; do not retry before');
  return { stage: 'authorize', decision: untrusted, state, refusal };
}

/** Protection; black is refused whether or not its target can be found. */
async function protectStage(state: Validated, deps: CallDeps, signal: AbortSignal): Promise<Step<Resolved>> {
  const tier = effectiveTier(state.tool.name, state.tool.tier, deps.settings.tiers);
  if (tier !== 'black') return protect(state, deps, signal);
  const resolved = await protect(state, deps, signal).catch(() => undefined);
  return resolved?.ok || (resolved !== undefined && resolved.refusal.status === 'denied')
    ? resolved
    : refuseBy(classifyTier(state.tool.name, tier, deps.settings.securityLevel));
}

export function refused(stage: StageAnswer['stage'], refusal: Refusal): StageAnswer {
  return { stage, decision: deny(refusal.code, refusal.message, refusal.rules ?? []), refusal };
}
