/** The pipeline with a cluster in memory, the real approval core and the real store in a folder of the test's own. */

import { catalog } from '#app/catalog';
import { parseConfig } from '#app/config/config';
import { policySettings } from '#app/config/policy-settings';
import { describeAction } from '#app/people/run-approved';
import { createApprovals } from '#approval/approvals';
import type { Agent } from '#kernel/agent';
import type { ApproverKey } from '#kernel/approval/answer';
import type { AuditDraft, AuditRecord } from '#kernel/audit-event';
import type { Outcome } from '#kernel/outcome';
import type { AuditLog } from '#kernel/ports/audit-log';
import type { Log } from '#kernel/ports/log';
import type { Tool } from '#kernel/tool';
import type { ConfiguredCluster, IncomingCall, PipelineDeps, PolicySettings } from '#pipeline/deps';
import { runCall } from '#pipeline/run-call';
import { createApprover, createFakeClock, openTestStore } from '../../../integration/stores/store-fixtures.ts';
import { createFakeCluster } from './fake-cluster.ts';

export const agent: Agent = { id: 'mcp:laptop', host: 'mcp', modelTier: 'advanced', model: 'some-model', label: 'Laptop' };

export const demoProtection = { nodes: ['agent1'], guests: [103], services: ['docker'], addresses: ['192.168.1.61', '192.168.1.65'] };

/** Settings as the configuration file would give them. */
export function settingsOf(config: object = { protected: demoProtection }): PolicySettings {
  return policySettings(parseConfig(config, 'test'), '0.0.0-test');
}

export interface BenchOptions {
  readonly tools?: readonly Tool[];
  readonly config?: object;
  readonly deps?: Partial<PipelineDeps>;
  readonly aliases?: ConfiguredCluster['aliases'];
}

export async function createBench(options: BenchOptions = {}) {
  const clock = createFakeClock();
  const store = await openTestStore({ clock });
  const alice = createApprover('user:alice');
  const pinned: ApproverKey[] = [alice.pinned];
  const approvals = createApprovals({
    requests: store.requests,
    audit: store.audit,
    clock,
    via: 'editor',
    trustedKeys: async () => pinned,
    // The catalog knows nothing of a test's own tools.
    ...(options.tools === undefined ? { describe: describeAction } : {}),
  });
  const cluster = createFakeCluster();
  const lines: string[] = [];
  const trail = createTrail(store.audit, cluster.effects);
  const state = { settings: settingsOf(options.config) };
  const deps: PipelineDeps = {
    tools: options.tools ?? catalog,
    clusters: new Map([['lab', { access: cluster.access, aliases: options.aliases ?? new Map() }]]),
    settings: async () => state.settings,
    approvals,
    consumer: 'test pid 1',
    requests: store.requests,
    audit: trail.audit,
    noteRead: async (draft) => {
      await (options.deps?.audit ?? trail.audit).append(draft);
    },
    clock,
    log: logTo(lines),
    limits: { callMs: 60_000, slowMs: 10_000 },
    knownSecrets: () => [],
    sandboxState: () => 'unavailable',
    ...options.deps,
  };
  return { ...parts(deps), state, clock, store, alice, pinned, approvals, cluster, lines, trail, deps };
}

function parts(deps: PipelineDeps) {
  const call = (tool: string, input: unknown = {}, more: Partial<IncomingCall> = {}): Promise<Outcome> =>
    runCall({ tool, input, agent, signal: new AbortController().signal, waitMs: 0, ...more }, deps);
  return { call };
}

/** The real trail, which can be made to fail, and which notes its appends among the cluster's effects. */
function createTrail(real: AuditLog, order: string[]) {
  const state: { failOn: ((draft: AuditDraft) => boolean) | undefined } = { failOn: undefined };
  const audit: AuditLog = {
    append: async (draft): Promise<AuditRecord> => {
      if (state.failOn?.(draft)) throw new Error('disk full');
      const record = await real.append(draft);
      order.push(draft.name);
      return record;
    },
    appendAll: async (drafts) => {
      for (const draft of drafts) await audit.append(draft);
    },
    read: (after, limit) => real.read(after, limit),
    ofRequest: (requestId, since) => real.ofRequest(requestId, since),
    changesSince: (since, upTo) => real.changesSince(since, upTo),
    attempts: () => real.attempts(),
    endAttempt: (draft) => real.endAttempt(draft),
    head: () => real.head(),
  };
  return {
    audit,
    fail: (when: (draft: AuditDraft) => boolean) => {
      state.failOn = when;
    },
    names: async () => (await real.read(0, 1_000)).map((record) => record.name),
    last: async () => (await real.read(0, 1_000)).at(-1),
    all: () => real.read(0, 1_000),
  };
}

function logTo(lines: string[]): Log {
  return {
    debug: (line) => void lines.push(`debug ${line}`),
    info: (line) => void lines.push(`info ${line}`),
    warn: (line) => void lines.push(`warn ${line}`),
    error: (line) => void lines.push(`error ${line}`),
  };
}
