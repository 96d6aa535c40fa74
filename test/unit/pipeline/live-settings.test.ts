import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { AutoApproveAction } from '#kernel/approval/security';
import type { Decision } from '#kernel/decision';
import { ask } from '#kernel/decision';
import { asIs } from '#kernel/text/message';
import type { SecurityLevel } from '#kernel/tiers';
import type { WorkspaceJudge } from '#pipeline/deps';
import { liveRule } from '../policy/live-rules.ts';
import { createBench, demoProtection, settingsOf } from './support/bench.ts';
import { createProbe } from './support/probe-tool.ts';

type Bench = Awaited<ReturnType<typeof createBench>>;
const restart = { node: 'pve', service: 'nginx' };

function setLevel(bench: Bench, securityLevel: SecurityLevel): void {
  bench.state.settings = { ...settingsOf({ protected: demoProtection, securityLevel }), rules: bench.state.settings.rules };
}
function setRules(bench: Bench, ...rules: readonly (readonly [string, AutoApproveAction])[]): void {
  bench.state.settings = { ...bench.state.settings, rules: async () => rules.map(([text, action]) => liveRule(text, action)) };
}
const rulesOf = async (bench: Bench) => (await bench.trail.last())?.attributes['rules'];

describe('the level at this moment', () => {
  it('counts from one call to the next', async () => {
    const bench = await createBench();
    expect(await bench.call('wake_node', { node: 'pve' })).toMatchObject({ status: 'ok' });
    setLevel(bench, 'strict');
    expect(await bench.call('wake_node', { node: 'pve' })).toMatchObject({ status: 'pending' });
    setLevel(bench, 'relaxed');
    expect(await bench.call('wake_node', { node: 'pve' })).toMatchObject({ status: 'ok' });
    expect(await bench.call('stop_vm', { vmid: 100 })).toMatchObject({ status: 'pending' });
    expect(await bench.call('stop_vm', { vmid: 103 })).toMatchObject({ status: 'denied', code: 'protected_resource' });
  });

  it('is in the records’ policy version, and an approval under another is worth nothing', async () => {
    const bench = await createBench();
    const { request_id: id = '' } = await bench.call('stop_vm', { vmid: 100 });
    const before = (await bench.trail.last())?.attributes['policy_version'];
    await bench.approvals.approve(id, bench.alice.signer);
    setLevel(bench, 'strict');
    const again = await bench.call('stop_vm', { vmid: 100 });
    expect(again).toMatchObject({ status: 'pending' });
    expect(again.request_id).not.toBe(id);
    expect((await bench.trail.last())?.attributes['policy_version']).not.toBe(before);
  });

  it('changed while the person was thinking: nothing runs, and the reason is said', async () => {
    const bench = await createBench();
    const outcome = await bench.call(
      'stop_vm',
      { vmid: 100 },
      {
        waitMs: 60_000,
        gate: {
          ask: (request) => {
            setLevel(bench, 'strict');
            void bench.approvals.approve(request.id, bench.alice.signer);
          },
        },
      },
    );
    expect(outcome).toMatchObject({ status: 'denied', code: 'policy_changed' });
    expect(outcome.message).toContain('the security level changed from balanced to strict while');
    expect(bench.cluster.effects.filter((effect) => effect.startsWith('changeGuest'))).toEqual([]);
  });

  it('that cannot be read when an approval is to be used leaves the approval unused, and says that nobody changed anything', async () => {
    const bench = await createBench();
    const readable = bench.state.settings;
    const outcome = await bench.call(
      'stop_vm',
      { vmid: 100 },
      {
        waitMs: 60_000,
        gate: {
          ask: (request) => {
            setLevel(bench, 'strict');
            bench.state.settings = { ...bench.state.settings, unavailable: 'the server cannot be reached' };
            void bench.approvals.approve(request.id, bench.alice.signer);
          },
        },
      },
    );
    expect(outcome).toMatchObject({ status: 'error', code: 'policy_unavailable', request_id: expect.any(String) });
    expect(outcome.message).toContain('the server cannot be reached');
    expect(outcome.message).not.toContain('changed');
    expect(outcome.next).toContain('try this same call again');
    bench.state.settings = readable;
    expect(await bench.call('stop_vm', { vmid: 100 })).toMatchObject({ status: 'ok', request_id: outcome.request_id });
  });

  it('that cannot be read asks nobody: the approval would fit nothing afterwards; reads go on', async () => {
    const bench = await createBench();
    bench.state.settings = { ...bench.state.settings, unavailable: 'the server cannot be reached' };
    expect(await bench.call('stop_vm', { vmid: 100 })).toMatchObject({ status: 'error', code: 'policy_unavailable' });
    expect(await bench.approvals.countPending()).toBe(0);
    expect(await bench.call('get_vms')).toMatchObject({ status: 'ok' });
  });

  it('that cannot be had ends the call as a refusal, with a record that conceals what is to be concealed', async () => {
    const bench = await createBench({ deps: { settings: () => Promise.reject(new Error('no settings')) } });
    expect(await bench.call('wake_node', { node: 'pve' })).toMatchObject({ status: 'error', code: 'internal_error' });
    await bench.call('report_block', { request_id: 'req-00000000', reason: 'url_blocked', destination: 'a.b', pattern: 'the-pattern' });
    expect(JSON.stringify(await bench.trail.all())).not.toContain('the-pattern');
    expect(bench.cluster.effects).toEqual(['tool.finished', 'tool.finished']);
  });
});

