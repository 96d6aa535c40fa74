/** What a handler gets. */

import type { CallApprovals } from '#approval/approvals';
import { digestOf } from '#approval/digest';
import type { Deadline } from '#execution/deadline';
import { type Agent, osUserOf } from '#kernel/agent';
import type { EffectiveAction, RequestDraft, RequestRecord } from '#kernel/approval/request';
import type { Decision } from '#kernel/decision';
import { Fault } from '#kernel/errors';
import { type KnownEffect, notSent } from '#kernel/known-effect';
import { isRecordOfUser, type ReadableRequests, requestsOfUser } from '#kernel/of-user';
import { applyPlanTool, type Plan } from '#kernel/plans/plan';
import type { Target } from '#kernel/resource';
import { english, say } from '#kernel/text/message';
import { showPlainly } from '#kernel/text/text';
import type { BlockReport, FollowUp, PlanDesk, ReportAnswer, SecurityView, Tool, ToolContext } from '#kernel/tool';
import { decideReport, formatDestination, type LiveRule } from '#policy/auto-approve';
import { parseDestination } from '#policy/destinations';
import { redactText } from '#redaction/redact';
import { agentOfDraft, lastingTarget } from './action.ts';
import type { CallDeps, IncomingCall } from './deps.ts';
import { limitsInWords } from './limits.ts';
import { redactionOf } from './record.ts';
import type { Approved, Classified, Resolved } from './stage.ts';

export interface HandlerContext {
  readonly context: ToolContext;
  /** What the handler last said is known of its effect. */
  effect(): KnownEffect;
  /** What it last said is to be asked for, however it ends. */
  asks(): FollowUp | undefined;
}

/** What a command prints comes in pieces that end in the middle of lines or behind them. */
function onOneLine(text: string): string {
  const lines = text.split(/[\r\n]+/).map((line) => line.trim());
  return lines.filter((line) => line !== '').join(' ');
}

export function toolContext(
  state: Resolved & Pick<Classified, 'before'> & Pick<Approved, 'requestId'>,
  { call, deps, deadline }: { readonly call: IncomingCall; readonly deps: CallDeps; readonly deadline: Deadline },
): HandlerContext {
  let effect: KnownEffect = notSent;
  let asks: FollowUp | undefined;
  const context: ToolContext = {
    agent: call.agent,
    signal: deadline.signal,
    targets: state.targets,
    ...(state.before === undefined ? {} : { before: state.before }),
    cluster: clusterOf(state.tool, state.cluster, deps),
    workspace: () => {
      if (deps.workspace === undefined)
        throw new Fault('no_workspace', 'there is no workspace', { next: 'open a folder, or set `workspace.root`' });
      return deps.workspace;
    },
    ...knownTo(call.agent, deps),
    ...(deps.attemptNow === undefined ? {} : { attemptNow: deps.attemptNow }),
    security: securityView(state, call, deps),
    plans: planDesk(state, { call, deps, deadline }),
    ...(state.requestId === undefined ? {} : { requestId: state.requestId }),
    clock: deps.clock,
    // Names from the cluster are in it, and some hosts print it to a terminal.
    progress: (message) => {
      const line = onOneLine(redactText(message, redactionOf(deps)));
      if (line !== '') call.onProgress?.(showPlainly(line));
    },
    noteEffect: (known, wanted) => {
      effect = known;
      asks = wanted;
    },
    leftMs: () => deadline.leftMs(),
  };
  return { context, effect: () => effect, asks: () => asks };
}

/** The cluster of a call, for its handler. */
export function clusterOf(tool: Tool, cluster: string | undefined, deps: CallDeps): ToolContext['cluster'] {
  return () => {
    const configured = deps.clusters.get(cluster ?? '');
    if (configured === undefined) throw new Fault('no_cluster', say`\`${tool.name}\` has no cluster`, { audience: 'bug' });
    return configured.access;
  };
}

function securityView(state: Resolved, call: IncomingCall, deps: CallDeps): SecurityView {
  const { settings, approvals } = deps;
  return {
    level: settings.securityLevel,
    limits: () => limitsInWords(call.agent, deps),
    sandbox: async () => (await deps.judge?.sandbox())?.state ?? deps.sandboxState(),
    report: async (block) => reportBlock(block, { tool: state.tool, agent: call.agent, rules: await settings.rules(), approvals }),
  };
}

