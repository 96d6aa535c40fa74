/** What people set for everyone, and what an agent may do about a block: two processes on one store, with real keys. */

import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { generateApproverKey, signerFrom } from '#app/for-hosts';
import type { App } from '#kernel/app';
import { agent, call, guestStatus, startWorld, type World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(async () => {
  await world.close();
});

const hour = 3_600_000;
const restart = { node: 'pve', service: 'nginx' };

/** Once the change that another process makes has arrived. */
async function changed(app: App, change: () => Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = app.security.onChange(resolve);
  await change();
  await promise;
  stop();
}

/** Somebody with write access to the file, but without a key. */
function writeSetting(key: string, value: string): void {
  const database = new DatabaseSync(path.join(world.stateDir, 'banksman.db'));
  database
    .prepare('INSERT INTO settings (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value')
    .run(key, value);
  database.close();
}

describe('the security level', () => {
  it('set in one process counts in the other’s next call, and in its status bar', async () => {
    const [agentSide, personSide] = [await world.open(), await world.open()];
    expect(await call(agentSide, 'wake_node', { node: 'pve' })).not.toMatchObject({ status: 'pending' });
    expect([agentSide.securityLevel, (await agentSide.security.level()).from]).toEqual(['balanced', 'configuration']);
    await changed(agentSide, async () => {
      expect(await personSide.security.setLevel('strict', world.person)).toMatchObject({ ok: true, code: 'set' });
    });
    expect(agentSide.securityLevel).toBe('strict');
    expect(await agentSide.security.level()).toEqual({ level: 'strict', from: 'store', by: 'user:alice' });
    expect(agentSide.announce('wake_node', { node: 'pve' })?.asks).toBe(true);
    expect(await call(agentSide, 'wake_node', { node: 'pve' })).toMatchObject({ status: 'pending' });
    expect(await call(agentSide, 'get_security_status')).toMatchObject({ result: { security_level: 'strict', pending_approvals: 1 } });
    expect(await world.open()).toMatchObject({ securityLevel: 'strict' });
    const trail = await agentSide.audit.tail(50);
    expect(trail.find((record) => record.name === 'policy.changed')?.attributes).toMatchObject({ level: 'strict', by: 'user:alice' });
    expect(await agentSide.audit.verify()).toMatchObject({ ok: true });
  });

  it('written into the store by hand loosens nothing, tightens, and is warned about', async () => {
    const app = await world.open({ securityLevel: 'strict' });
    writeSetting('security_level', 'relaxed');
    expect(await call(app, 'wake_node', { node: 'pve' })).toMatchObject({ status: 'pending' });
    expect(await app.security.level()).toMatchObject({
      level: 'strict',
      from: 'configuration',
      warning: expect.stringContaining('relaxed'),
    });
    const findings = await app.doctor(new AbortController().signal);
    expect(findings.find((finding) => finding.topic === 'security level')).toMatchObject({
      state: 'warning',
      remedy: expect.stringContaining('level set'),
    });
    const open = await world.open({ securityLevel: 'relaxed' });
    writeSetting('security_level', 'strict');
    expect(await call(open, 'wake_node', { node: 'Home' })).toMatchObject({ status: 'pending' });
    expect(world.lines.filter((line) => line.startsWith('warn security level: the store says `relaxed`'))).not.toEqual([]);
    // Once, not at every call.
    expect(world.lines.filter((line) => line.startsWith('warn security level: the store says `strict`'))).toHaveLength(1);
  });

  it('set by a key that is not pinned is refused', async () => {
    const app = await world.open();
    const stranger = signerFrom(generateApproverKey().privateKey, 'user:alice');
    expect(await app.security.setLevel('relaxed', stranger)).toMatchObject({ ok: false, code: 'key_not_trusted' });
    expect(await app.security.level()).toEqual({ level: 'balanced', from: 'configuration' });
  });
});

describe('an auto-approve rule', () => {
  it('lets what it names run at level strict, in every process, until it is removed', async () => {
    const [agentSide, personSide] = [await world.open({ securityLevel: 'strict' }), await world.open({ securityLevel: 'strict' })];
    const rule = { pattern: 'tool:execute_ssh:pve uptime', action: 'allow', lifeMs: hour } as const;
    expect(await call(agentSide, 'execute_ssh', { node: 'pve', command: 'uptime' })).toMatchObject({ status: 'pending' });
    expect(await personSide.security.setRule(rule, world.person)).toMatchObject({ ok: true });
    expect(await call(agentSide, 'execute_ssh', { node: 'pve', command: 'uptime' })).toMatchObject({ status: 'ok' });
    const [started] = (await agentSide.audit.tail(50)).filter((record) => record.name === 'tool.started');
    expect(started?.attributes['rules']).toEqual(['auto-approve:tool:execute_ssh:pve uptime', 'tier:yellow', 'level:strict']);
    expect(await call(agentSide, 'execute_ssh', { node: 'pve', command: 'df -h' })).toMatchObject({ status: 'pending' });
    expect(await call(agentSide, 'execute_ssh', { node: 'Home', command: 'uptime' })).toMatchObject({ status: 'pending' });
    expect(await agentSide.security.rules()).toMatchObject([{ pattern: rule.pattern, action: 'allow', by: 'user:alice' }]);
    expect(await personSide.security.removeRule(rule.pattern, world.person)).toMatchObject({ ok: true, code: 'removed' });
    expect(await call(agentSide, 'execute_ssh', { node: 'pve', command: 'uptime' })).toMatchObject({ status: 'pending' });
  });

  it('for a red tool, for too long or for half the internet is none', async () => {
    const { security } = await world.open();
    const set = (pattern: string, lifeMs = hour) => security.setRule({ pattern, action: 'allow', lifeMs }, world.person);
    for (const pattern of ['tool:stop_vm', 'tool:reboot_node', 'tool:*', 'destination:.com', 'destination:*', 'stop_vm'])
      expect(await set(pattern), pattern).toMatchObject({ ok: false, code: 'invalid_pattern' });
    expect(await set('tool:wake_node', 31 * 24 * hour)).toMatchObject({ ok: false, code: 'invalid_life' });
    expect(await security.rules()).toEqual([]);
    expect(await security.setRule({ pattern: 'destination:.zip', action: 'block', lifeMs: hour }, world.person)).toMatchObject({
      ok: true,
    });
  });

  it('written into the store by hand allows nothing', async () => {
    const app = await world.open({ securityLevel: 'strict' });
    writeSetting('auto_approve:tool:wake_node', 'allow');
    expect(await call(app, 'wake_node', { node: 'pve' })).toMatchObject({ status: 'pending' });
    expect(await app.security.rules()).toMatchObject([{ pattern: 'tool:wake_node', warning: expect.stringContaining('nobody signed it') }]);
    writeSetting('auto_approve:tool:execute_ssh', 'block');
    expect(await call(app, 'execute_ssh', { node: 'pve', command: 'uptime' })).toMatchObject({ status: 'denied', code: 'blocked_by_rule' });
  });

  it('of a person whose key is pinned no more allows no more', async () => {
    const app = await world.open({ securityLevel: 'strict' });
    await app.security.setRule({ pattern: 'tool:restart_service', action: 'allow', lifeMs: hour }, world.person);
    const without = await world.open({ securityLevel: 'strict', approvers: [] });
    expect(await call(without, 'restart_service', restart)).toMatchObject({ status: 'pending' });
  });
});

describe('a call that was left pending', () => {
  it('is looked up and repeated once it is approved, and runs once; with other arguments it does not', async () => {
    const [agentSide, personSide] = [await world.open(), await world.open()];
    const pending = await call(agentSide, 'stop_vm', { vmid: 100, reason: 'it hangs' }, { agent });
    const id = pending.request_id ?? '';
    const check = () => call(agentSide, 'check_request_status', { request_id: id }, { agent });
    expect(await check()).toMatchObject({ result: { status: 'pending', mine: true, claim: 'it hangs' } });
    // Asking again does not ask twice.
    expect(await call(agentSide, 'stop_vm', { vmid: 100 }, { agent })).toMatchObject({ status: 'pending', request_id: id });
    expect(await personSide.approvals.approve(id, world.person)).toMatchObject({ ok: true });
    expect(await check()).toMatchObject({ result: { status: 'approved' }, next: expect.stringContaining('repeat the same call') });
    for (const [tool, input] of [
      ['stop_vm', { vmid: 102 }],
      ['restart_vm', { vmid: 100 }],
    ] as const)
      expect((await call(agentSide, tool, input, { agent })).status, tool).not.toBe('ok');
    expect(guestStatus(world, 100)).toBe('running');
    const runs = await Promise.all([1, 2, 3].map(() => call(agentSide, 'stop_vm', { vmid: 100 }, { agent })));
    expect(runs.filter((outcome) => outcome.status === 'ok')).toHaveLength(1);
    expect(guestStatus(world, 100)).toBe('stopped');
    expect(await check()).toMatchObject({ result: { status: 'consumed' } });
    const started = (await agentSide.audit.tail(50)).filter((record) => record.name === 'tool.started');
    expect(started).toHaveLength(1);
  });

  it('revoked before it was repeated does not run; denied, the words reach the model', async () => {
    const app = await world.open();
    const { request_id: id = '' } = await call(app, 'stop_vm', { vmid: 100 }, { agent });
    await app.approvals.approve(id, world.person);
    expect(await app.approvals.revoke(id, 'user:alice', 'not now')).toMatchObject({ ok: true, code: 'revoked' });
    expect(await call(app, 'check_request_status', { request_id: id }, { agent })).toMatchObject({
      result: { status: 'revoked', message: 'not now' },
    });
    const again = await call(app, 'stop_vm', { vmid: 100 }, { agent });
    expect(again).toMatchObject({ status: 'pending' });
    await app.approvals.deny(again.request_id ?? '', 'user:alice', 'never during the backup');
    expect(await call(app, 'check_request_status', { request_id: again.request_id }, { agent })).toMatchObject({
      result: { status: 'denied', message: 'never during the backup' },
    });
    expect(guestStatus(world, 100)).toBe('running');
  });
});

describe('a reported block', () => {
  it('is listed to people of the other process, approved there, and lets no call run', async () => {
    const [agentSide, personSide] = [await world.open(), await world.open()];
    const report = { request_id: 'req-5eed0003', reason: 'url_blocked', destination: 'files.example.com', pattern: 'the-matched-words' };
    expect(await call(agentSide, 'report_block', report, { agent })).toMatchObject({
      status: 'ok',
      result: { requires_approval: true, approval_command: 'banksman approvals approve req-5eed0003' },
    });
    const record = await personSide.approvals.get('req-5eed0003');
    expect(record?.reported?.pattern).toBe('the-matched-words');
    expect(await personSide.approvals.approve('req-5eed0003', world.person)).toMatchObject({ ok: true });
    expect(await call(agentSide, 'check_request_status', { request_id: 'req-5eed0003' }, { agent })).toMatchObject({
      result: { status: 'approved' },
      next: expect.stringContaining('allows no tool call'),
    });
    expect(await call(agentSide, 'stop_vm', { vmid: 100 }, { agent })).toMatchObject({ status: 'pending' });
    expect(await call(agentSide, 'get_security_log', {}, { agent })).toMatchObject({
      status: 'ok',
      result: { entries: expect.arrayContaining([expect.objectContaining({ event: 'approval.approved', tool: 'report_block' })]) },
    });
    expect(JSON.stringify(await agentSide.audit.tail(50)) + world.lines.join()).not.toContain('the-matched-words');
  });
});

it('a tier that does nothing is said at start', async () => {
  await world.open({ tiers: { stop_vm: 'green', restart_service: 'red' } });
  const warnings = world.lines.filter((line) => line.startsWith('warn `tiers.'));
  expect(warnings).toEqual([expect.stringContaining('stop_vm')]);
});
