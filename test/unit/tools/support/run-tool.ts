/** A handler by itself, on a cluster in memory and with resolved targets: what it does when the pipeline lets it. */
import { expect } from 'vitest';
import { catalog } from '#app/catalog';
import type { KnownEffect } from '#kernel/known-effect';
import type { Target } from '#kernel/resource';
import type { ToolContext, ToolResult } from '#kernel/tool';
import { createFakeClock, type FakeClock } from '../../../integration/stores/store-fixtures.ts';
import { createFakeCluster, type FakeCluster } from '../../pipeline/support/fake-cluster.ts';

export interface ToolBench {
  readonly cluster: FakeCluster;
  readonly clock: FakeClock;
  readonly progress: string[];
  /** What the handler said is known of its effect, in order. */
  readonly noted: KnownEffect[];
  /** What is left of the call's time; a test may change it. */
  readonly left: { ms: number };
  run(name: string, input?: object, targets?: readonly Target[]): Promise<ToolResult>;
}

export const target = {
  node: (node: string, online = true): Target => ({ kind: 'node', access: 'operate', cluster: 'lab', node, online, addresses: [] }),
  service: (node: string, service: string): Target => ({ kind: 'service', access: 'operate', cluster: 'lab', node, service }),
  guest: (vmid: number, node: string, guestType: 'qemu' | 'lxc' = 'qemu'): Target => ({
    kind: 'guest',
    access: 'operate',
    cluster: 'lab',
    vmid,
    node,
    guestType,
    name: 'web',
    addresses: [],
  }),
  command: (text: string): Target => ({ kind: 'command', access: 'operate', surface: 'ssh', text }),
};

export type ToolBenchParts = Partial<Pick<ToolContext, 'trail' | 'security' | 'agent'>>;

export function createToolBench(requests: Partial<ToolContext['requests']> = {}, parts: ToolBenchParts = {}): ToolBench {
  const cluster = createFakeCluster();
  const clock = createFakeClock();
  const progress: string[] = [];
  const noted: KnownEffect[] = [];
  const left = { ms: 60_000 };
  const run = async (name: string, input: object = {}, targets: readonly Target[] = []) => {
    const tool = catalog.find((entry) => entry.name === name) ?? expect.fail(`no tool ${name}`);
    const context: ToolContext = {
      agent: { id: 'mcp:laptop', host: 'mcp', modelTier: 'advanced' },
      signal: new AbortController().signal,
      targets,
      cluster: () => cluster.access,
      workspace: () => expect.fail('no workspace'),
      requests: {
        get: async () => undefined,
        list: async () => ({ records: [] }),
        countPending: async () => 0,
        countApproved: async () => 0,
        ...requests,
      },
      trail: { read: async () => [], ofRequest: async () => [], head: async () => undefined },
      security: { level: 'balanced', limits: async () => [], sandbox: async () => 'enforced', report: () => expect.fail('no report') },
      plans: { rehearse: () => expect.fail('no plan'), start: () => expect.fail('no plan'), progress: async () => undefined },
      clock,
      progress: (message) => void progress.push(message),
      noteEffect: (effect) => void noted.push(effect),
      leftMs: () => left.ms,
      ...parts,
    };
    return tool.run(tool.input.parse(input), context);
  };
  return { cluster, clock, progress, noted, left, run };
}
