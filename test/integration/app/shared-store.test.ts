/** Two machines on one Valkey: the agent's side has no credential that approves or sets anything. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { App } from '#kernel/app';
import type { ValkeyRole } from '#stores/valkey/store-url';
import { cacheFolder } from '../../../scripts/lib/cache-folder.mjs';
import { canSandbox } from '../execution/support/bubblewrap.ts';
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

function openAs(name: string, roles: readonly ValkeyRole[], workspace?: string): Promise<App> {
  mkdirSync(world.stateDir, { recursive: true });
  const file = path.join(world.stateDir, `${name}.json`);
  writeFileSync(file, JSON.stringify(Object.fromEntries(roles.map((role) => [role, samplePasswords[role]]))), { mode: 0o600 });
  return world.open({ store: `${server.url}?credentials=${name}.json` }, workspace);
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

  it.skipIf(!canSandbox)('held changes are approved elsewhere, and applied where they lie', async () => {
    mkdirSync(cacheFolder(), { recursive: true });
    const root = mkdtempSync(path.join(cacheFolder(), 'shared-held-'));
    try {
      const there = await openAs('agent-side', ['agent', 'exec', 'log-writer'], root);
      const { request_id: id = '' } = await call(there, 'run_command', { command: 'mkdir .vscode; echo x > .vscode/x' });
      const record = await personSide.approvals.get(id);
      expect((await personSide.approvals.card(id))?.detail).toContain('create .vscode/x\n  @@ -0,0 +1 @@\n  +x');
      expect(record && (await personSide.whyNotHere(record))).toMatch(/belongs to the workspace .*, which is not open here/);
      expect(await personSide.approvals.approve(id, world.person)).toMatchObject({ ok: true });
      const byHand = await personSide.runApproved(id, { by: 'user:alice', signal: new AbortController().signal });
      expect(byHand.status).not.toBe('ok');
      await vi.waitFor(() => expect(readFileSync(path.join(root, '.vscode/x'), 'utf8')).toBe('x\n'), { interval: 200 });
      const told = () => call(there, 'check_request_status', { request_id: id });
      await vi.waitFor(async () => expect((await told()).message).toContain('the held changes were applied'), {
        interval: 200,
      });
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
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

  it('doctor misses a trail that was taken away, not one that is old', async () => {
    const trail = async (app: App) => (await app.doctor(new AbortController().signal)).find(({ topic }) => topic === 'audit');
    const log = 'molis:log:events';
    await call(agentSide, 'reboot_node', { node: 'pve' });
    expect(await trail(agentSide)).toMatchObject({ state: 'ok' });
    await call(agentSide, 'reboot_node', { node: 'pve' });
    const members = await server.operator.zrange(log, 0, -1, 'WITHSCORES');
    const gone = { state: 'failed', message: expect.stringMatching(/had come to record 1, which is gone or another/) };
    await server.operator.del(log);
    // Nobody who is there has written anything: only what lies outside the store can tell.
    const [later, person] = [
      await openAs('later', ['agent', 'exec', 'log-writer']),
      await openAs('person', ['agent', 'admin', 'log-writer']),
    ];
    expect([await trail(later), await trail(person)]).toMatchObject([gone, gone]);
    await call(later, 'reboot_node', { node: 'pve' });
    expect(await trail(later)).toMatchObject(gone);
    for (let at = 0; at < members.length; at += 2) await server.operator.zadd(log, members[at + 1] ?? 0, members[at] ?? '');
    expect(await trail(later)).toMatchObject({ state: 'ok' });
    await server.operator.del(log);
    const dayAgo = new Date(Date.now() - 25 * 3_600_000).toISOString();
    for (const folder of [path.dirname(world.stateDir), world.stateDir]) {
      const file = path.join(folder, 'seen-trails', 'trails.json');
      writeFileSync(file, readFileSync(file, 'utf8').replace(/"time": "[^"]+"/, `"time": "${dayAgo}"`));
    }
    expect(await trail(later)).toMatchObject({ state: 'ok', message: 'empty so far' });
    // What was seen may have left by now; the name of its tree does not.
    await server.operator.del(...(await server.operator.keys('molis:tree:*')));
    await call(later, 'reboot_node', { node: 'pve' });
    expect(await trail(later)).toMatchObject(gone);
  });
});
