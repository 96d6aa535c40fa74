import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { catalog } from '#app/catalog';
import { lowestTierWith } from '#identity/permissions';
import { allow, ask, type Decision, deny } from '#kernel/decision';
import { Fault } from '#kernel/errors';
import type { Target } from '#kernel/resource';
import { asIs } from '#kernel/text/message';
import { modelTiers } from '#kernel/tiers';
import type { Tool } from '#kernel/tool';
import { effectiveAction, lastingTarget } from '#pipeline/action';
import { authorize, classify } from '#pipeline/decide-call';
import type { WorkspaceJudge } from '#pipeline/deps';
import { explainCall } from '#pipeline/explain-call';
import { type Resolved, refuseBy } from '#pipeline/stage';
import { findTool, validate } from '#pipeline/validate';
import { agent, createBench, settingsOf } from './support/bench.ts';
import { createProbe } from './support/probe-tool.ts';

function toolNamed(name: string): Tool {
  const found = catalog.find((tool) => tool.name === name);
  if (found === undefined) throw new Error(`no tool ${name}`);
  return found;
}
function messageOf(tool: string, input: unknown): string {
  const step = validate(toolNamed(tool), input, agent);
  if (step.ok) throw new Error('was accepted');
  return step.refusal.message;
}

describe('identify', () => {
  it('finds a tool by its very name', () => {
    expect(findTool('stop_vm', catalog)).toMatchObject({ ok: true, state: { name: 'stop_vm' } });
    for (const name of ['Stop_vm', 'stop_vm ', '', 'constructor', 'banksman_stop_vm']) expect(findTool(name, catalog).ok).toBe(false);
  });

  it('names a few that are near, or none', () => {
    const near = findTool('stop the vm', catalog);
    expect(near.ok || near.refusal.message).toMatch(/did you mean `start_vm`, `stop_vm`/);
    const singular = findTool('get_vm', catalog);
    expect(singular.ok || singular.refusal.message).toMatch(/did you mean `get_vms`, /);
    const far = findTool(`x${'y'.repeat(5_000)}`, catalog);
    expect(far.ok || far.refusal.message.length).toBeLessThan(200);
    expect(far.ok || far.refusal.message).not.toContain('did you mean');
  });
});

