/** What looks as if agents should not touch it is offered once to who has no editor, and protected by one command. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type Bench, startBench } from './support.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
  mkdirSync(dirname(bench.machineFile), { recursive: true, mode: 0o700 });
  writeFileSync(bench.machineFile, JSON.stringify(bench.config), { mode: 0o600 });
});
afterAll(() => bench.close());

const offered = 'guest 200 (dns) is named as one that others depend on; see `banksman config protect`';

it('is offered at the first call that a cluster answers, once', async () => {
  expect((await bench.run(['call', 'get_vms'])).stderr).toContain(offered);
  expect((await bench.run(['call', 'get_vms'])).stderr).not.toContain('nothing protects');
  expect((await bench.call('get_vms')).stderr).not.toContain('nothing protects');
});

it('is listed, and protected where it is named; the rest of the file stays', async () => {
  expect(await bench.run(['config', 'protect'])).toMatchObject({ status: 3, stdout: expect.stringMatching(/^guest:200 \(dns\) of demo/) });
  expect(await bench.run(['config', 'protect', 'guest:999'])).toMatchObject({ status: 1, stderr: expect.stringContaining('`guest:999`') });
  const done = await bench.run(['config', 'protect', 'guest:200', '--json']);
  expect([done.status, JSON.parse(done.stdout)]).toMatchObject([0, { protected: [{ kind: 'guest', name: '200' }], suggested: [] }]);
  const { protected: now, ...rest } = JSON.parse(readFileSync(bench.machineFile, 'utf8')) as { protected: { guests: unknown[] } };
  const { protected: before, ...kept } = bench.config as { protected: { guests: unknown[] } };
  expect(rest).toEqual(kept);
  expect(now.guests).toEqual([...before.guests, { vmid: 200, reason: 'is named as one that others depend on' }]);
  const refused = await bench.run(['call', 'stop_container', '--input', '{"vmid":200}']);
  expect(refused).toMatchObject({ status: 2, stdout: expect.stringContaining('the reason given: is named as one that others depend on') });
  expect(await bench.run(['config', 'protect'])).toMatchObject({ status: 0, stdout: '' });
});
