/** What the tests of approvals and stores share: a folder, a clock that only moves when told, requests and approvers. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { digestOf } from '#approval/digest';
import { grantPayload, signGrant } from '#approval/grant';
import { generateApproverKey, signerFrom } from '#approval/keys';
import { seal } from '#audit/seal';
import type { ApproverKey, Signer } from '#kernel/answer';
import type { Agent } from '#kernel/agent';
import type { Clock } from '#kernel/ports/clock';
import type { Store } from '#kernel/ports/store';
import type { EffectiveAction, RequestDecision, RequestDraft, RequestRecord, SignedGrant } from '#kernel/request';
import { openSqliteStore, type SqliteStoreOptions } from '#stores/sqlite/open-sqlite-store';

/** A folder of the test's own, gone when the test is. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'banksman-store-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface FakeClock extends Clock {
  advance(ms: number): void;
  /** Resolves once somebody sleeps; how a test knows that a wait has begun. */
  sleeping(): Promise<void>;
}

export function createFakeClock(start = 1_800_000_000_000): FakeClock {
  let time = start;
  const sleepers = new Set<{ readonly at: number; wake(): void }>();
  let onSleep = (): void => {};
  return {
    now: () => time,
    advance: (ms) => {
      time += ms;
      for (const sleeper of [...sleepers]) if (sleeper.at <= time) sleeper.wake();
    },
    sleeping: () => {
      if (sleepers.size > 0) return Promise.resolve();
      return new Promise((resolve) => {
        onSleep = resolve;
      });
    },
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const sleeper = { at: time + ms, wake: () => finish(resolve) };
        const abort = (): void => finish(() => reject(signal.reason));
        const finish = (how: () => void): void => {
          sleepers.delete(sleeper);
          signal.removeEventListener('abort', abort);
          how();
        };
        sleepers.add(sleeper);
        signal.addEventListener('abort', abort);
        onSleep();
      }),
  };
}

export async function openTestStore(options: Partial<SqliteStoreOptions> = {}): Promise<Store> {
  const store = await openSqliteStore({ file: join(temporaryFolder(), 'state', 'banksman.db'), seal, ...options });
  onTestFinished(() => store.close());
  return store;
}

export const mcpAgent: Agent = { id: 'mcp:laptop', host: 'mcp', modelTier: 'advanced', model: 'some-model', label: 'Laptop' };

export function stopAction(vmid = 100, agentId = mcpAgent.id): EffectiveAction {
  return {
    tool: 'stop_vm',
    arguments: { vmid },
    targets: [{ kind: 'guest', access: 'operate', cluster: 'lab', vmid, node: 'pve', guestType: 'qemu', name: `web${vmid}`, addresses: [] }],
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

export function grantFor(record: Pick<RequestRecord, 'id' | 'digest'>, approver: Approver, now: number): Promise<SignedGrant> {
  return signGrant(grantPayload(record, approver.signer.approver, now), approver.signer);
}

/** Opens a request that must be accepted. */
export async function opened(store: Store, draft = draftOf()): Promise<RequestRecord> {
  const result = await store.requests.open(draft);
  if (!result.ok) throw new Error(`not opened: ${result.why}`);
  return result.record;
}

export async function approved(store: Store, approver: Approver, now: number, draft = draftOf()): Promise<RequestRecord> {
  const record = await opened(store, draft);
  const result = await store.requests.approve(record.id, await grantFor(record, approver, now), decisionBy(approver.signer.approver, now));
  if (!result.ok) throw new Error(`not approved: ${result.why}`);
  return result.record;
}
