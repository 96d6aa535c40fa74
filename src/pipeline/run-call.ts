/** The path of a call (docs/design.md#the-path-of-a-call): the stages in their order, and nothing else. */
import { type Deadline, startDeadline } from '#execution/deadline';
import type { Agent } from '#kernel/agent';
import { toFault } from '#kernel/errors';
import { effectData, notSent } from '#kernel/known-effect';
import type { Outcome } from '#kernel/outcome';
import { approve } from './approve.ts';
import { withSettings } from './call-deps.ts';
import { decideCall, passStages } from './decide-call.ts';
import type { CallDeps, IncomingCall, PipelineDeps } from './deps.ts';
import { changesSomething, execute, withEffectWords } from './execute.ts';
import { noteStanding } from './note-standing.ts';
import { presentOutcome } from './present-outcome.ts';
import { type CallTrail, leaveTask, logOutcome, recordIntent, recordOutcome, redactionOf, startTrail, startWaiting } from './record.ts';
import { redactOutcome } from './redact-outcome.ts';
import { type Approved, goOn, type Refusal, refuse, refuseByFault, type Step } from './stage.ts';
import { limitOf } from './validate.ts';

/** Runs one call to its outcome. Never rejects. */
export async function runCall(incoming: IncomingCall, deps: PipelineDeps): Promise<Outcome> {
  // What a person starts by hand neither suffers from the agent's standing nor changes it.
  const standing = incoming.byHand === undefined ? deps.standing : undefined;
  const call = standing === undefined ? incoming : { ...incoming, agent: standing.effective(incoming.agent) };
  const trail = startTrail();
  const tool = deps.tools.find((entry) => entry.name === call.tool);
  const deadline = startDeadline(limitOf(tool, call.input, deps.limits.callMs), call.signal);
  try {
    const outcome = redactOutcome(await outcomeOf(call, trail, deps, deadline), redactionOf(deps));
    const written = await recorded(call, trail, deps, outcome);
    // A person reads what came of a call that they ran by hand, whoever asked for it.
    const reader: Agent = call.byHand === undefined ? call.agent : { ...call.agent, host: 'palette' };
    return presentOutcome(standing === undefined ? written : await noteStanding(call, deps, written), tool, reader);
  } finally {
    deadline.end();
  }
}

async function outcomeOf(call: IncomingCall, trail: CallTrail, deps: PipelineDeps, deadline: Deadline): Promise<Outcome> {
  const decided = await decide(call, trail, deps, deadline);
  if (!decided.ok) return outcomeOfRefusal(decided.refusal, trail);
  return execute(decided.state.approved, call, decided.state.deps, deadline);
}

interface Decided {
  readonly approved: Approved;
  readonly deps: CallDeps;
}

/** Everything before the effect. A fault on the way is a refusal: nothing has happened yet. */
async function decide(call: IncomingCall, trail: CallTrail, deps: PipelineDeps, deadline: Deadline): Promise<Step<Decided>> {
  try {
    // A question must not be put to a person for a caller who has gone; and a port that ignores its signal keeps nobody waiting.
    deadline.signal.throwIfAborted();
    return await deadline.within(decideNow(call, trail, deps, deadline));
  } catch (thrown) {
    const { refusal } = refuseByFault(toFault(deadline.signal.aborted ? deadline.signal.reason : thrown));
    const tool = trail.state?.tool;
    return refuse(
      tool !== undefined && changesSomething(tool) ? { ...refusal, message: withEffectWords(refusal.message, notSent) } : refusal,
    );
  }
}

async function decideNow(call: IncomingCall, trail: CallTrail, given: PipelineDeps, deadline: Deadline): Promise<Step<Decided>> {
  const deps = await withSettings(given);
  trail.policyVersion = deps.settings.version;
  const decided = await decideStages(call, trail, deps, deadline);
  return decided.ok ? goOn({ approved: decided.state, deps }) : decided;
}

async function decideStages(call: IncomingCall, trail: CallTrail, deps: CallDeps, deadline: Deadline): Promise<Step<Approved>> {
  const classified = await passStages(decideCall(call, deps, deadline.signal), ({ state }) => {
    if (state !== undefined) trail.state = state;
  });
  if (!classified.ok) return classified;
  trail.rules = classified.state.decision.rules;
  const approved = await approve(classified.state, { call, deps, deadline, onWaiting: () => startWaiting(trail) });
  if (!approved.ok) return approved;
  trail.state = approved.state;
  // Written down before it happens. Green only looks: its one record follows.
  if (approved.state.tier !== 'green') await recordIntent(call, trail, deps);
  return goOn(approved.state);
}

function outcomeOfRefusal(refusal: Refusal, trail: CallTrail): Outcome {
  if (refusal.rules !== undefined) trail.rules = refusal.rules;
  return {
    status: refusal.status,
    code: refusal.code,
    message: refusal.message,
    ...(refusal.requestId === undefined ? {} : { request_id: refusal.requestId }),
    ...(refusal.next === undefined ? {} : { next: refusal.next }),
    ...(trail.state?.tool !== undefined && changesSomething(trail.state.tool) ? { effect: effectData(notSent) } : {}),
  };
}

async function recorded(call: IncomingCall, trail: CallTrail, deps: PipelineDeps, outcome: Outcome): Promise<Outcome> {
  try {
    await recordOutcome(call, trail, deps, outcome);
    logOutcome(call, trail, deps, outcome);
    leaveTask(call, trail, deps, outcome);
    return outcome;
  } catch (thrown) {
    const fault = toFault(thrown);
    const unrecorded = withoutRecord(outcome, fault.message, fault.next);
    logOutcome(call, trail, deps, unrecorded);
    return unrecorded;
  }
}

/** What could not be written down is not handed out: a green result is withheld, an effect that happened is reported with the failure. */
function withoutRecord(outcome: Outcome, why: string, remedy: string | undefined): Outcome {
  const { result, ...rest } = outcome;
  // Nothing ran because the intent could not be written; that its refusal could not be either adds nothing.
  if (outcome.code === 'audit_unavailable') return rest;
  const withheld = result === undefined ? '' : ', so the result is withheld';
  return {
    ...rest,
    status: 'error',
    code: 'audit_unavailable',
    message: `${outcome.message}; but the audit trail could not be written${withheld}: ${why}`,
    next: remedy ?? 'a person must make the audit store writable (see `banksman doctor`)',
  };
}
