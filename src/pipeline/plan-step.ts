/** One step of a plan that a person has approved: it runs on the guests as they were foretold, and on nothing else. */
import { changedSince, unreadSince } from '#kernel/guest-condition';
import { canonicalJson, type JsonObject } from '#kernel/json';
import { foretold } from '#kernel/plans/plan';
import { lastingTarget } from './action.ts';
import { findObstacle, withCondition } from './decide-call.ts';
import type { CallDeps, StepGrant } from './deps.ts';
import { type Approved, type Classified, goOn, type Refusal, refuse, type Step } from './stage.ts';

/** Its guests could not be read: nothing was sent, and nothing is known to be other. */
export const stepUnread = 'target_unread';

/**
 * The right to run is `step.consume`, which gives it once: whoever holds the plan's consumed grant made it, in this process. What is about to run has
 * to be what was approved, to the last digit, on guests that are as they were foretold; the policy has decided anew already.
 */
export async function approvedStep(state: Classified, step: StepGrant, deps: CallDeps, signal: AbortSignal): Promise<Step<Approved>> {
  if (deps.settings.unavailable !== undefined)
    return refuse(refusal(step, 'policy_unavailable', `the security level cannot be read now (${deps.settings.unavailable})`));
  if (deps.settings.version !== step.policyVersion)
    return refuse(
      refusal(step, 'policy_changed', 'the policy (level, protected list, tiers, rules) is not the one that it was approved under'),
    );
  const [current, obstacle] = await Promise.all([withCondition(state, deps, signal), findObstacle(state, deps, signal)]);
  const unread = unreadOf(current, step);
  if (unread !== undefined)
    return refuse(refusal(step, stepUnread, `whether its guests are as they were approved could not be read (${unread})`));
  const drift = driftOf(current, step);
  if (drift !== undefined) return refuse(refusal(step, 'plan_drift', `what it was approved for is not there any more (${drift})`));
  if (obstacle !== undefined) return refuse({ ...obstacle, requestId: step.plan });
  signal.throwIfAborted();
  const why = await step.consume();
  if (why !== undefined) return refuse(refusal(step, why.code, why.message));
  return goOn({ ...current, requestId: step.plan });
}

function refusal({ plan, number }: StepGrant, code: string, why: string): Refusal {
  return {
    status: 'denied',
    code,
    message: `step ${number} of plan ${plan} did not run: ${why}`,
    next: 'look at the guests, then propose what is left as a new plan',
    requestId: plan,
  };
}

/** Why nobody can say whether its guests are as approved, where nothing is known to be other; undefined: that is known. */
function unreadOf({ before = [] }: Classified, step: StepGrant): string | undefined {
  const bare = foretold(before);
  return canonicalJson(plain(bare)) === canonicalJson(plain(step.before)) ? undefined : unreadSince(plain(step.before), bare);
}

/** What is not as approved, in words; undefined: nothing. */
function driftOf({ targets, input, before = [] }: Classified, step: StepGrant): string | undefined {
  if (canonicalJson(input) !== canonicalJson(step.input)) return 'its arguments';
  if (canonicalJson(targets.map(lastingTarget)) !== canonicalJson(step.targets)) return 'its targets: name, node or kind';
  const bare = foretold(before);
  if (canonicalJson(plain(bare)) !== canonicalJson(plain(step.before))) return changedSince(plain(step.before), bare) ?? 'its guests';
  const moved = before.find(({ vmid, digest }) => step.digests.has(vmid) && step.digests.get(vmid) !== digest);
  return moved === undefined ? undefined : `guest ${moved.vmid}: its configuration`;
}

function plain(conditions: readonly object[]): readonly JsonObject[] {
  return conditions as readonly JsonObject[];
}
