import { describe, expect, it } from 'vitest';
import { Fault } from '#kernel/errors';
import { securityLevels } from '#kernel/tiers';
import { agent, createBench, demoProtection } from './support/bench.ts';
import { createProbe } from './support/probe-tool.ts';

const stop = { vmid: 100 };

describe('a call that only looks', () => {
  it('runs, and its one record and its one line follow', async () => {
    const { call, trail, lines } = await createBench();
    const outcome = await call('get_vms');
    expect(outcome).toMatchObject({ status: 'ok', code: 'ok', message: '3 VMs, 3 running', result: { total: 3 } });
    expect(await trail.names()).toEqual(['tool.finished']);
    expect(lines).toEqual([expect.stringMatching(/^info OK: get_vms \(green\) \[\d+ms\]$/)]);
    expect((await trail.last())?.attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'get_vms',
      source: 'llm',
      agent: { id: 'mcp:laptop', host: 'mcp', model_tier: 'advanced', model: 'some-model', label: 'Laptop' },
      tier: 'green',
      rules: ['tier:green'],
      status: 'ok',
      sandbox: 'unavailable',
    });
  });

  it.each(securityLevels)('runs at level %s', async (securityLevel) => {
    const { call } = await createBench({ config: { securityLevel } });
    expect(await call('get_node_status', { node: 'pve' })).toMatchObject({ status: 'ok' });
  });

  it('may look at what is protected, unless reads are protected, too', async () => {
    const { call, cluster } = await createBench();
    expect(await call('get_node_status', { node: 'agent1' })).toMatchObject({ status: 'ok' });
    expect(cluster.calls).toContain('nodeStatus agent1');
    const strict = await createBench({ config: { protected: { ...demoProtection, protectReads: true } } });
    expect(await strict.call('get_node_status', { node: 'agent1' })).toMatchObject({ status: 'denied', code: 'protected_resource' });
    expect(strict.cluster.calls).toEqual([]);
  });
});

describe('a yellow call', () => {
  it('is written down before it happens', async () => {
    const { call, cluster } = await createBench();
    expect(await call('execute_ssh', { node: 'pve', command: ' uptime ' })).toMatchObject({ status: 'ok', result: { command: 'uptime' } });
    expect(cluster.effects).toEqual(['tool.started', 'exec pve uptime', 'tool.finished']);
  });

  it('asks at level strict, and runs once approved', async () => {
    const bench = await createBench({ config: { securityLevel: 'strict' } });
    const asked = await bench.call('wake_node', { node: 'pve' });
    expect(asked).toMatchObject({ status: 'pending', code: 'approval_pending' });
    expect(bench.cluster.effects).toEqual(['tool.finished']);
    await bench.approvals.approve(asked.request_id ?? '', bench.alice.signer);
    expect(await bench.call('wake_node', { node: 'pve' })).toMatchObject({ status: 'ok' });
    expect(bench.cluster.effects.filter((effect) => effect === 'wake pve')).toHaveLength(1);
  });

  it('runs what was checked, not what was written', async () => {
    const { call, cluster } = await createBench();
    await call('execute_ssh', { node: 'pve', command: '  df    -h ' });
    expect(cluster.effects).toContain('exec pve df -h');
    expect(await call('execute_ssh', { node: 'pve', command: 'df -h; reboot' })).toMatchObject({
      status: 'denied',
      code: 'COMMAND_BLOCKED',
    });
    expect(cluster.effects.filter((effect) => effect.startsWith('exec'))).toHaveLength(1);
  });
});

describe('a configured tier', () => {
  it('makes a green tool ask or never run', async () => {
    const red = await createBench({ config: { tiers: { get_vms: 'red' } } });
    expect(await red.call('get_vms')).toMatchObject({ status: 'pending' });
    const black = await createBench({ config: { tiers: { get_vms: 'black' } } });
    expect(await black.call('get_vms')).toMatchObject({ status: 'denied', code: 'black_tier' });
    expect(black.cluster.calls).toEqual([]);
  });

  it('cannot make a red tool run', async () => {
    const { call, cluster } = await createBench({ config: { tiers: { stop_vm: 'green' } } });
    expect(await call('stop_vm', stop)).toMatchObject({ status: 'pending' });
    expect(cluster.effects).toEqual(['tool.finished']);
  });
});

