/** `banksman policy replay`: calls that were really made, in a real store, under edited settings. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { ReplayReport } from '#kernel/policy-view';
import { samplePasswords, startValkey } from '../stores/valkey-server.ts';
import { type Bench, startBench } from './support.ts';

// Every step is a process of its own, and slow cores run several suites at once.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
  await bench.call('get_vms');
  await bench.call('execute_ssh', { node: 'pve', command: 'uptime' });
  await bench.call('execute_ssh', { node: 'pve', command: 'uptime' });
  await bench.call('stop_vm', { vmid: 100 });
  await bench.call('reboot_node', { node: 'pve' });
});
afterAll(() => bench.close());

async function replay(settings: unknown, ...more: readonly string[]) {
  const file = join(bench.folder, 'edited.json');
  writeFileSync(file, typeof settings === 'string' ? settings : JSON.stringify(settings));
  const { status, stdout, stderr } = await bench.run(['policy', 'replay', '--settings', file, '--config', bench.configFile, ...more]);
  return { status, stdout, stderr, report: () => JSON.parse(stdout) as ReplayReport };
}

it('says that nothing would change where nothing differs', async () => {
  const { status, stdout } = await replay(bench.config);
  expect(status).toBe(0);
  expect(stdout).toContain('nothing differs');
  expect(stdout).toContain('5 calls');
  expect(stdout).toContain('5 of 5 are decided by the present settings as the trail says they were');
});

it('says what would be asked at another level, and changes nothing', async () => {
  const { status, report } = await replay({ ...bench.config, securityLevel: 'strict' }, '--json');
  expect(status).toBe(0);
  expect(report()).toMatchObject({
    ...{ calls: 5, judged: 5, changed: 2, tighter: 2, differs: ['securityLevel'], loosens: [] },
    changes: [{ tool: 'execute_ssh', calls: 2, before: { effect: 'allow' }, after: { effect: 'ask' } }],
  });
  expect((await bench.run(['level', 'get', '--config', bench.configFile])).stdout).toContain('balanced');
});

it('judges by the cluster as it is now where the settings go by it', async () => {
  const { stdout } = await replay({ protected: { nodes: [{ name: 'pve', reason: 'the lab’s only gateway' }] } });
  expect(stdout).toContain('the lab’s only gateway');
  expect(stdout).toMatch(/TIGHTER {2}stop_vm {2}ask → deny/);
  expect(stdout).toContain('rest on what is so now');
});

it('ends with 3 where something becomes looser, and says that it waits for a person', async () => {
  const strict = join(bench.folder, 'strict.json');
  writeFileSync(strict, JSON.stringify({ ...bench.config, tiers: { execute_ssh: 'red' } }));
  const { status, stdout } = await bench.run(['policy', 'replay', '--settings', bench.configFile, '--config', strict]);
  expect(status).toBe(3);
  expect(stdout).toContain('counts only once a person agreed');
  expect(stdout).toMatch(/LOOSER {2}execute_ssh {2}ask → allow {2}2 calls/);
});

it('names every wrong field of the settings', async () => {
  const { status, stderr } = await replay({ securityLevel: 'lax', tiers: { stop_vm: 'pink' } });
  expect(status).toBe(1);
  expect(stderr).toContain('`securityLevel`');
  expect(stderr).toContain('`tiers.stop_vm`');
  expect(await replay('{')).toMatchObject({ status: 1, stderr: expect.stringContaining('not valid JSON') });
});

it('uses nothing behind a record that was altered, and says so', async () => {
  const state = join(bench.folder, 'altered');
  mkdirSync(state);
  for (let count = 0; count < 3; count += 1) await bench.call('execute_ssh', { node: 'pve', command: 'uptime' }, ['--state', state]);
  const database = new DatabaseSync(join(state, 'banksman.db'));
  for (const { name } of database.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit'").all())
    database.exec(`DROP TRIGGER "${String(name)}"`);
  database.exec("UPDATE audit SET body = replace(body, 'uptime', 'reboot') WHERE sequence = 3");
  database.close();
  const { status, stdout } = await replay({ securityLevel: 'strict' }, '--state', state, '--json');
  const report = JSON.parse(stdout) as ReplayReport;
  expect(status).toBe(1);
  expect(report).toMatchObject({ records: 2, calls: 1, trail: { ok: false, message: expect.stringContaining('record 3 was altered') } });
});

it('has nothing to say of an empty trail', async () => {
  const { status, stdout } = await replay({ securityLevel: 'strict' }, '--state', join(bench.folder, 'new'));
  expect(status).toBe(0);
  expect(stdout).toContain('0 calls');
});

it('replays a shared store in Valkey, too', async () => {
  const valkey = await startValkey();
  try {
    const state = join(bench.folder, 'shared');
    mkdirSync(state, { mode: 0o700 });
    writeFileSync(join(state, 'credentials.json'), JSON.stringify(samplePasswords), { mode: 0o600 });
    const store = ['--state', state, '--store', valkey.url];
    await bench.call('execute_ssh', { node: 'pve', command: 'uptime' }, store);
    const { status, stdout } = await replay({ securityLevel: 'strict' }, ...store, '--json');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ calls: 1, changed: 1, trail: { ok: true } });
  } finally {
    await valkey.close();
  }
});
