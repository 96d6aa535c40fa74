import { describe, expect, it } from 'vitest';
import { resultBudget } from '#identity/permissions';
import { createStanding, errorTolerance, successesToRestore } from '#identity/standing';
import type { Agent, AgentHost } from '#kernel/agent';
import type { ModelTier } from '#kernel/tiers';

const agentOf = (modelTier: ModelTier, id = 'mcp:laptop', host: AgentHost = 'mcp'): Agent => ({ id, host, modelTier });
const failed = { status: 'error', code: 'invalid_input' } as const;
const fine = { status: 'ok', code: 'ok' } as const;

function bench(agent: Agent) {
  const standing = createStanding();
  const times = (count: number, outcome: Parameters<typeof standing.note>[1]) =>
    Array.from({ length: count }, () => standing.note(standing.effective(agent), outcome)).filter((change) => change !== undefined);
  return { standing, times, tier: () => standing.effective(agent).modelTier };
}

describe('repeated errors', () => {
  it('are tolerated 1, 3 and 5 times', () => {
    expect(errorTolerance).toEqual({ basic: 1, intermediate: 3, advanced: 5 });
  });

  it('lower an advanced agent with the fifth, and again with the third after that, and no further', () => {
    const { times, tier } = bench(agentOf('advanced'));
    expect(times(4, failed)).toEqual([]);
    expect(tier()).toBe('advanced');
    expect(times(1, failed)).toMatchObject([{ agentId: 'mcp:laptop', from: 'advanced', to: 'intermediate', classified: 'advanced' }]);
    expect(times(2, failed)).toEqual([]);
    expect(times(1, failed)).toMatchObject([{ from: 'intermediate', to: 'basic', classified: 'advanced' }]);
    expect(times(20, failed)).toEqual([]);
    expect(tier()).toBe('basic');
  });

  it('say how to get it back', () => {
    expect(bench(agentOf('intermediate')).times(3, failed)[0]?.reason).toBe(
      "after 3 failed calls this agent's model tier is basic instead of intermediate; 10 calls in a row that succeed give it back",
    );
  });

  it('are outweighed by as many successes', () => {
    const { times, tier } = bench(agentOf('intermediate'));
    for (let round = 0; round < 50; round += 1) expect([...times(1, failed), ...times(1, fine)]).toEqual([]);
    expect(tier()).toBe('intermediate');
  });

  it('of one agent are not another’s', () => {
    const { standing, times } = bench(agentOf('intermediate'));
    times(3, failed);
    expect(standing.effective(agentOf('intermediate', 'mcp:other')).modelTier).toBe('intermediate');
  });

  it.each([
    ['a refusal', { status: 'denied', code: 'denied_by_person' }],
    ['a question', { status: 'pending', code: 'approval_pending' }],
    ['a program’s own exit code', { status: 'error', code: 'command_failed' }],
    ['a program without the network', { status: 'error', code: 'network_needed' }],
    ['a repository that somebody changed meanwhile', { status: 'error', code: 'not_applied' }],
    ['a full disk', { status: 'error', code: 'disk_full' }],
    ['a workspace that is too large to be seen yet', { status: 'error', code: 'workspace_not_seen' }],
    ['a task that failed', { status: 'error', code: 'task_failed' }],
    ['a cluster that is away', { status: 'error', code: 'pve_unreachable' }],
    ['a node that is away', { status: 'error', code: 'ssh_timeout' }],
    ['a store that is away', { status: 'error', code: 'store_unavailable' }],
    ['the time limit', { status: 'error', code: 'timeout' }],
    ['the caller’s cancel', { status: 'error', code: 'cancelled' }],
    ['our own bug', { status: 'error', code: 'internal_error' }],
  ] as const)('do not count: %s', (_what, outcome) => {
    const { times, tier } = bench(agentOf('advanced'));
    expect(times(50, outcome)).toEqual([]);
    expect(tier()).toBe('advanced');
  });

  it.each(['invalid_input', 'unknown_tool', 'FILE_NOT_FOUND', 'BAD_PATTERN', 'REDACTED_CONTENT', 'LINE_OUT_OF_RANGE'])(
    'count: %s',
    (code) => {
      expect(bench(agentOf('intermediate')).times(3, { status: 'error', code })).toHaveLength(1);
    },
  );

  it('of a person at the palette count for nothing', () => {
    expect(bench(agentOf('advanced', 'user:ann', 'palette')).times(50, failed)).toEqual([]);
  });
});

describe('steady success', () => {
  it('gives back a step for every ten calls in a row, up to the model’s own tier', () => {
    const { standing, times, tier } = bench(agentOf('advanced'));
    times(8, failed);
    expect(tier()).toBe('basic');
    expect(standing.lowered()).toEqual([{ agentId: 'mcp:laptop', steps: 2 }]);
    expect(times(successesToRestore - 1, fine)).toEqual([]);
    expect(times(1, fine)).toMatchObject([{ from: 'basic', to: 'intermediate' }]);
    expect(times(successesToRestore, fine)).toMatchObject([{ from: 'intermediate', to: 'advanced' }]);
    expect(times(50, fine)).toEqual([]);
    expect(tier()).toBe('advanced');
    expect(standing.lowered()).toEqual([]);
  });

  it('must be in a row', () => {
    const { times, tier } = bench(agentOf('intermediate'));
    times(3, failed);
    for (let round = 0; round < 5; round += 1) {
      times(successesToRestore - 1, fine);
      times(1, failed);
    }
    expect(tier()).toBe('basic');
  });
});

describe('the tier that counts', () => {
  it('names the model’s own beside it while it is lowered', () => {
    const { standing, times } = bench(agentOf('intermediate'));
    expect(standing.effective(agentOf('intermediate'))).not.toHaveProperty('classifiedTier');
    times(3, failed);
    expect(standing.effective(agentOf('intermediate'))).toMatchObject({ modelTier: 'basic', classifiedTier: 'intermediate' });
    expect(standing.effective(standing.effective(agentOf('intermediate')))).toMatchObject({
      modelTier: 'basic',
      classifiedTier: 'intermediate',
    });
  });

  it('is remembered for the last thousand agents that failed', () => {
    const standing = createStanding();
    const lowered = agentOf('intermediate', 'mcp:first');
    for (let count = 0; count < 3; count += 1) standing.note(lowered, failed);
    for (let index = 0; index < 1_500; index += 1) standing.note(agentOf('advanced', `mcp:${index}`), failed);
    expect(standing.effective(lowered).modelTier).toBe('basic');
    expect(standing.lowered()).toHaveLength(1);
  });
});

describe('the room for a result', () => {
  it.each([
    ['basic', 'mcp', 32_000],
    ['intermediate', 'mcp', 128_000],
    ['advanced', 'mcp', 512_000],
    ['basic', 'cli', 32_000],
    ['advanced', 'chat', 8_000],
    ['basic', 'chat', 8_000],
  ] as const)('of a %s model at %s is %d characters', (tier, host, characters) => {
    expect(resultBudget({ id: 'x', host, modelTier: tier })).toBe(characters);
  });

  it('does not shrink with the standing', () => {
    expect(resultBudget({ id: 'x', host: 'mcp', modelTier: 'basic', classifiedTier: 'advanced' })).toBe(512_000);
  });
});
