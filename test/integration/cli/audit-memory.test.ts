/** What a person, or a job that runs each night, keeps of the trail: `audit verify` holds the store against it. */
import { cpSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { samplePasswords, startValkey } from '../stores/valkey-server.ts';
import { type Bench, startBench } from './support.ts';

// Every step is a process of its own, and slow cores run several suites at once.
vi.setConfig({ testTimeout: 240_000, hookTimeout: 60_000 });

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench.close());

interface Verdict {
  readonly ok: boolean;
  readonly message: string;
  readonly newest?: string;
}

async function verify(...words: readonly string[]): Promise<{ readonly status: number | null; readonly verdict: Verdict }> {
  const { status, stdout } = await bench.run(['audit', 'verify', '--json', ...words]);
  return { status, verdict: JSON.parse(stdout) as Verdict };
}

it('tells an older copy of the embedded store by the record that was kept', async () => {
  const copy = ['--state', join(bench.folder, 'copy')];
  await bench.call('get_vms');
  cpSync(bench.state, join(bench.folder, 'copy'), { recursive: true });
  await bench.call('reboot_node', { node: 'pve' });
  const { verdict } = await verify();
  const newest = verdict.newest ?? '';
  expect(newest).toMatch(/^\d+:[a-f0-9]{64}$/);
  expect((await bench.run(['audit', 'verify'])).stdout).toContain(`newest record: ${newest} `);
  await bench.call('get_vms');
  expect(await verify('--expect', newest)).toMatchObject({ status: 0, verdict: { ok: true } });
  await bench.call('get_vms', {}, copy);
  await bench.call('get_vms', {}, copy);
  // Whole in itself, and another one.
  expect(await verify(...copy)).toMatchObject({ status: 0, verdict: { ok: true } });
  const other = await verify('--expect', newest, ...copy);
  expect(other).toMatchObject({ status: 1, verdict: { ok: false, message: expect.stringMatching(/rewritten|cut off/) } });
  expect(other.verdict).not.toHaveProperty('newest');

  const file = join(bench.folder, 'yesterday.jsonl');
  await bench.run(['audit', 'export', '--output', file]);
  expect(await verify('--since', file)).toMatchObject({ status: 0 });
  expect(await verify('--since', file, ...copy)).toMatchObject({ status: 1 });
});

it('looks through a store that is too damaged to open, names what cannot be read, and leaves it as it is', async () => {
  const words = ['--state', join(bench.folder, 'hurt')];
  for (let calls = 0; calls < 6; calls += 1) await bench.call('read_file', { path: `mark-${calls}-${'x'.repeat(900)}` }, words);
  const file = join(bench.folder, 'hurt', 'banksman.db');
  const bytes = readFileSync(file);
  const page = Math.floor(bytes.indexOf('mark-3-') / 4096) * 4096;
  writeFileSync(file, bytes.fill(0xa5, page, page + 4096));
  const { status, verdict } = await verify(...words);
  expect(status).toBe(1);
  expect(verdict).toMatchObject({
    ok: false,
    message: expect.stringMatching(/record \d+ cannot be read.* of \d+ records fit; the file is damaged in table `audit`/),
  });
  expect(readFileSync(file).equals(bytes)).toBe(true);
  const tail = await bench.run(['audit', 'tail', ...words]);
  expect(tail).toMatchObject({ status: 1, stderr: expect.stringMatching(/table `audit`: Tree.*left as it is.*audit verify/) });
});

it('says so where nothing of a cut store can be read, and does not advise itself', async () => {
  const words = ['--state', join(bench.folder, 'cut')];
  await bench.call('reboot_node', { node: 'pve' }, words);
  const file = join(bench.folder, 'cut', 'banksman.db');
  truncateSync(file, 4096);
  const { status, stderr } = await bench.run(['audit', 'verify', ...words]);
  expect(status).toBe(1);
  expect(stderr).toContain('none of its records can be read; keep a copy of the file');
  expect(stderr).not.toContain('`banksman audit verify`');
});

it.each([
  [['--expect', 'latest'], /SEQUENCE:HASH/],
  [['--expect', `0:${'0'.repeat(64)}`], /SEQUENCE:HASH/],
  [['--since', '/nowhere/at/all'], /cannot be read/],
  [['--since', join(import.meta.dirname, 'support.ts')], /neither a checkpoint nor an export/],
  [['a-file', '--expect', `1:${'0'.repeat(64)}`], /for the trail in the store/],
])('%j is refused', async (words, message) => {
  const { status, stdout, stderr } = await bench.run(['audit', 'verify', ...words]);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(message);
});

it('tells by its tree, and by an export, that the chain of a process that is gone was taken out of the shared trail', async () => {
  const valkey = await startValkey();
  try {
    const state = join(bench.folder, 'shared');
    mkdirSync(state, { mode: 0o700 });
    writeFileSync(join(state, 'credentials.json'), JSON.stringify(samplePasswords), { mode: 0o600 });
    const shared = ['--state', state, '--store', valkey.url];
    await bench.call('reboot_node', { node: 'pve' }, shared);
    await bench.call('get_vms', {}, shared);
    const file = join(bench.folder, 'shared-yesterday.jsonl');
    expect(await bench.run(['audit', 'export', '--output', file, ...shared])).toMatchObject({ status: 0 });
    expect(await verify('--since', file, ...shared)).toMatchObject({ status: 0, verdict: { ok: true } });
    const members = await valkey.operator.zrange('molis:log:events', 0, -1);
    const gone = members.filter((member) => member.includes('reboot_node'));
    expect(gone).not.toEqual([]);
    await valkey.operator.zrem('molis:log:events', ...gone);
    const byTree = { status: 1, verdict: { message: expect.stringContaining('whose hash is in the tree is gone') } };
    expect(await verify(...shared)).toMatchObject(byTree);
    expect(await verify('--since', file, ...shared)).toMatchObject({ status: 1, verdict: { message: expect.stringContaining('cut off') } });
  } finally {
    await valkey.close();
  }
});
