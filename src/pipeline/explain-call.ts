/** `policy explain`: every stage's answer for one call; nothing is executed, asked or stored. */
import type { Agent } from '#kernel/agent';
import { allow, type Decision, deny, strictest } from '#kernel/decision';
import { toFault } from '#kernel/errors';
import type { JsonObject } from '#kernel/json';
import type { OutcomeStatus } from '#kernel/outcome';
import { redactObject, redactText } from '#redaction/redact';
import { effectiveAction } from './action.ts';
import { authorize } from './authorize.ts';
import { withSettings } from './call-deps.ts';
import { classify } from './classify.ts';
import type { CallDeps, PipelineDeps } from './deps.ts';
import { notProtected } from './protect.ts';
import { protectStage } from './protect-stage.ts';
import { redactionOf, withoutConcealed } from './record.ts';
import { type Refusal, type Resolved, refuseByFault, type Step } from './stage.ts';
import { findTool, validate } from './validate.ts';

export interface ExplainedStage {
  readonly stage: string;
  readonly decision: Decision;
  /** Set where the call itself is wrong: no policy refused it. */
  readonly error?: true;
  readonly detail?: JsonObject;
}

export interface ExplainedCall {
  readonly tool: string;
  /** The strictest of all stages. */
  readonly decision: Decision;
  /** What the call would end with: `pending` where a person would be asked. */
  readonly status: OutcomeStatus;
  readonly stages: readonly ExplainedStage[];
}

export async function explainCall(
  call: { readonly tool: string; readonly input: unknown; readonly agent: Agent },
  deps: PipelineDeps,
  signal: AbortSignal,
): Promise<ExplainedCall> {
  const stages: ExplainedStage[] = [];
  const agent = deps.standing?.effective(call.agent) ?? call.agent;
  await explainStages({ ...call, agent }, await withSettings(deps), { stages, signal });
  const plain = stages.map((entry) => withoutSecrets(entry, deps));
  const decision = inAll(plain);
  return { tool: call.tool, decision, status: statusOf(decision, plain), stages: plain };
}

function statusOf(decision: Decision, stages: readonly ExplainedStage[]): OutcomeStatus {
  if (decision.effect !== 'deny') return decision.effect === 'ask' ? 'pending' : 'ok';
  return stages.find((entry) => entry.decision === decision)?.error ? 'error' : 'denied';
}

/** What is allowed by every stage is allowed for the reason of the last one, which knows most of the call. */
function inAll(stages: readonly ExplainedStage[]): Decision {
  const decisions = stages.map((entry) => entry.decision);
  const worst = strictest(decisions);
  return worst.effect === 'allow' ? (decisions.at(-1) ?? worst) : worst;
}

function withoutSecrets({ decision, detail, ...entry }: ExplainedStage, deps: PipelineDeps): ExplainedStage {
  const options = redactionOf(deps);
  const shown = { ...decision, reason: redactText(decision.reason, options) };
  return { ...entry, decision: shown, ...(detail === undefined ? {} : { detail: redactObject(detail, options) }) };
}

async function explainStages(
  call: { readonly tool: string; readonly input: unknown; readonly agent: Agent },
  deps: CallDeps,
  { stages, signal }: { readonly stages: ExplainedStage[]; readonly signal: AbortSignal },
): Promise<void> {
  const found = findTool(call.tool, deps.tools);
  if (!found.ok) return void stages.push(refused('identify', found.refusal));
  stages.push({
    stage: 'identify',
    decision: allow('known_tool', `\`${call.tool}\` is called by ${call.agent.id}`),
    detail: { agent: call.agent.id, model_tier: call.agent.modelTier, classified_tier: call.agent.classifiedTier },
  });
  const validated = validate(found.state, call.input, call.agent);
  if (!validated.ok) return void stages.push(refused('validate', validated.refusal));
  stages.push({
    stage: 'validate',
    decision: allow('valid_input', 'the arguments fit the schema'),
    detail: { arguments: withoutConcealed(found.state, validated.state.input) },
  });
  stages.push({ stage: 'authorize', decision: authorize(found.state, call.agent) });
  const resolved = await protectOrFail(protectStage(validated.state, deps, signal));
  if (!resolved.ok) return void stages.push(refused('protect', resolved.refusal));
  stages.push({
    stage: 'protect',
    decision: notProtected,
    detail: { targets: effectiveAction(resolved.state, call.agent, deps.settings.version).targets },
  });
  stages.push({
    stage: 'classify',
    decision: (await classify(resolved.state, call.agent, deps)).decision,
    detail: { tier: resolved.state.tier, level: deps.settings.securityLevel },
  });
}

async function protectOrFail(stage: Promise<Step<Resolved>>): Promise<Step<Resolved>> {
  try {
    return await stage;
  } catch (thrown) {
    return refuseByFault(toFault(thrown));
  }
}

function refused(stage: string, { status, code, message, rules = [] }: Refusal): ExplainedStage {
  return { stage, decision: deny(code, message, rules), ...(status === 'error' ? { error: true } : {}) };
}