/** SECURITY: of another user's plans not even that they are there. */
function planDesk(
  { cluster = '', requestId, tool, input, before = [] }: Resolved & Pick<Approved, 'requestId' | 'before'>,
  { call, deps, deadline }: { readonly call: IncomingCall; readonly deps: CallDeps; readonly deadline: Deadline },
): PlanDesk {
  const parts = () => {
    if (deps.plans === undefined) throw new Fault('no_plans', 'there are no plans here', { audience: 'bug' });
    return deps.plans;
  };
  const { requests } = knownTo(call.agent, deps);
  return {
    rehearse: (steps, more = {}) => parts().rehearse(steps, { call, cluster, signal: deadline.signal, ...more }),
    start: () => {
      // INVARIANT: only the tool that a plan's grant is consumed for, and only once it has been.
      if (requestId === undefined || tool.name !== applyPlanTool)
        throw new Fault('not_approved', 'no plan was approved', { audience: 'bug' });
      const policyVersion = deps.settings.version;
      parts().start({ requestId, plan: input as unknown as Plan, before, policyVersion, call });
    },
    progress: async (id) => ((await requests.get(id)) === undefined ? undefined : parts().progress(id)),
  };
}

/** SECURITY: where a service knows whose an agent is, it is told of that user's requests and records, and of no other's. */
function knownTo({ id }: Agent, { requests, audit }: CallDeps): Pick<ToolContext, 'requests' | 'trail'> {
  const user = osUserOf(id);
  if (user === undefined) return { requests: withoutPatterns(requests), trail: audit };
  const own = requestsOfUser(requests, user);
  return {
    requests: withoutPatterns(own),
    trail: {
      head: () => audit.head(),
      read: async (after, limit) => (await audit.read(after, limit)).filter((record) => isRecordOfUser(record, user)),
      ofRequest: async (request, since) => ((await own.get(request)) === undefined ? [] : audit.ofRequest(request, since)),
    },
  };
}

/** SECURITY: what a detector matched is for people; a handler cannot hand out what it does not get. */
function withoutPatterns(requests: ReadableRequests): ToolContext['requests'] {
  return {
    get: async (id) => withoutPattern(await requests.get(id)),
    list: async (query) => {
      const page = await requests.list(query);
      return { ...page, records: page.records.map((record) => withoutPattern(record)) };
    },
    countPending: () => requests.countPending(),
    countApproved: () => requests.countApproved(),
  };
}

function withoutPattern<R extends RequestRecord | undefined>(record: R): R {
  if (record?.reported === undefined) return record;
  const { pattern: _people, ...reported } = record.reported;
  return { ...record, reported };
}

// A block that an agent reports becomes a request that people can settle, and that no call can ever consume.

/** Stands where a call's action has its policy version: the same report stays the same whatever the policy, and is no call's action. */
const reportVersion = 'report-1';

interface ReportContext {
  /** `report_block` itself: its headline is the question. */
  readonly tool: Tool;
  readonly agent: Agent;
  readonly rules: readonly LiveRule[];
  readonly approvals: Pick<CallApprovals, 'open'>;
}

async function reportBlock(block: BlockReport, context: ReportContext): Promise<ReportAnswer> {
  const parsed = parseDestination(block.destination);
  if (parsed === undefined) return { kind: 'refused', why: 'invalid_destination' };
  const destination = formatDestination(parsed);
  const decision = decideReport(block.reason, parsed, context.rules);
  if (decision.effect !== 'ask')
    return { kind: decision.effect === 'allow' ? 'allowed' : 'blocked', destination, rule: decision.rules[0] ?? decision.code };
  const opened = await context.approvals.open(draftOf({ ...block, destination }, decision, context));
  if (opened.ok) return { kind: 'opened', record: opened.record, destination };
  const { why } = opened;
  return { kind: 'refused', why: why === 'id_taken' || why === 'too_many' ? why : 'not_opened' };
}

const settles = say`Approving settles this report. It allows no tool call.`;

function draftOf(block: BlockReport, why: Decision, { tool, agent }: ReportContext): RequestDraft {
  const { requestId, reason, destination, pattern } = block;
  const target: Target = { kind: 'destination', access: 'read', host: destination };
  // SECURITY: without the pattern. The action is what agents' tools, digests and cards are made from.
  const shown = { request_id: requestId, reason, destination };
  const title = tool.headline(shown, [target]);
  const action: EffectiveAction = {
    tool: tool.name,
    arguments: shown,
    targets: [lastingTarget(target)],
    agentId: agent.id,
    cluster: null,
    policyVersion: reportVersion,
  };
  return {
    action,
    digest: digestOf(action),
    tier: tool.tier,
    impact: tool.impact,
    title: english(title),
    risk: [english(settles)],
    code: reason,
    reason: why.reason,
    words: { title, risk: [settles], ...(why.words === undefined ? {} : { reason: why.words }) },
    agent: agentOfDraft(agent),
    reported: { reason, destination, ...(pattern === undefined ? {} : { pattern }) },
    reportId: requestId,
  };
}