describe('a rule', () => {
  it('lifts the ask of level strict, and is named in the record', async () => {
    const bench = await createBench();
    setLevel(bench, 'strict');
    setRules(bench, ['tool:wake_node:pve', 'allow']);
    expect(await bench.call('wake_node', { node: 'pve' })).toMatchObject({ status: 'ok' });
    expect(await rulesOf(bench)).toEqual(['auto-approve:tool:wake_node:pve', 'tier:yellow', 'level:strict']);
    expect(await bench.call('wake_node', { node: 'Home' })).toMatchObject({ status: 'pending' });
  });

  it('blocks, and asks, where nothing else would', async () => {
    const bench = await createBench();
    setRules(bench, ['tool:restart_service', 'block'], ['tool:wake_node', 'prompt']);
    expect(await bench.call('restart_service', restart)).toMatchObject({ status: 'denied', code: 'blocked_by_rule' });
    expect(await rulesOf(bench)).toEqual(['auto-approve:tool:restart_service']);
    const asked = await bench.call('wake_node', { node: 'pve' });
    expect(asked).toMatchObject({ status: 'pending' });
    await bench.approvals.approve(asked.request_id ?? '', bench.alice.signer);
    expect(await bench.call('wake_node', { node: 'pve' })).toMatchObject({ status: 'ok', request_id: asked.request_id });
  });

  it('set while the person was thinking blocks what they approved', async () => {
    const bench = await createBench();
    setLevel(bench, 'strict');
    const outcome = await bench.call(
      'wake_node',
      { node: 'pve' },
      {
        waitMs: 60_000,
        gate: {
          ask: (request) => {
            setRules(bench, ['tool:wake_node', 'block']);
            void bench.approvals.approve(request.id, bench.alice.signer);
          },
        },
      },
    );
    expect(outcome).toMatchObject({ status: 'denied', code: 'blocked_by_rule' });
    expect(bench.cluster.effects.filter((effect) => effect.startsWith('wake'))).toEqual([]);
  });

  it('lifts nothing that configuration made red, nor what is protected', async () => {
    const bench = await createBench({ config: { protected: demoProtection, tiers: { restart_service: 'red' } } });
    setRules(bench, ['tool:restart_service', 'allow'], ['tool:execute_ssh', 'allow']);
    expect(await bench.call('restart_service', restart)).toMatchObject({ status: 'pending' });
    expect(await bench.call('restart_service', { node: 'agent1', service: 'docker' })).toMatchObject({ code: 'protected_resource' });
    expect(await bench.call('execute_ssh', { node: 'agent1', command: 'uptime' })).toMatchObject({ code: 'protected_resource' });
    expect(await bench.call('execute_ssh', { node: 'pve', command: 'rm -rf /' })).toMatchObject({ code: 'COMMAND_BLOCKED' });
  });
});