describe('validate', () => {
  it('answers an unknown argument with the allowed ones', () => {
    expect(messageOf('stop_vm', { vmid: 100, force_it: 1, x: 2 })).toMatch(
      /^unknown argument `force_it`, `x`; `stop_vm` takes `vmid`, `node`, `cluster`, `reason`\. Only a person can confirm/,
    );
    expect(messageOf('get_cluster_status', { x: 1 })).toBe('unknown argument `x`; `get_cluster_status` takes `cluster`');
    const { tool } = createProbe({ input: z.strictObject({}) });
    const none = validate(tool, { x: 1 }, agent);
    expect(none.ok || none.refusal.message).toBe('unknown argument `x`; `probe_tool` takes no arguments');
  });

  it.each([
    'confirmed',
    'confirm',
    'CONFIRMED',
    'isConfirmed',
    'approved',
    'force',
    'override',
    'authorized',
    'bypass_policy',
    'sudo',
    'grant',
  ])('says who can confirm when asked to by `%s`', (key) => {
    expect(messageOf('stop_vm', { vmid: 100, [key]: true })).toContain('Only a person can confirm a call');
  });

  it.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'])('refuses the key `%s` by name', (key) => {
    const input: unknown = JSON.parse(`{"vmid":100,"${key}":{"vmid":103}}`);
    expect(messageOf('stop_vm', input)).toContain(`unknown argument \`${key}\``);
  });

  it.each([[[]], ['x'], [5], [true]])('takes no %j for arguments', (input) => {
    expect(messageOf('stop_vm', input)).toMatch(/^`input`: /);
  });

  it('names the argument and what is wrong with it, a few at a time', () => {
    expect(messageOf('restart_service', { node: 'pve', service: '--now' })).toBe(
      '`service`: must be a plain systemd unit name such as `nginx` or `nginx.service`, found `"--now"`',
    );
    expect(messageOf('restart_service', {}).split('; ')).toHaveLength(2);
  });

  it.each([
    ['get_node_status', { node: '' }, '`node`: must not be empty, found `""`'],
    ['get_node_status', {}, '`node`: missing, must be text'],
    ['get_node_status', { node: 5 }, '`node`: must be text, found `5`'],
    ['get_node_status', { node: 'x'.repeat(256) }, '`node`: must have at most 255 characters, found text of 256 characters'],
    ['get_node_status', { node: ['pve'] }, '`node`: must be text, found a list of 1'],
    ['stop_vm', { vmid: 'abc' }, '`vmid`: must be a number, found `"abc"`'],
    ['stop_vm', { vmid: 99 }, '`vmid`: must be from 100 to 999999999, found `99`'],
    ['stop_vm', { vmid: { $ne: 1 } }, '`vmid`: must be a number, found an object'],
    ['get_vms', { limit: '5' }, '`limit`: must be a number, found `"5"`'],
    ['get_vms', { limit: 2.5 }, '`limit`: must be a whole number, found `2.5`'],
    ['get_cluster_resources', { type: 'disk' }, '`type`: must be one of `vm`, `container`, `storage`, `node`, `sdn`, found `"disk"`'],
    ['list_directory', { path: '.', recursive: 'yes' }, '`recursive`: must be true or false, found `"yes"`'],
    ['write_file', { path: 'a', content: 5 }, '`content`: must be text, found `5`'],
    ['stop_vm', 'vmid=100', '`input`: must be an object, found `"vmid=100"`'],
  ])('%s of %j: says which argument, what is allowed and what was found', (tool, input, message) => {
    expect(messageOf(tool, input)).toBe(message);
  });

  it('shows nothing of an argument that is concealed', () => {
    const message = messageOf('report_block', { request_id: 5, reason: 'url_blocked', destination: 'a.example', pattern: ['secret'] });
    expect(message.split('; ')).toEqual(['`request_id`: must be text, found `5`', '`pattern`: must be text']);
  });

  it('sets the agent’s claim apart, takes defaults in, and leaves no undefined', () => {
    const stop = validate(toolNamed('stop_vm'), { vmid: '100', reason: ' why ', node: undefined }, agent);
    expect(stop).toMatchObject({ ok: true, state: { input: { vmid: 100 }, claim: 'why' } });
    expect(stop.ok && Object.keys(stop.state.input)).toEqual(['vmid']);
    const silent = validate(toolNamed('stop_vm'), { vmid: 100, reason: '' }, agent);
    expect(silent.ok && silent.state).not.toHaveProperty('claim');
    expect(validate(toolNamed('get_recent_tasks'), null, agent)).toMatchObject({ ok: true, state: { input: { limit: 20 } } });
  });
});

describe('authorize', () => {
  it.each(catalog.map((tool) => [tool.name, tool] as const))('%s: by the permission it declares', (_name, tool) => {
    const effects = modelTiers.map((modelTier) => authorize(tool, { ...agent, modelTier }).effect);
    const allowed = { basic: 3, intermediate: 2, advanced: 1 }[lowestTierWith(tool.permission)];
    expect(effects).toEqual([...Array<string>(3 - allowed).fill('deny'), ...Array<string>(allowed).fill('allow')]);
    expect(authorize(tool, { ...agent, modelTier: 'advanced' })).toMatchObject({
      effect: 'allow',
      rules: [`permission:${tool.permission}`],
    });
  });
});

