/** Requests, grants and approvers for tests; needs no test runner, so child processes use it, too. */
import { digestOf } from '#approval/digest';
import { grantPayload } from '#approval/grant';
import { generateApproverKey, signerFrom } from '#approval/keys';
import { signPayload } from '#approval/signed';
import type { Agent } from '#kernel/agent';
import type { ApproverKey, Signer } from '#kernel/approval/answer';
import {
  type EffectiveAction,
  type Grant,
  type RequestDecision,
  type RequestDraft,
  type RequestRecord,
  type RequestStatus,
  requestStatuses,
} from '#kernel/approval/request';
import type { AutoApproveAction, LevelPayload, ReportedBlock, ResumePayload, RulePayload, SignedSetting } from '#kernel/approval/security';
import type { RequestStore, TransitionResult } from '#kernel/ports/request-store';
import type { Store } from '#kernel/ports/store';
import type { SecurityLevel } from '#kernel/tiers';
import { requestMoves } from '#stores/transition';

/** Where each status leads. */
export const requestTransitions = Object.fromEntries(
  requestStatuses.map((from) => [
    from,
    Object.values(requestMoves)
      .filter((move) => move.from.includes(from))
      .map(({ to }) => to),
  ]),
) as unknown as Readonly<Record<RequestStatus, readonly RequestStatus[]>>;

export const mcpAgent: Agent = { id: 'mcp:laptop', host: 'mcp', modelTier: 'advanced', model: 'some-model', label: 'Laptop' };

export function stopAction(vmid = 100, agentId = mcpAgent.id): EffectiveAction {
  return {
    tool: 'stop_vm',
    arguments: { vmid },
    targets: [
      { kind: 'guest', access: 'operate', cluster: 'lab', vmid, node: 'pve', guestType: 'qemu', name: `web${vmid}`, addresses: [] },
    ],
    agentId,
    cluster: 'lab',
    policyVersion: '1',
  };
}

/** A draft whose digest is right, whatever is changed. */
export function draftOf(changes: Partial<Omit<RequestDraft, 'digest'>> = {}): RequestDraft {
  const { modelTier: _, ...agent } = mcpAgent;
  const action = changes.action ?? stopAction(100, changes.agent?.id);
  return {
    action,
    digest: digestOf(action),
    tier: 'red',
    impact: 'disruptive',
    title: `Stop VM ${action.arguments.vmid} (web${action.arguments.vmid}) on pve`,
    risk: ['It has been up for 3 days.'],
    code: 'red_needs_person',
    reason: 'a red action needs a person',
    claim: 'the disk is full',
    agent,
    ...changes,
  };
}

/** A draft by another agent, or for another guest. */
export function draftBy(agentId: string, vmid = 100): RequestDraft {
  return draftOf({ agent: { id: agentId, host: 'mcp' }, action: stopAction(vmid, agentId) });
}

export interface Approver {
  readonly signer: Signer;
  readonly pinned: ApproverKey;
}

export function createApprover(name = 'user:alice'): Approver {
  const pair = generateApproverKey();
  return { signer: signerFrom(pair.privateKey, name), pinned: { name, key: pair.publicKey } };
}

export function decisionBy(by = 'user:alice', at = 0): RequestDecision {
  return { by, via: 'editor', at };
}

/** @param store its identity: the store that consumes it looks at that */
export async function grantFor(
  request: Pick<RequestRecord, 'id' | 'digest' | 'expiresAt'>,
  { signer, pinned }: Approver,
  now: number,
  store = 'any store',
): Promise<Grant> {
  const draft = { request, decision: 'approve', approver: signer.approver, pin: pinned, store, now, waits: false } as const;
  return signPayload(grantPayload(draft), signer);
}

/** As `acceptGrant` stores one that is enough. */
export async function storeApproval(
  requests: Pick<RequestStore, 'approve'>,
  id: string,
  given: Grant | Promise<Grant>,
  decision: RequestDecision = decisionBy(),
): Promise<TransitionResult> {
  const grant = await given;
  return requests.approve(id, grant, { decision, seen: 0, until: grant.payload.expiresAt });
}

/** Opens a request that must be accepted. */
export async function opened(store: Store, draft = draftOf()): Promise<RequestRecord> {
  const result = await store.requests.open(draft);
  if (!result.ok) throw new Error(`not opened: ${result.why}`);
  return result.record;
}

export async function approved(store: Store, approver: Approver, now: number, draft = draftOf()): Promise<RequestRecord> {
  const record = await opened(store, draft);
  const result = await storeApproval(
    store.requests,
    record.id,
    grantFor(record, approver, now, await store.requests.identity()),
    decisionBy(approver.signer.approver, now),
  );
  if (!result.ok) throw new Error(`not approved: ${result.why}`);
  return result.record;
}

/** A block that an agent reports under an id of its own choice. */
export function reportBy(agentId: string, reportId: string, changes: Partial<ReportedBlock> = {}): RequestDraft {
  const reported: ReportedBlock = {
    reason: 'credential_detected',
    destination: 'blocked.example',
    pattern: 'AKIA[0-9A-Z]{16}',
    ...changes,
  };
  const action: EffectiveAction = {
    tool: 'report_block',
    arguments: { request_id: reportId, reason: reported.reason, destination: reported.destination },
    targets: [],
    agentId,
    cluster: null,
    policyVersion: '1',
  };
  return {
    ...draftOf({ agent: { id: agentId, host: 'mcp' }, action, title: 'Reported block', tier: 'green', impact: 'none' }),
    reported,
    reportId,
  };
}

/** Stores check a setting's form, whoever reads it the signature: these are not signed by anybody. */
const unsigned = { proof: { kind: 'ed25519', keyId: 'a2V5', signature: 'c2lnbmF0dXJl' } } as const;

export function levelSetting(level: SecurityLevel, issuedAt: number, approver = 'user:alice'): SignedSetting<LevelPayload> {
  return { payload: { version: 1, setting: 'security_level', level, approver, issuedAt }, ...unsigned };
}

export function resumeSetting(pausedAt: number, approver = 'user:alice'): SignedSetting<ResumePayload> {
  return { payload: { version: 1, setting: 'agents_resumed', approver, issuedAt: pausedAt, nonce: 'once', pausedAt }, ...unsigned };
}

export function ruleSetting(
  pattern: string,
  action: AutoApproveAction,
  issuedAt: number,
  { by = 'user:alice', lifeMs = 3_600_000 }: { readonly by?: string; readonly lifeMs?: number } = {},
): SignedSetting<RulePayload> {
  const payload = { version: 1, setting: 'auto_approve', pattern, action, approver: by, issuedAt, expiresAt: issuedAt + lifeMs } as const;
  return { payload, ...unsigned };
}