describe('refusals', () => {
  it('an unknown tool is answered with near names and recorded', async () => {
    const { call, trail, lines } = await createBench();
    const outcome = await call('stop_virtual_vm\u202e\n');
    expect(outcome).toMatchObject({ status: 'error', code: 'unknown_tool', message: expect.stringContaining('`stop_vm`') });
    expect((await trail.last())?.attributes).toMatchObject({ 'gen_ai.tool.name': 'stop_virtual_vm\\u{202e}\\n' });
    expect(lines).toEqual([expect.stringMatching(/^warn FAILED: stop_virtual_vm\\u\{202e\}\\n \(unknown\)/)]);
    expect(await call('__proto__')).toMatchObject({ code: 'unknown_tool' });
  });

  it('a model tier that is too low stops before the cluster is asked anything', async () => {
    const { call, cluster, trail } = await createBench();
    const outcome = await call('stop_vm', stop, { agent: { ...agent, modelTier: 'basic' } });
    expect(outcome).toMatchObject({
      status: 'denied',
      code: 'model_tier_too_low',
      message: expect.stringContaining('starts at model tier intermediate'),
    });
    expect(cluster.calls).toEqual([]);
    expect((await trail.last())?.attributes).toMatchObject({ rules: ['permission:cluster:operate'], status: 'denied' });
    expect(await trail.names()).toEqual(['tool.denied']);
  });

  it('`confirmed` is no argument; who can confirm is said', async () => {
    const { call, cluster } = await createBench();
    const outcome = await call('stop_vm', { ...stop, confirmed: true });
    expect(outcome).toMatchObject({
      status: 'error',
      code: 'invalid_input',
      message: expect.stringContaining('Only a person can confirm'),
    });
    expect(await call('stop_vm', { ...stop, overrideActive: true })).toMatchObject({ status: 'error', code: 'invalid_input' });
    expect(cluster.calls).toEqual([]);
  });

  it('black is refused at every level, with its target found or not', async () => {
    for (const securityLevel of securityLevels) {
      const { call, cluster } = await createBench({ config: { securityLevel } });
      expect(await call('reboot_node', { node: 'pve' })).toMatchObject({ status: 'denied', code: 'black_tier' });
      expect(await call('reboot_node', { node: 'nope' })).toMatchObject({ status: 'denied', code: 'black_tier' });
      cluster.down = new Fault('pve_unreachable', 'no route', { retryable: true });
      expect(await call('reboot_node', { node: 'pve' })).toMatchObject({ status: 'denied', code: 'black_tier' });
      expect(cluster.effects.filter((effect) => !effect.startsWith('tool.'))).toEqual([]);
    }
  });

  it('what reboots a node or stops a guest by another name is refused, too', async () => {
    const { call, cluster } = await createBench();
    const units = ['reboot.target', 'systemd-reboot', 'poweroff.target', '100.scope', 'pve-container@200', 'pve-guests', 'qemu.slice'];
    for (const service of units) expect(await call('restart_service', { node: 'pve', service })).toMatchObject({ status: 'denied' });
    expect(cluster.effects.filter((effect) => effect.startsWith('exec'))).toEqual([]);
  });
});

describe('faults on the way', () => {
  it('a cluster that is down refuses, and says whether to try again', async () => {
    const { call, cluster } = await createBench();
    cluster.down = new Fault('pve_unreachable', 'no route to 10.0.0.1', { retryable: true });
    expect(await call('stop_vm', stop)).toMatchObject({ status: 'error', code: 'pve_unreachable', next: 'try again later' });
    expect(cluster.effects).toEqual(['tool.finished']);
  });

  it('what a handler throws is one line without a stack', async () => {
    const probe = createProbe({}, () => {
      throw new TypeError('x is not a function\n    at secret (/home/ann/file.ts:1:1)');
    });
    const { call, lines } = await createBench({ tools: [probe.tool] });
    const outcome = await call('probe_tool');
    expect(outcome).toMatchObject({ status: 'error', code: 'internal_error', message: 'internal error: x is not a function' });
    expect(JSON.stringify(outcome) + lines.join('')).not.toMatch(/home|at secret/);
  });

  it('even what has no text is an outcome', async () => {
    const probe = createProbe({ tier: 'yellow' }, () => {
      throw Object.create(null);
    });
    const { call, trail } = await createBench({ tools: [probe.tool] });
    expect(await call('probe_tool')).toMatchObject({ status: 'error', code: 'internal_error' });
    expect(await trail.names()).toEqual(['tool.started', 'tool.finished']);
  });

  it('an expected failure keeps its code, result and next step', async () => {
    const probe = createProbe({}, () => ({ ok: false, code: 'task_failed', message: 'no', result: { a: 1 }, next: 'look' }));
    const { call } = await createBench({ tools: [probe.tool] });
    expect(await call('probe_tool')).toEqual({ status: 'error', code: 'task_failed', message: 'no', result: { a: 1 }, next: 'look' });
  });

  it('a slow call gets a warning of its own', async () => {
    const probe = createProbe();
    const { call, lines } = await createBench({ tools: [probe.tool], deps: { limits: { callMs: 60_000, slowMs: -1 } } });
    await call('probe_tool');
    expect(lines).toEqual([expect.stringMatching(/^info OK/), expect.stringMatching(/^warn slow: probe_tool took \d+ms$/)]);
  });
});

describe('input that is hard to write down', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = cyclic;
  const deep: unknown = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`);
  const nested: unknown = JSON.parse(`${'['.repeat(40)}${']'.repeat(40)}`);
  it.each<[string, unknown, unknown]>([
    ['a cycle', cyclic, { unreadable: expect.any(String) }],
    ['20,000 levels', { value: deep }, expect.objectContaining({})],
    ['40 levels', { value: nested }, { truncated: expect.stringContaining('[[['), bytes: expect.any(Number) }],
    ['a bigint', { value: 10n }, { value: '10' }],
    ['lone surrogates', { '\ud800': '\udfff' }, { '\ufffd': '\ufffd' }],
    ['a function', () => 1, { unreadable: expect.any(String) }],
    ['a list', [1, 'x'], [1, 'x']],
    ['text', 'x', 'x'],
    ['an own __proto__', JSON.parse('{"__proto__":{"polluted":1}}'), JSON.parse('{"__proto__":{"polluted":1}}')],
    ['a megabyte', { value: 5, more: 'x'.repeat(60_000) }, { truncated: expect.any(String), bytes: expect.any(Number) }],
  ])('%s is refused and recorded all the same', async (_what, input, recorded) => {
    const probe = createProbe();
    const { call, trail } = await createBench({ tools: [probe.tool] });
    expect(await call('probe_tool', input)).toMatchObject({ status: 'error', code: 'invalid_input' });
    expect(probe.runs).toEqual([]);
    expect((await trail.last())?.attributes['gen_ai.tool.call.arguments']).toEqual(recorded);
  });
});
