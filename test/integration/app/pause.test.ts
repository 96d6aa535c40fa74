/** All agents paused by one switch in the store: seen by every process at once, lifted by a person alone. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { paletteAgent } from '#identity/agents';
import { agent, call, guestStatus, startWorld, type World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(async () => {
  await world.close();
});

const program = join(import.meta.dirname, '../../../dist/cli.cjs');

/** `banksman …` in a process of its own, on the world's state. */
async function banksman(...words: readonly string[]): Promise<{ readonly status: number; readonly out: string; readonly err: string }> {
  const config = JSON.stringify(world.demo.config);
  const child = spawn(process.execPath, [program, ...words, '--config', config, '--state', world.stateDir], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { status: Number(status), out, err };
}

describe('all agents paused', () => {
  it('from another process: the next call that changes something is refused, in both, and reads go on', async () => {
    const app = await world.open();
    expect(await call(app, 'wake_node', { node: 'Home' })).toMatchObject({ status: 'ok' });
    const paused = await banksman('pause', '--reason', 'the web shop is down', '--json');
    expect(paused).toMatchObject({ status: 0 });
    expect(JSON.parse(paused.out)).toMatchObject({ ok: true, code: 'set' });
    for (const [tool, input] of [
      ['wake_node', { node: 'Home' }],
      ['start_vm', { vmid: 101 }],
      ['execute_ssh', { node: 'pve', command: 'uptime' }],
    ] as const) {
      const refused = await call(app, tool, input);
      expect(refused).toMatchObject({
        status: 'denied',
        code: 'agents_paused',
        next: expect.stringContaining('only a person resumes agents'),
      });
      expect(refused.message).toMatch(/^all agents are paused since \d{4}-.* by user:.*; the reason given: the web shop is down/);
    }
    const other = await banksman('call', 'wake_node', '--input', '{"node":"Home"}', '--json');
    expect(other.status).toBe(2);
    expect(JSON.parse(other.out)).toMatchObject({ code: 'agents_paused' });
    expect(await call(app, 'get_vms')).toMatchObject({ status: 'ok' });
    const status = await call(app, 'get_security_status');
    expect(JSON.stringify(status.result)).toContain('all agents are paused by user:');
    expect((await app.explain({ tool: 'start_vm', input: { vmid: 101 }, agent })).decision).toMatchObject({ code: 'agents_paused' });
    const findings = await app.doctor(new AbortController().signal);
    expect(findings.find(({ topic }) => topic === 'agents')?.message).toContain('the web shop is down');
    // Without a terminal nobody resumes.
    const resumed = await banksman('resume');
    expect(resumed.status).not.toBe(0);
    expect(await call(app, 'wake_node', { node: 'Home' })).toMatchObject({ code: 'agents_paused' });
    expect(await app.security.resume(world.person)).toMatchObject({ ok: true });
    expect(await call(app, 'wake_node', { node: 'Home' })).toMatchObject({ status: 'ok' });
    const names = (await app.audit.tail(50)).filter(({ name }) => name === 'policy.changed').map(({ attributes }) => attributes['setting']);
    expect(names).toEqual(['agents_paused', 'agents_paused']);
  });

  it('holds though somebody takes it out of the store: for this process, the next and the command line, and `doctor` says so', async () => {
    const app = await world.open();
    await app.security.pause('user:bob', 'odd');
    const taken = new DatabaseSync(join(world.stateDir, 'banksman.db'));
    taken.exec("DELETE FROM settings WHERE key = 'agents_paused'");
    taken.close();
    const other = await banksman('call', 'wake_node', '--input', '{"node":"Home"}', '--json');
    expect(JSON.parse(other.out)).toMatchObject({ code: 'agents_paused', message: expect.stringContaining('no longer in the store') });
    for (const one of [app, await world.open()])
      expect(await call(one, 'wake_node', { node: 'Home' })).toMatchObject({ code: 'agents_paused' });
    const records = await app.audit.tail(50);
    expect(records.filter(({ attributes }) => attributes['put_back'] !== undefined)).toHaveLength(1);
    const finding = (await app.doctor(new AbortController().signal)).find(({ topic }) => topic === 'agents');
    expect(finding).toMatchObject({ state: 'failed', message: expect.stringContaining('somebody who can write to the store took it out') });
    expect(await app.security.resume(world.person)).toMatchObject({ ok: true });
    expect(await call(app, 'wake_node', { node: 'Home' })).toMatchObject({ status: 'ok' });
    const lift = (await app.audit.tail(50)).find(({ attributes }) => attributes['removed'] === true);
    expect(lift?.attributes['signed']).toMatchObject({ payload: { setting: 'agents_resumed', approver: 'user:alice' } });
  });

  it('while one waits for a person: the approval is not used, and counts again once they are resumed', async () => {
    const [app, other] = [await world.open(), await world.open()];
    const asked = await call(app, 'start_vm', { vmid: 101 }, { agent });
    await app.approvals.approve(asked.request_id ?? '', world.person);
    await other.security.pause('user:bob');
    expect(await call(app, 'start_vm', { vmid: 101 }, { agent })).toMatchObject({ status: 'denied', code: 'agents_paused' });
    expect(await app.runApproved(asked.request_id ?? '', { by: 'user:alice', signal: new AbortController().signal })).toMatchObject({
      code: 'agents_paused',
    });
    expect(guestStatus(world, 101)).toBe('stopped');
    expect(await app.approvals.get(asked.request_id ?? '')).toMatchObject({ status: 'approved' });
    await other.security.resume(world.person);
    expect(await call(app, 'start_vm', { vmid: 101 }, { agent })).toMatchObject({ status: 'ok' });
  });

  it('while a person decides: the call that waits is refused when the answer comes', async () => {
    const [app, other] = [await world.open(), await world.open()];
    const outcome = await app.call({
      ...{ tool: 'start_vm', input: { vmid: 101 }, agent, signal: new AbortController().signal, waitMs: 60_000 },
      gate: {
        ask: (request) => void other.security.pause('user:bob', 'stop').then(() => other.approvals.approve(request.id, world.person)),
      },
    });
    expect(outcome).toMatchObject({ status: 'denied', code: 'agents_paused', message: expect.stringContaining('by user:bob') });
    expect(guestStatus(world, 101)).toBe('stopped');
  });

  it('holds commands and files of the workspace, too, and nobody who sits at the palette', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'banksman-paused-'));
    writeFileSync(join(folder, 'a.txt'), 'a\n');
    const app = await world.open({}, folder);
    await app.security.pause('user:bob');
    expect(await call(app, 'write_file', { path: 'b.txt', content: 'b\n' })).toMatchObject({ code: 'agents_paused' });
    expect(await call(app, 'run_command', { command: 'true' })).toMatchObject({ code: 'agents_paused' });
    expect(await call(app, 'read_file', { path: 'a.txt' })).toMatchObject({ status: 'ok' });
    expect(await call(app, 'wake_node', { node: 'Home' }, { agent: paletteAgent('alice') })).toMatchObject({ status: 'ok' });
    rmSync(folder, { recursive: true, force: true });
  });
});