describe('classify', () => {
  const resolved = (tool: Tool, targets: readonly Target[]): Resolved => ({
    tool,
    input: {},
    resources: [],
    tier: tool.tier,
    cluster: 'lab',
    targets,
  });
  const command = (text: string): Target => ({ kind: 'command', access: 'operate', surface: 'ssh', text });
  const service = (name: string): Target => ({ kind: 'service', access: 'operate', cluster: 'lab', node: 'pve', service: name });

  const decide = async (tool: Tool, targets: readonly Target[], changes: Partial<Parameters<typeof classify>[2]> = {}) =>
    classify(resolved(tool, targets), agent, { settings: settingsOf({}), ...changes });
  const judge = (decision: Decision, sandbox = 'enforced'): WorkspaceJudge => ({
    decideCommand: async () => decision,
    decidePath: async () => ({ decision, real: 'real/path' }),
    held: async () => undefined,
    sandbox: async () => ({ state: sandbox === 'enforced' ? 'enforced' : 'unavailable', reason: 'bwrap is missing' }),
  });
  const shell: Target = { kind: 'command', access: 'operate', surface: 'workspace_command', text: 'npm test' };
  const file: Target = { kind: 'path', access: 'read', path: 'a' };

  it('takes the strictest of the tier and every target’s own policy', async () => {
    const ssh = toolNamed('execute_ssh');
    expect((await decide(ssh, [command('uptime')])).decision).toMatchObject({ effect: 'allow', code: 'yellow_logged' });
    expect((await decide(ssh, [command('rm x')])).decision).toMatchObject({ effect: 'deny', code: 'COMMAND_BLOCKED' });
    expect((await decide(ssh, [command('uptime'), command('rm x')])).decision.effect).toBe('deny');
    const strict = { settings: settingsOf({ securityLevel: 'strict' }) };
    expect((await decide(ssh, [command('uptime')], strict)).decision.effect).toBe('ask');
    expect((await decide(ssh, [service('reboot.target')])).decision).toMatchObject({ effect: 'deny', code: 'unit_not_a_service' });
    const black = await classify(resolved({ ...ssh, tier: 'black' }, [command('uptime')]), agent, { settings: settingsOf({}) });
    expect(black.decision).toMatchObject({ effect: 'deny', code: 'black_tier' });
  });

  it('replaces a command by its canonical text, and leaves a refused one as it is', async () => {
    const { targets } = await decide(toolNamed('execute_ssh'), [command('df    -h'), command('rm   x'), service('x.service')]);
    expect(targets).toEqual([command('df -h'), command('rm   x'), service('x.service')]);
  });

  it('without a workspace, commands and paths in it are refused', async () => {
    for (const target of [shell, file]) {
      expect((await decide(toolNamed('run_command'), [target])).decision).toMatchObject({ effect: 'deny', code: 'no_workspace' });
    }
  });

  it('a command runs where the sandbox holds, asks where it does not, and is refused where it must', async () => {
    const tool = toolNamed('run_command');
    const fine = allow('allowed', 'ordinary work');
    const held = await decide(tool, [shell], { judge: judge(fine) });
    expect(held).toMatchObject({ decision: { effect: 'allow' }, targets: [shell] });
    expect(held.targets[0]).not.toHaveProperty('unsandboxed');
    const open = await decide(tool, [shell], { judge: judge(fine, 'unavailable') });
    expect(open).toMatchObject({ decision: { effect: 'ask', code: 'sandbox_not_enforced' }, targets: [{ unsandboxed: true }] });
    const settings = { ...settingsOf({}), requireSandbox: true };
    const required = await decide(tool, [shell], { judge: judge(fine, 'unavailable'), settings });
    expect(required.decision).toMatchObject({ effect: 'deny', code: 'sandbox_required' });
    const refused = await decide(tool, [shell], { judge: judge(deny('COMMAND_BLOCKED', 'no'), 'unavailable') });
    expect(refused.decision.effect).toBe('deny');
  });

  it('what the judge is told of is the call’s own target, its wish for the network included', async () => {
    const told: unknown[] = [];
    const wish: Target = { ...shell, network: true };
    const asking = judge(ask('network_blocked', asIs('the network'), ['workspace.network']));
    const decideCommand: WorkspaceJudge['decideCommand'] = (target) => {
      told.push(target);
      return asking.decideCommand(target);
    };
    const listening: WorkspaceJudge = { ...asking, decideCommand };
    const asked = await decide(toolNamed('run_command'), [wish], { judge: listening });
    expect(asked).toMatchObject({ decision: { effect: 'ask', code: 'network_blocked' }, targets: [{ network: true }] });
    expect(told).toEqual([wish]);
  });

  it('a path becomes what it is, and is marked where a person has to agree', async () => {
    const tool = toolNamed('read_file');
    const fine = await decide(tool, [file], { judge: judge(allow('allowed', 'inside')) });
    expect(fine).toMatchObject({ decision: { effect: 'allow' }, targets: [{ ...file, real: 'real/path' }] });
    expect(fine.targets[0]).not.toHaveProperty('agreed');
    const secret = await decide(tool, [file], { judge: judge(ask('SECRET_FILE', asIs('a secret'))) });
    expect(secret).toMatchObject({ decision: { effect: 'ask', code: 'SECRET_FILE' }, targets: [{ agreed: true }] });
  });
});

