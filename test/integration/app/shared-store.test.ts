/** Two machines on one Valkey: the agent's side has no credential that approves or sets anything. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { App } from '#app/app';
import type { ValkeyRole } from '#stores/valkey/roles';
import { samplePasswords, startValkey, type ValkeyServer } from '../stores/valkey-server.ts';
import { agent, call, guestStatus, startWorld, type World } from './support.ts';

let server: ValkeyServer;
let world: World;
let agentSide: App;
let personSide: App;
beforeAll(async () => {
  server = await startValkey();
});
afterAll(async () => {
  await server.close();
});
beforeEach(async () => {
  await server.operator.flushall();
  world = await startWorld();
  agentSide = await openAs('agent-side', ['agent', 'exec', 'log-writer']);
  personSide = await openAs('person-side', ['agent', 'admin', 'log-writer']);
});
afterEach(async () => {
  await world.close();
});

function openAs(name: string, roles: readonly ValkeyRole[]): Promise<App> {
  mkdirSync(world.stateDir, { recursive: true });
  const file = path.join(world.stateDir, `${name}.json`);
  writeFileSync(file, JSON.stringify(Object.fromEntries(roles.map((role) => [role, samplePasswords[role]]))), { mode: 0o600 });
  return world.open({ store: `${server.url}?credentials=${name}.json` });
}

const report = { request_id: 'req-5eed0003', reason: 'url_blocked', destination: 'files.example.com', pattern: 'the-matched-words' };

describe('over Valkey', () => {
  it('the level and the rules that a person sets hold on the agent’s machine', async () => {
    expect(await personSide.security.setLevel('strict', world.person)).toMatchObject({ ok: true });
    expect(await agentSide.security.level()).toEqual({ level: 'strict', from: 'store', by: 'user:alice' });
    const uptime = () => call(agentSide, 'execute_ssh', { node: 'pve', command: 'uptime' }, { agent });
    expect(await uptime()).toMatchObject({ status: 'pending' });
    const rule = { pattern: 'tool:execute_ssh:pve uptime', action: 'allow', lifeMs: 3_600_000 } as const;
    expect(await personSide.security.setRule(rule, world.person)).toMatchObject({ ok: true });
    expect(await uptime()).toMatchObject({ status: 'ok' });
    expect(await personSide.security.removeRule(rule.pattern, world.person)).toMatchObject({ ok: true });
    expect(await uptime()).toMatchObject({ status: 'pending' });
  });

  it('the agent’s machine sets nothing, even with a person’s key', async () => {
    await expect(agentSide.security.setLevel('relaxed', world.person)).rejects.toMatchObject({ name: 'Fault' });
    await expect(
      agentSide.security.setRule({ pattern: 'tool:wake_node', action: 'allow', lifeMs: 1_000 }, world.person),
    ).rejects.toMatchObject({ name: 'Fault' });
    expect(await personSide.security.level()).toEqual({ level: 'balanced', from: 'configuration' });
    expect(await personSide.security.rules()).toEqual([]);
  });

  it('a call left pending is approved elsewhere, looked up, and runs once', async () => {
    const { request_id: id = '' } = await call(agentSide, 'stop_vm', { vmid: 100 }, { agent });
    expect(await personSide.approvals.approve(id, world.person)).toMatchObject({ ok: true });
    expect(await call(agentSide, 'check_request_status', { request_id: id }, { agent })).toMatchObject({ result: { status: 'approved' } });
    const runs = await Promise.all([1, 2, 3].map(() => call(agentSide, 'stop_vm', { vmid: 100 }, { agent })));
    expect(runs.filter((outcome) => outcome.status === 'ok')).toHaveLength(1);
    expect(guestStatus(world, 100)).toBe('stopped');
  });

  it('a reported block lives an hour, is approved, and lets nothing run', async () => {
    expect(await call(agentSide, 'report_block', report, { agent })).toMatchObject({ result: { requires_approval: true } });
    const ttl = await server.operator.pttl('molis:blocked:req-5eed0003');
    expect(ttl).toBeGreaterThan(1_000);
    expect(ttl).toBeLessThanOrEqual(3_600_000);
    expect((await personSide.approvals.get('req-5eed0003'))?.reported?.pattern).toBe('the-matched-words');
    expect(await personSide.approvals.approve('req-5eed0003', world.person)).toMatchObject({ ok: true });
    expect(await call(agentSide, 'check_request_status', { request_id: 'req-5eed0003' }, { agent })).toMatchObject({
      result: { status: 'approved' },
    });
    expect(await call(agentSide, 'stop_vm', { vmid: 100 }, { agent })).toMatchObject({ status: 'pending' });
    const seen = await Promise.all(
      (['list_pending_approvals', 'get_security_log', 'get_security_status'] as const).map((tool) => call(agentSide, tool, {}, { agent })),
    );
    expect(seen.map((outcome) => outcome.status)).toEqual(['ok', 'ok', 'ok']);
    expect(JSON.stringify([seen, await personSide.audit.tail(100), world.lines])).not.toContain('the-matched-words');
  });

  it('a level written into the server by hand loosens nothing', async () => {
    const strict = await world.open({ store: `${server.url}?credentials=agent-side.json`, securityLevel: 'strict' });
    await server.operator.set('molis:config:security_level', 'relaxed');
    expect(await strict.security.level()).toMatchObject({
      level: 'strict',
      from: 'configuration',
      warning: expect.stringContaining('relaxed'),
    });
    expect(await call(strict, 'wake_node', { node: 'pve' }, { agent })).toMatchObject({ status: 'pending' });
  });
});
