/** `policy explain`: every stage's answer for one call; nothing is executed, asked or stored. */
import type { Explanation, StageReport } from '#kernel/app';
import { type Decision, deny, strictest } from '#kernel/decision';
import { toFault } from '#kernel/errors';
import type { OutcomeStatus } from '#kernel/outcome';
import type { SecurityLevel } from '#kernel/tiers';
import { redactObject, redactText } from '#redaction/redact';
import { type DecidedCall, decideCall, findObstacle, refused, type StageAnswer, stageNames } from './decide-call.ts';
import { type CallDeps, type PipelineDeps, withSettings } from './deps.ts';
import { redactionOf } from './record.ts';
import { type Classified, refuseByFault } from './stage.ts';

/** @param level as if this one counted */
export async function explainCall(
  { level, ...call }: DecidedCall & { readonly level?: SecurityLevel },
  deps: PipelineDeps,
  signal: AbortSignal,
): Promise<Explanation> {
  const stages: StageReport[] = [];
  const agent = deps.standing?.effective(call.agent) ?? call.agent;
  const settled = await withSettings(deps);
  const settings = level === undefined ? settled.settings : { ...settled.settings, securityLevel: level };
  await explainStages({ ...call, agent }, { ...settled, settings }, { stages, signal });
  const plain = stages.map((entry) => withoutSecrets(entry, deps));
  const decision = inAll(plain);
  return { tool: call.tool, decision, status: statusOf(decision, plain), stages: plain };
}

function statusOf(decision: Decision, stages: readonly StageReport[]): OutcomeStatus {
  if (decision.effect !== 'deny') return decision.effect === 'ask' ? 'pending' : 'ok';
  return stages.find((entry) => entry.decision === decision)?.error ? 'error' : 'denied';
}

/** What is allowed by every stage is allowed for the reason of the last one, which knows most of the call. */
function inAll(stages: readonly StageReport[]): Decision {
  const decisions = stages.map((entry) => entry.decision);
  const worst = strictest(decisions);
  return worst.effect === 'allow' ? (decisions.at(-1) ?? worst) : worst;
}

function withoutSecrets({ decision, detail, ...entry }: StageReport, deps: PipelineDeps): StageReport {
  const options = redactionOf(deps);
  const reason = redactText(decision.reason, options);
  // SECURITY: its words have in them what the English has; where a secret was in that, they would have it still.
  const { words: _unredacted, ...plain } = decision;
  const shown = reason === decision.reason ? decision : { ...plain, reason };
  return { ...entry, decision: shown, ...(detail === undefined ? {} : { detail: redactObject(detail, options) }) };
}

async function explainStages(
  call: DecidedCall,
  deps: CallDeps,
  { stages, signal }: { readonly stages: StageReport[]; readonly signal: AbortSignal },
): Promise<void> {
  try {
    let state: StageAnswer['state'];
    for await (const answer of decideCall(call, deps, signal)) {
      stages.push(explained(answer));
      state = answer.stage === 'classify' ? answer.state : undefined;
    }
    const obstacle = state === undefined ? undefined : await findObstacle(state as Classified, deps, signal);
    if (obstacle !== undefined) stages.push(explained(refused('feasible', obstacle)));
  } catch (thrown) {
    // What could not be found out is an answer, too: of the stage that comes after the last one that answered.
    const { refusal } = refuseByFault(toFault(thrown));
    const stage = stageNames[stages.length] ?? 'classify';
    stages.push(explained({ stage, decision: deny(refusal.code, refusal.message), refusal }));
  }
}

function explained(answer: StageAnswer): StageReport {
  const { stage, decision, refusal } = answer;
  const detail = answer.detail?.();
  return { stage, decision, ...(refusal?.status === 'error' ? { error: true } : {}), ...(detail === undefined ? {} : { detail }) };
}