describe('the words of a refusal', () => {
  it.each([
    ['execute_ssh', { node: 'pve', command: 'reboot' }, /write it as the message says/],
    ['execute_ssh', { node: 'pve', command: 'df $(id)' }, /write it as the message says/],
  ])('%s %j: what to do instead', async (tool, input, next) => {
    const bench = await createBench();
    const outcome = await bench.call(tool, input);
    expect(outcome).toMatchObject({ status: 'denied', code: 'COMMAND_BLOCKED', next: expect.stringMatching(next) });
    expect(outcome.next).not.toMatch(/another way/);
  });

  it('says why it waits, and never the whole command back', async () => {
    const command = `cat > f <<'E'\n${'x'.repeat(100_000)}\nE`;
    const judge: WorkspaceJudge = {
      decideCommand: async () => ask('network_blocked', asIs('this run is to have the network'), ['workspace.network']),
      decidePath: async () => expect.fail('no path'),
      held: async () => undefined,
      sandbox: async () => ({ state: 'enforced', reason: 'as told' }),
    };
    const bench = await createBench({ deps: { judge } });
    const caller = { ...agent, modelTier: 'advanced' } as const;
    const outcome = await bench.call('run_command', { command, network: true }, { agent: caller });
    expect(outcome).toMatchObject({
      code: 'approval_pending',
      message: expect.stringContaining('(this run is to have the network): waiting'),
    });
    expect(JSON.stringify(outcome).length).toBeLessThan(1_500);
  });

  it('names a person’s own rule as what it is, and a hidden character as a matter of writing', () => {
    for (const code of ['FILE_TOO_LARGE', 'PATH_UNREADABLE'])
      expect(refuseBy(deny(code, 'x', ['path.size'])).refusal.next).not.toMatch(/do not try/);
    expect(refuseBy(deny('COMMAND_BLOCKED', 'x', ['user.mine'])).refusal.next).toMatch(/do not try again or another way/);
    expect(refuseBy(deny('COMMAND_BLOCKED', 'x', ['workspace.hidden-character'])).refusal.next).toMatch(/call again/);
  });
});

describe('the effective action', () => {
  const guest: Target = {
    kind: 'guest',
    access: 'operate',
    cluster: 'lab',
    vmid: 100,
    node: 'pve',
    guestType: 'qemu',
    name: 'web',
    status: 'running',
    addresses: ['10.0.0.1'],
  };

  it('is everything that will run, and nothing that changes by itself', () => {
    expect(lastingTarget(guest)).toEqual({ kind: 'guest', cluster: 'lab', vmid: 100, node: 'pve', guestType: 'qemu', name: 'web' });
    const { name: _name, ...nameless } = guest;
    expect(lastingTarget(nameless)).not.toHaveProperty('name');
    const node: Target = { kind: 'node', access: 'read', cluster: 'lab', node: 'pve', online: true, addresses: ['10.0.0.1'] };
    expect(lastingTarget(node)).toEqual({ kind: 'node', cluster: 'lab', node: 'pve' });
    const unit: Target = { kind: 'service', access: 'operate', cluster: 'lab', node: 'pve', service: 'x.service' };
    expect(lastingTarget(unit)).toEqual({ kind: 'service', cluster: 'lab', node: 'pve', service: 'x.service' });
    expect(lastingTarget({ kind: 'command', access: 'operate', surface: 'ssh', text: 'x' })).toEqual({
      kind: 'command',
      surface: 'ssh',
      text: 'x',
    });
    expect(lastingTarget({ kind: 'path', access: 'read', path: '/x' })).toEqual({ kind: 'path', access: 'read', path: '/x' });
    expect(lastingTarget({ kind: 'destination', access: 'read', host: 'h' })).toEqual({ kind: 'destination', host: 'h' });
  });

  it('names tool, arguments, targets, agent, cluster and policy', () => {
    const state: Resolved = {
      tool: toolNamed('stop_vm'),
      input: { vmid: 100 },
      resources: [],
      tier: 'red',
      cluster: 'lab',
      targets: [guest],
    };
    expect(effectiveAction(state, agent, 'v1')).toEqual({
      tool: 'stop_vm',
      arguments: { vmid: 100 },
      targets: [lastingTarget(guest)],
      agentId: 'mcp:laptop',
      cluster: 'lab',
      policyVersion: 'v1',
    });
    const { cluster: _cluster, ...nowhere } = state;
    expect(effectiveAction(nowhere, agent, 'v1').cluster).toBeNull();
  });
});