describe('a run that needs the network', () => {
  const needs = ask('network_blocked', asIs('this run is to have the network'), ['workspace.network']);
  const judge = (decision: Decision, state: 'enforced' | 'unavailable' = 'enforced'): WorkspaceJudge => ({
    decideCommand: async () => decision,
    decidePath: async () => expect.fail('no path'),
    held: async () => undefined,
    sandbox: async () => ({ state, reason: 'as told' }),
  });
  /** Explained only: what a run would be decided, with nothing run. */
  const decide = async (bench: Bench, command = 'npm ci') => {
    const { explainCall } = await import('#pipeline/explain-call');
    const agent = { id: 'mcp:a', host: 'mcp', modelTier: 'advanced' } as const;
    const call = { tool: 'run_command', input: { command, network: true }, agent };
    return (await explainCall(call, bench.deps, new AbortController().signal)).decision;
  };

  it.each([
    ['relaxed', 'allow'],
    ['balanced', 'ask'],
    ['strict', 'deny'],
  ] as const)('at level %s: %s', async (level, effect) => {
    const bench = await createBench({ deps: { judge: judge(needs) } });
    setLevel(bench, level);
    expect((await decide(bench)).effect).toBe(effect);
  });

  it('at level relaxed with anything else open still asks', async () => {
    const bench = await createBench({ deps: { judge: judge({ ...needs, rules: [...needs.rules, 'user.mine'] }) } });
    setLevel(bench, 'relaxed');
    expect(await decide(bench)).toMatchObject({ effect: 'ask', code: 'network_blocked' });
  });

  it('is let by a rule for the very command, and by no other', async () => {
    const bench = await createBench({ deps: { judge: judge(needs) } });
    setRules(bench, ['tool:run_command:npm *', 'allow'], ['tool:run_command', 'allow']);
    expect((await decide(bench)).effect).toBe('ask');
    setRules(bench, ['tool:run_command:npm ci', 'allow']);
    expect(await decide(bench)).toMatchObject({ effect: 'allow' });
    expect((await decide(bench, 'npm ci --x')).effect).toBe('ask');
    setLevel(bench, 'strict');
    expect((await decide(bench)).effect).toBe('deny');
  });

  it('outside an enforced sandbox is asked about whatever the rules say', async () => {
    const bench = await createBench({ deps: { judge: judge(needs, 'unavailable') } });
    setRules(bench, ['tool:run_command:npm ci', 'allow']);
    expect(await decide(bench)).toMatchObject({ effect: 'ask', code: 'sandbox_not_enforced' });
    setLevel(bench, 'relaxed');
    expect(await decide(bench)).toMatchObject({ effect: 'ask', code: 'sandbox_not_enforced' });
  });
});

describe('in an untrusted workspace', () => {
  it('only what is green runs; the refusal is written down', async () => {
    const bench = await createBench();
    const restrict = { restrict: 'green_only' } as const;
    expect(await bench.call('get_vms', {}, restrict)).toMatchObject({ status: 'ok' });
    for (const [tool, input] of [
      ['wake_node', { node: 'pve' }],
      ['stop_vm', { vmid: 100 }],
      ['reboot_node', { node: 'pve' }],
    ] as const) {
      const outcome = await bench.call(tool, input, restrict);
      expect(outcome, tool).toMatchObject({ status: 'denied', code: 'untrusted_workspace', next: expect.stringContaining('trust') });
      expect(await bench.trail.last()).toMatchObject({
        name: 'tool.denied',
        attributes: { code: 'untrusted_workspace', rules: ['workspace:untrusted'], 'gen_ai.tool.name': tool },
      });
    }
    expect(bench.cluster.effects.filter((effect) => /wake|change/.test(effect))).toEqual([]);
    expect(await bench.approvals.countPending()).toBe(0);
  });

  it('a tool that configuration made stricter is not green', async () => {
    const bench = await createBench({ config: { tiers: { get_vms: 'yellow' } } });
    expect(await bench.call('get_vms', {}, { restrict: 'green_only' })).toMatchObject({ code: 'untrusted_workspace' });
  });
});

describe('a person’s time', () => {
  it.each([
    ['is over when they answer', (bench: Bench, id: string) => void bench.approvals.deny(id, 'user:alice')],
    ['ends with a caller that gives up', (_bench: Bench, _id: string, caller: AbortController) => caller.abort()],
  ])('%s, is no part of the call, and makes nothing slow', async (_name, end) => {
    const probe = createProbe({ tier: 'red' });
    const bench = await createBench({ tools: [probe.tool] });
    const caller = new AbortController();
    const real = performance.now.bind(performance);
    let thought = 0;
    const now = vi.spyOn(performance, 'now').mockImplementation(() => real() + thought);
    onTestFinished(() => now.mockRestore());
    await bench.call(
      'probe_tool',
      {},
      {
        waitMs: 60_000,
        signal: caller.signal,
        gate: {
          ask: (request) => {
            thought = 3_600_000;
            end(bench, request.id, caller);
          },
        },
      },
    );
    expect((await bench.trail.last())?.attributes['duration_ms']).toBeLessThan(3_600_000);
    expect(bench.lines.filter((line) => line.includes('slow:'))).toEqual([]);
  });
});
