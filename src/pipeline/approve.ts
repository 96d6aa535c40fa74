/** approve: a grant that a person gave to exactly this call, or a request that asks for one. */
import { digestOf } from '#approval/digest';
import type { Deadline } from '#execution/deadline';
import type { EffectiveAction, RequestDraft, RequestRecord } from '#kernel/approval/request';
import { expiryInWords } from '#kernel/approval/request-end';
import { alreadyRun, lookUpRun, runInWords, runOf } from '#kernel/approval/request-run';
import { applyHeldTool } from '#kernel/effects';
import { toFault } from '#kernel/errors';
import { changedSince, inverseWords, unreadSince } from '#kernel/guest-condition';
import { applyPlanTool } from '#kernel/plans/plan';
import { english, type Message, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import { impactOf } from '#kernel/tool';
import { agentOfDraft, effectiveAction, sameCall } from './action.ts';
import { toolContext } from './context.ts';
import { decideTargets, findObstacle, passStages, withCondition } from './decide-call.ts';
import type { CallDeps, IncomingCall, PolicySettings } from './deps.ts';
import { lossLines } from './losses.ts';
import { approvedStep } from './plan-step.ts';
import { type Approved, type Classified, goOn, type Refusal, refuse, type Step } from './stage.ts';
import { limitOf } from './validate.ts';

/** Of a title in a message: the caller knows what it asked. */
const longestTitle = 160;

interface ApproveContext {
  readonly call: IncomingCall;
  readonly deps: CallDeps;
  readonly deadline: Deadline;
  /** Told when the wait for a person begins; what it returns is called when it is over. */
  onWaiting(): () => void;
}

export async function approve(classified: Classified, context: ApproveContext): Promise<Step<Approved>> {
  const { call, deps, deadline } = context;
  if (call.step !== undefined) return approvedStep(classified, call.step, deps, deadline.signal);
  const given = call.byHand?.requestId ?? call.onGrantOf;
  if (given !== undefined) return approvedBefore(await withCondition(classified, deps, deadline.signal), given, context);
  if (classified.decision.effect === 'allow') return goOn(classified);
  // Asked under a level that only stands in for one that cannot be read, an approval would fit nothing later.
  if (deps.settings.unavailable !== undefined) return refuse(policyUnavailable(deps.settings.unavailable));
  return ask(classified, context);
}

async function ask(classified: Classified, context: ApproveContext): Promise<Step<Approved>> {
  const { call, deps, deadline } = context;
  const [state, obstacle] = await Promise.all([
    withCondition(classified, deps, deadline.signal),
    findObstacle(classified, deps, deadline.signal),
  ]);
  const action = effectiveAction(state, call.agent, deps.settings.version, deps.workspacePlace);
  const digest = digestOf(action);
  const ran = await ranByHand(state, action, context);
  if (ran !== undefined) return refuse(ran);
  if (obstacle !== undefined) return refuse(obstacle);
  const opened = await deps.approvals.open(await draftOf(state, { action, digest }, context));
  if (!opened.ok) return refuse(notOpened(opened.why));
  // SECURITY: an answer to a report is no answer to a call, however the two came to share a record.
  if (opened.record.reported !== undefined) return refuse(notOpened('the record is a report'));
  const decided = opened.record.status === 'pending' ? await waitForPerson(opened.record, context) : opened.record;
  if (decided.status !== 'approved') return refuse(await answered(decided, context));
  return consume(state, decided, context);
}

/** A person has seen the request as it was asked: what would run now is that, or it does not run. No new question is opened. */
async function approvedBefore(state: Classified, id: string, context: ApproveContext): Promise<Step<Approved>> {
  const { call, deps } = context;
  const record = await deps.requests.get(id);
  if (record === undefined || record.reported !== undefined) return refuse(notOpened(`there is no call \`${id}\``));
  // The version of settings that could not be read is none that anybody set: an outage says nothing of the policy.
  if (deps.settings.unavailable !== undefined) return refuse(policyUnavailable(deps.settings.unavailable, record));
  if (record.status !== 'approved') return refuse(await answered(record, context));
  if (record.agent.id !== call.agent.id) return refuse(ofAnother(record));
  if (digestOf(effectiveAction(state, call.agent, deps.settings.version, deps.workspacePlace)) === record.digest)
    return consume(state, record, context);
  return refuseUnused(
    record,
    record.action.policyVersion === deps.settings.version ? targetChanged(record, state) : otherPolicy(record),
    context,
  );
}

async function draftOf(state: Classified, bound: Pick<RequestDraft, 'action' | 'digest'>, context: ApproveContext): Promise<RequestDraft> {
  const title = state.tool.headline(state.input, state.targets);
  const risk = await riskOf(state, context);
  const { reason, words } = state.decision;
  return {
    ...bound,
    tier: state.tier,
    impact: impactOf(state.tool, state.targets, state.input),
    title: english(title),
    risk: risk.map(english),
    code: state.decision.code,
    reason,
    words: { title, risk, ...(words === undefined ? {} : { reason: words }) },
    ...(state.claim === undefined ? {} : { claim: state.claim }),
    agent: agentOfDraft(context.call.agent),
  };
}

/** Promise 9: whether it can be taken back stands on the card before it is done. */
async function riskOf(state: Classified, context: ApproveContext): Promise<readonly Message[]> {
  const { tool, input, before } = state;
  const back = tool.inverse === undefined || before === undefined ? [] : [inverseWords(tool.inverse(input, before))];
  return [...(await previewOf(state, context)), ...back, ...(state.notices ?? [])];
}

async function previewOf(state: Classified, context: ApproveContext): Promise<readonly Message[]> {
  const own = ownPreview(state, context);
  return [...(await own), ...(await lossLines(state, context.deps, context.deadline.signal))];
}

async function ownPreview(state: Classified, context: ApproveContext): Promise<readonly Message[]> {
  if (state.tool.preview === undefined) return [];
  try {
    return await state.tool.preview(state.input, toolContext(state, context).context);
  } catch (thrown) {
    // The person is told that the facts are missing; the question itself stands.
    return [say`the blast radius could not be read: ${toFault(thrown).message}`];
  }
}

/** A person's time is not counted; the caller's cancel is. */
async function waitForPerson(
  request: RequestRecord,
  { call, deps, deadline, onWaiting: startedWaiting }: ApproveContext,
): Promise<RequestRecord> {
  if (call.waitMs <= 0) return request;
  const done = new AbortController();
  const over = startedWaiting();
  deadline.pause();
  try {
    const onWaiting = () => {
      call.gate?.ask(request, done.signal);
      call.onProgress?.(`waiting for a person: ${request.id}`);
    };
    return (await deps.approvals.waitForDecision(request.id, { timeoutMs: call.waitMs, signal: deadline.signal, onWaiting })) ?? request;
  } finally {
    done.abort();
    over();
    deadline.resume();
  }
}

/** Resolves again what is about to run: a guest may have moved while a person was thinking. */
async function consume(state: Classified, request: RequestRecord, context: ApproveContext): Promise<Step<Approved>> {
  const { call, deps: before, deadline } = context;
  const deps: CallDeps = { ...before, settings: await before.currentSettings() };
  if (deps.settings.unavailable !== undefined) return refuse(policyUnavailable(deps.settings.unavailable, request));
  const again = await passStages(decideTargets(state, call.agent, deps, deadline.signal));
  if (!again.ok) return again;
  const [current, obstacle] = await Promise.all([
    withCondition(again.state, deps, deadline.signal),
    findObstacle(again.state, deps, deadline.signal),
  ]);
  if (obstacle !== undefined) return refuseUnused(request, { ...obstacle, requestId: request.id }, context);
  const digest = digestOf(effectiveAction(current, call.agent, deps.settings.version, deps.workspacePlace));
  if (digest !== request.digest) {
    if (deps.settings.version !== before.settings.version) return refuse(policyChanged(request, before.settings, deps.settings));
    return refuseUnused(request, targetChanged(request, current), context);
  }
  deadline.signal.throwIfAborted();
  const by = call.byHand === undefined ? deps.consumer : `${deps.consumer}${byHandMark}${call.byHand.by}`;
  const consumed = await deps.approvals.consume(request.id, digest, by);
  if (!consumed.ok)
    return refuseUnused(request, { status: 'denied', code: consumed.why, message: consumed.message, requestId: request.id }, context);
  return goOn({ ...current, requestId: request.id });
}

/** Where another call used the approval meanwhile, what that one does is no reason to ask anew. */
async function refuseUnused({ id }: RequestRecord, refusal: Refusal, context: ApproveContext): Promise<Step<never>> {
  const now = await context.deps.requests.get(id).catch(() => undefined);
  return refuse(now?.status === 'consumed' ? await answered(now, context) : refusal);
}

/** Of an approval that its own agent's call finds used: what became of the call that used it. Of another agent's that is none of its business. */
async function answered(record: RequestRecord, { call, deps, deadline }: ApproveContext): Promise<Refusal> {
  const plain = undecided(record, deps.clock.now());
  if (record.status !== 'consumed' || record.agent.id !== call.agent.id) return plain;
  const look = () => lookUpRun(record, { ...deps, trail: deps.audit });
  try {
    let found = await look();
    // The one that was quicker has it, and writes down that it begins.
    for (let looks = 1; found.run.known === 'nothing' && looks < beginLooks; looks += 1) {
      await deps.clock.sleep(beginLookMs, deadline.signal);
      found = await look();
    }
    const { run, stands } = found;
    const words = runInWords(run, record, deps.clock.now(), stands);
    const next = `check_request_status with request_id ${record.id} says what comes of it; do not repeat the call`;
    return { ...plain, message: `${plain.message}: ${words}`, ...(run.known === 'outcome' ? {} : { next }) };
  } catch {
    // That it was used is known, whatever else cannot be read.
    return plain;
  }
}

/** How often a call is looked for that used an approval a moment ago, and how long apart, in ms. */
const beginLooks = 5;
const beginLookMs = 200;

function targetChanged({ id, action }: RequestRecord, { before }: Classified): Refusal {
  const unread = unreadSince(action.before, before);
  if (unread !== undefined)
    return {
      status: 'error',
      code: 'target_unread',
      message: `whether the target is still what was approved is not known (${unread}), so the approval of request ${id} was not used; nothing was done`,
      next: 'try this same call again in a few seconds; if it goes on, tell the user that the cluster does not answer',
      requestId: id,
    };
  const what = changedSince(action.before, before);
  return {
    status: 'denied',
    code: 'target_changed',
    message: `what was approved is no longer what would run: the target changed meanwhile${what === undefined ? '' : ` (${what})`}`,
    next: 'look at the target again, then call again: a person is asked anew',
    requestId: id,
  };
}

function ofAnother({ id }: RequestRecord): Refusal {
  return {
    status: 'denied',
    code: 'not_yours',
    message: `request ${id} was asked by another agent, and its approval is good for that one alone; nothing was done`,
    next: 'ask for it yourself: a person is asked anew',
    requestId: id,
  };
}

function otherPolicy({ id }: RequestRecord): Refusal {
  return {
    status: 'denied',
    code: 'policy_changed',
    message: `request ${id} was asked under another policy (security level, protected list, tiers, rules or version) than the one that counts here; nothing was done`,
    next: 'the agent can use the approval where it asked; or it asks again',
    requestId: id,
  };
}

/** The configuration of a running call does not change under it; the level in the store, and with it the version, can. */
function policyChanged(request: RequestRecord, before: PolicySettings, now: PolicySettings): Refusal {
  const { securityLevel: was } = before;
  const what = was === now.securityLevel ? 'the policy changed' : `the security level changed from ${was} to ${now.securityLevel}`;
  return {
    status: 'denied',
    code: 'policy_changed',
    message: `${what} while a person was deciding, so the approval is for another policy; nothing was done`,
    next: 'call again: a person is asked anew where that is still needed',
    requestId: request.id,
  };
}

/** Nothing is consumed: an approval that was given stays good for what is left of its five minutes. */
function policyUnavailable(why: string, request?: RequestRecord): Refusal {
  const kept = request === undefined ? 'so nobody was asked' : `so the approval of request ${request.id} was not used`;
  return {
    status: 'error',
    code: 'policy_unavailable',
    message: `the security level cannot be read now (${why}), ${kept}; nothing was done`,
    next: 'try this same call again in a few seconds; if it goes on, tell the user that the store cannot be read',
    ...(request === undefined ? {} : { requestId: request.id }),
  };
}

function notOpened(why: string): Refusal {
  if (why === 'too_many') {
    return {
      status: 'denied',
      code: 'too_many_pending',
      message: 'too many requests of this agent are waiting for a person already',
      next: 'wait until some are decided; do not ask for more',
    };
  }
  return { status: 'error', code: 'request_not_opened', message: `the request could not be opened: ${why}`, next: 'tell the user' };
}

function undecided(record: RequestRecord, now: number): Refusal {
  if (record.status === 'pending' && record.action.tool === applyHeldTool) {
    return {
      status: 'pending',
      code: 'approval_pending',
      message: `a person is asked for what is held: request ${record.id}`,
      next: `wait for the person: check_request_status with request_id ${record.id}; once it is approved it is applied, do not run the command again for it`,
      requestId: record.id,
    };
  }
  if (record.status === 'pending' && record.action.tool === applyPlanTool) {
    return {
      status: 'pending',
      code: 'approval_pending',
      message: `a person is asked for the whole plan: ${record.id}; nothing has been done yet`,
      next: `wait for the person: check_plan with plan_id ${record.id} and wait_seconds; once it is approved, run_plan with this plan_id begins it`,
      requestId: record.id,
    };
  }
  if (record.status === 'pending') {
    const why = record.code === 'confirmation_required' ? '' : ` (${record.reason})`;
    return {
      status: 'pending',
      code: 'approval_pending',
      message: `${showPlainly(record.title, longestTitle)}${why}: waiting for a person to approve request ${record.id}; nothing has been done yet`,
      next: `tell the user that it waits for them; call check_request_status with request_id ${record.id} and wait_seconds 50; once it is approved, repeat this same call; do not repeat it blindly before`,
      requestId: record.id,
    };
  }
  return { ...closedRefusal(record, now), requestId: record.id };
}

function closedRefusal(record: RequestRecord, now: number): Refusal {
  if (record.status === 'denied') {
    const words = record.decision?.message === undefined ? '' : `, saying: ${record.decision.message}`;
    return {
      status: 'denied',
      code: 'denied_by_person',
      message: `a person refused this call${words}`,
      next: 'do not try again or another way; ask the user',
    };
  }
  if (record.status === 'consumed') {
    return {
      status: 'denied',
      code: 'grant_used',
      message: `the approval of request ${record.id} has been used by another call`,
      next: 'do not repeat the call; look at what it changed',
    };
  }
  const why = record.status === 'expired' ? english(expiryInWords(record, now)) : 'nothing was done';
  return {
    status: 'denied',
    code: `request_${record.status}`,
    message: `request ${record.id} is ${record.status}: ${why}`,
    next: 'ask the user before calling again',
  };
}

// A call that a person has run by hand while its agent was away (`Approve and Run`): the agent's next word about it is answered with what
// came of that, once, instead of asking a person for the same thing again.

/** In `consumedBy`, between the process and the person. */
const byHandMark = ', by hand of ';

/** The agent may come back within an hour, as it may for an answer. */
const rememberedMs = 3_600_000;

interface Context {
  readonly call: IncomingCall;
  readonly deps: CallDeps;
  readonly deadline: Deadline;
}

/** undefined: nobody has, or the agent has been told. */
async function ranByHand(state: Classified, action: EffectiveAction, { call, deps }: Context): Promise<Refusal | undefined> {
  const record = await newestByHand(action, call, deps);
  if (record === undefined) return undefined;
  const run = runOf(await deps.audit.ofRequest(record.id, record.consumedAt ?? 0));
  if (run.told) return undefined;
  const now = deps.clock.now();
  const limit = limitOf(state.tool, call.input, deps.limits.callMs);
  const words = `request ${record.id}, this same call: ${runInWords(run, record, now)}`;
  if (run.known !== 'outcome' && now < (record.consumedAt ?? 0) + limit) {
    const next = `call check_request_status with request_id ${record.id}; do not repeat the call`;
    return { status: 'pending', code: 'running_by_hand', message: `${words} so far; nothing more was done`, next, requestId: record.id };
  }
  return {
    status: run.status === 'ok' ? 'ok' : 'error',
    code: alreadyRun,
    message: `${words}; it was not run again`,
    next: `check_request_status with request_id ${record.id} gives its result; the same call once more is a new call, and a person is asked anew`,
    requestId: record.id,
  };
}

async function newestByHand(
  action: EffectiveAction,
  { agent }: IncomingCall,
  { requests, clock }: CallDeps,
): Promise<RequestRecord | undefined> {
  // What cannot be looked up costs a person a second question at most.
  const { records } = await requests.list({ statuses: ['consumed'], limit: 50, search: agent.id }).catch(() => ({ records: [] }));
  // The digest names the agent, too. What ran changed the state that it was asked in.
  const digest = digestOf(sameCall(action));
  return records.find(
    (record) =>
      digestOf(sameCall(record.action)) === digest &&
      record.consumedBy?.includes(byHandMark) === true &&
      clock.now() - (record.consumedAt ?? 0) < rememberedMs,
  );
}