describe('explaining a call', () => {
  const idle = () => new AbortController().signal;
  const explain = async (tool: string, input: unknown, options: Parameters<typeof createBench>[0] = {}, modelTier = agent.modelTier) => {
    const bench = await createBench(options);
    return { bench, explanation: await explainCall({ tool, input, agent: { ...agent, modelTier } }, bench.deps, idle()) };
  };

  it('gives every stage’s answer, and executes, asks and stores nothing', async () => {
    const { bench, explanation } = await explain('stop_vm', { vmid: 100 });
    expect(explanation.stages.map(({ stage, decision }) => `${stage} ${decision.effect}`)).toEqual([
      'identify allow',
      'validate allow',
      'authorize allow',
      'pause allow',
      'protect allow',
      'scope allow',
      'times allow',
      'classify ask',
    ]);
    expect(explanation.decision).toMatchObject({ effect: 'ask', code: 'confirmation_required' });
    expect(explanation.stages.at(-1)?.detail).toEqual({ tier: 'red', level: 'balanced' });
    expect(bench.cluster.effects).toEqual([]);
    expect(await bench.trail.all()).toEqual([]);
    expect(await bench.approvals.countPending()).toBe(0);
  });

  it.each<[string, unknown, [string, string, string]]>([
    ['nope', {}, ['identify', 'unknown_tool', 'error']],
    ['stop_vm', {}, ['validate', 'invalid_input', 'error']],
    ['stop_vm', { vmid: 103 }, ['protect', 'protected_resource', 'denied']],
    ['stop_vm', { vmid: 999 }, ['protect', 'unknown_guest', 'error']],
    ['execute_ssh', { node: 'pve', command: 'rm x' }, ['classify', 'COMMAND_BLOCKED', 'denied']],
    ['reboot_node', { node: 'pve' }, ['classify', 'black_tier', 'denied']],
    ['reboot_node', { node: 'nosuch' }, ['protect', 'black_tier', 'denied']],
  ])('%s %j ends at %j, as the call itself', async (tool, input, [stage, code, status]) => {
    const { bench, explanation } = await explain(tool, input);
    expect(explanation.stages.at(-1)).toMatchObject({ stage, decision: { effect: 'deny', code } });
    expect(explanation.decision).toMatchObject({ effect: 'deny', code });
    expect(explanation.status).toBe(status);
    expect(await bench.call(tool, input)).toMatchObject({ status, code });
  });

  it.each([
    ['get_vms', {}, 'ok'],
    ['stop_vm', { vmid: 100 }, 'pending'],
  ])('%s %j ends as %s', async (tool, input, status) => {
    expect((await explain(tool, input)).explanation.status).toBe(status);
  });

  it('says of what may run why it may, not only that the tool is known', async () => {
    const { explanation } = await explain('get_vms', {});
    expect(explanation.decision).toMatchObject({ effect: 'allow', code: 'green' });
  });

  it('goes on after a refusal by model tier, which stays the answer', async () => {
    const { explanation } = await explain('stop_vm', { vmid: 100 }, {}, 'basic');
    expect(explanation.stages.map(({ stage }) => stage)).toContain('classify');
    expect(explanation.decision.code).toBe('model_tier_too_low');
  });

  it('says that the workspace is not trusted where the call would', async () => {
    const bench = await createBench();
    const call = { tool: 'stop_vm', input: { vmid: 100 }, agent, restrict: 'green_only' } as const;
    const explanation = await explainCall(call, bench.deps, idle());
    expect(explanation).toMatchObject({ status: 'denied', decision: { effect: 'deny', code: 'untrusted_workspace' } });
    expect(await explainCall({ ...call, tool: 'get_vms', input: {} }, bench.deps, idle())).toMatchObject({ status: 'ok' });
  });

  it('of a cluster that is down is a refusal, too', async () => {
    const bench = await createBench();
    bench.cluster.down = new Fault('pve_unreachable', 'no route');
    const explanation = await explainCall({ tool: 'stop_vm', input: { vmid: 100 }, agent }, bench.deps, idle());
    expect(explanation.decision).toMatchObject({ effect: 'deny', code: 'pve_unreachable' });
  });

  it('shows no secret', async () => {
    const secret = '3f0c1a9e-77aa-4b0d-9d2e-0123456789ab';
    const { explanation } = await explain(
      'execute_ssh',
      { node: 'pve', command: `x ${secret}` },
      { deps: { knownSecrets: () => [secret] } },
    );
    expect(JSON.stringify(explanation)).not.toContain(secret);
  });
});
