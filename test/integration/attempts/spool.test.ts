/** The store does not take an outcome: it is kept on this machine, and written later, once and in order. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LocalApp } from '#app/create-app';
import { seal } from '#audit/seal';
import { openSqliteStore } from '#stores/sqlite/open-sqlite-store';
import { agent, approvedCall, call, startWorld, type World } from '../app/support.ts';
import { canSandbox } from '../execution/support/bubblewrap.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld({ taskDurationMs: 800 });
});
afterEach(async () => {
  await world.close();
});

const file = () => join(world.stateDir, 'banksman.db');
const spool = () => join(world.stateDir, 'spool');
const kept = () => (existsSync(spool()) ? readdirSync(spool()).filter((name) => name !== 'reserve') : []);
const stops = () => world.demo.cluster.tasks.list().filter(({ type }) => type === 'qmstop');

/** While the call runs the store's file is away. @returns the outcome that the agent was given */
async function stopDuringOutage(app: LocalApp, vmid = 100) {
  const asked = approvedCall(world, app, { tool: 'stop_vm', input: { vmid } });
  const before = stops().length;
  while (stops().length === before) await sleep(5);
  for (const end of ['', '-wal', '-shm']) if (existsSync(`${file()}${end}`)) renameSync(`${file()}${end}`, `${file()}.away${end}`);
  return asked;
}

function bringBack(): void {
  for (const end of ['', '-wal', '-shm']) {
    rmSync(`${file()}${end}`, { force: true });
    if (existsSync(`${file()}.away${end}`)) renameSync(`${file()}.away${end}`, `${file()}${end}`);
  }
}

async function ends(app: LocalApp) {
  const records = await app.audit.tail(500);
  const ofStop = records.filter(({ attributes }) => attributes['gen_ai.tool.name'] === 'stop_vm');
  return ofStop.filter(({ name }) => name === 'tool.finished' || name === 'attempt.resolved');
}

describe('an outcome that the store does not take', () => {
  it('is kept, said to the agent and by doctor, and written once when the store is back', async () => {
    const app = await world.open({}, undefined, 'test', { stays: true });
    const outcome = await stopDuringOutage(app);
    expect(outcome).toMatchObject({ status: 'ok', result: { status: 'stopped' } });
    expect(outcome.message).toMatch(
      /; its record is not written yet, for the audit trail could not be written \(.*\): it is kept on this machine/,
    );
    expect(kept()).toHaveLength(1);
    expect(statSync(join(spool(), kept()[0] ?? '')).mode & 0o777).toBe(0o600);
    expect(statSync(spool()).mode & 0o777).toBe(0o700);
    const findings = await app.doctor(AbortSignal.timeout(30_000));
    expect(findings.find(({ topic }) => topic === 'spool')).toMatchObject({
      state: 'warning',
      message: expect.stringContaining('1 outcomes wait'),
    });
    bringBack();
    const status = await call(app, 'check_request_status', { request_id: outcome.request_id ?? '' }, { agent });
    expect(status).toMatchObject({ result: { outcome: { status: 'ok', code: 'ok' } } });
    expect(kept()).toEqual([]);
    expect(await ends(app)).toHaveLength(1);
    expect(await app.audit.verify()).toMatchObject({ ok: true });
  });

  it('is written by the next process, and not twice where one was killed between the two', async () => {
    const app = await world.open();
    const outcome = await stopDuringOutage(app);
    expect(kept()).toHaveLength(1);
    bringBack();
    await app.close();
    const [name = ''] = kept();
    const copy = join(world.stateDir, 'copy.json');
    execFileSync('cp', [join(spool(), name), copy]);
    const next = await world.open({}, undefined, 'test', { stays: true });
    while (kept().length > 0) await sleep(20);
    // As a kill leaves it: the record is in the store, and the file is there still.
    execFileSync('cp', [copy, join(spool(), name)]);
    const other = await world.open({}, undefined, 'test', { stays: true });
    while (kept().length > 0) await sleep(20);
    expect(await ends(next)).toEqual([
      expect.objectContaining({
        name: 'tool.finished',
        attributes: expect.objectContaining({ request_id: outcome.request_id, kept_since: expect.any(String) }),
      }),
    ]);
    expect(await ends(other)).toHaveLength(1);
  });

  it('of a call that this store knows nothing of stays where it is, and doctor says so', async () => {
    const app = await world.open();
    await stopDuringOutage(app);
    rmSync(`${file()}.away`);
    bringBack();
    await app.close();
    const fresh = await openSqliteStore({ file: file(), seal });
    await fresh.close();
    const next = await world.open({}, undefined, 'test', { stays: true });
    while (!kept().some((name) => name.endsWith('.unmatched'))) await sleep(20);
    const findings = await next.doctor(AbortSignal.timeout(30_000));
    expect(findings.find(({ topic }) => topic === 'spool')).toMatchObject({ state: 'failed' });
  });

  it('and for which there is no room beside it, too, is written once the store is back, as long as its process lives', async () => {
    const app = await world.open({}, undefined, 'test', { stays: true });
    while (!existsSync(join(spool(), 'reserve'))) await sleep(10);
    rmSync(spool(), { recursive: true });
    writeFileSync(spool(), '');
    const outcome = await stopDuringOutage(app);
    expect(outcome).toMatchObject({ status: 'error', code: 'audit_unavailable' });
    const spoolFinding = async () => (await app.doctor(AbortSignal.timeout(30_000))).find(({ topic }) => topic === 'spool');
    expect(await spoolFinding()).toMatchObject({ state: 'failed', message: expect.stringContaining('1 outcomes') });
    bringBack();
    const status = await call(app, 'check_request_status', { request_id: outcome.request_id ?? '' }, { agent });
    expect(status).toMatchObject({ result: { outcome: { status: 'ok', code: 'ok' } } });
    expect(await ends(app)).toHaveLength(1);
    expect(await spoolFinding()).toBeUndefined();
  });

  it.runIf(canSandbox && process.getuid?.() === 0)('on a full disk goes where room was kept for it', async () => {
    mkdirSync(world.stateDir, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', world.stateDir]);
    try {
      const app = await world.open({}, undefined, 'test', { stays: true });
      while (!existsSync(join(spool(), 'reserve'))) await sleep(10);
      const before = stops().length;
      const asked = approvedCall(world, app, { tool: 'stop_vm', input: { vmid: 100 } });
      while (stops().length === before) await sleep(5);
      execFileSync('bash', ['-c', 'cat /dev/zero > "$0" 2> /dev/null || true', join(world.stateDir, 'filler')]);
      const outcome = await asked;
      expect(outcome).toMatchObject({ status: 'ok', message: expect.stringContaining('its record is not written yet') });
      rmSync(join(world.stateDir, 'filler'));
      const status = await call(app, 'check_request_status', { request_id: outcome.request_id ?? '' }, { agent });
      expect(status).toMatchObject({ result: { outcome: { status: 'ok' } } });
      expect(kept()).toEqual([]);
      await app.close();
    } finally {
      execFileSync('umount', ['-l', world.stateDir]);
    }
  });
});
