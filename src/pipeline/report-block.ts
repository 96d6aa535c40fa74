/** A block that an agent reports becomes a request that people can settle, and that no call can ever spend. */
import { digestOf } from '#approval/digest';
import type { Agent } from '#kernel/agent';
import type { BlockReport, ReportAnswer } from '#kernel/ports/security-view';
import type { EffectiveAction, RequestDraft } from '#kernel/request';
import type { Target } from '#kernel/resource';
import type { Tool } from '#kernel/tool';
import { formatDestination, type LiveRule } from '#policy/auto-approve';
import { decideReport } from '#policy/decide-report';
import { parseDestination } from '#policy/destinations';
import { agentOfDraft, lastingTarget } from './action.ts';
import type { CallApprovals } from './deps.ts';

/** Stands where a call's action has its policy version: the same report stays the same whatever the policy, and is no call's action. */
const reportVersion = 'report-1';

export interface ReportContext {
  /** `report_block` itself: its headline is the question. */
  readonly tool: Tool;
  readonly agent: Agent;
  readonly rules: readonly LiveRule[];
  readonly approvals: Pick<CallApprovals, 'open'>;
}

export async function reportBlock(block: BlockReport, context: ReportContext): Promise<ReportAnswer> {
  const parsed = parseDestination(block.destination);
  if (parsed === undefined) return { kind: 'refused', why: 'invalid_destination' };
  const destination = formatDestination(parsed);
  const decision = decideReport(block.reason, parsed, context.rules);
  if (decision.effect !== 'ask')
    return { kind: decision.effect === 'allow' ? 'allowed' : 'blocked', destination, rule: decision.rules[0] ?? decision.code };
  const opened = await context.approvals.open(draftOf({ ...block, destination }, decision.reason, context));
  if (opened.ok) return { kind: 'opened', record: opened.record, destination };
  const { why } = opened;
  return { kind: 'refused', why: why === 'id_taken' || why === 'too_many' ? why : 'not_opened' };
}

function draftOf(block: BlockReport, why: string, { tool, agent }: ReportContext): RequestDraft {
  const { requestId, reason, destination, pattern } = block;
  const target: Target = { kind: 'destination', access: 'read', host: destination };
  // SECURITY: without the pattern. The action is what agents' tools, digests and cards are made from.
  const shown = { request_id: requestId, reason, destination };
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
    title: tool.headline(shown, [target]),
    risk: ['Approving settles this report. It allows no tool call.'],
    code: reason,
    reason: why,
    agent: agentOfDraft(agent),
    reported: { reason, destination, ...(pattern === undefined ? {} : { pattern }) },
    reportId: requestId,
  };
}
