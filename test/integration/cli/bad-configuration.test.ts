/** A configuration that does not fit, and calls that are wrong in themselves: said with the field and what is allowed (docs/design.md#state-and-configuration). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, cli, startBench } from './support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(async () => {
  await bench.close();
});

const configured = (changes: object) => ['--config', JSON.stringify({ ...bench.config, ...changes })];

describe('a configuration', () => {
  it.each([
    [
      'with a workspace that is not there',
      { workspace: { root: '/nowhere/at/all' } },
      /`workspace\.root`: must be a directory.*found `\/nowhere\/at\/all`/,
    ],
    [
      'that makes a tool stricter that is none',
      { tiers: { stop_wm: 'black' } },
      /`tiers`: no tool is named `stop_wm`; allowed: get_cluster_status,/,
    ],
  ])('%s does not start', async (_what, changes, message) => {
    const { status, stdout, stderr } = await bench.run(['call', 'get_vms', '--json', ...configured(changes)]);
    expect(JSON.parse(stdout)).toMatchObject({ status: 'error', code: 'bad_config', message: expect.stringMatching(message) });
    expect({ status, stderr }).toMatchObject({ status: 1, stderr: expect.stringMatching(message) });
  });

  it('whose known hosts are a directory says so at the first command, and nothing keeps the program', async () => {
    const [cluster] = bench.config['clusters'] as { ssh: object }[];
    const clusters = [{ ...cluster, ssh: { ...cluster?.ssh, knownHosts: bench.folder } }];
    const words = ['call', 'execute_ssh', '--input', '{"node":"pve","command":"uptime"}', '--json', ...configured({ clusters })];
    const child = spawn(process.execPath, [cli, ...words], { env: bench.env, stdio: ['ignore', 'pipe', 'ignore'] });
    const ended = once(child, 'close');
    expect(JSON.parse(await text(child.stdout))).toMatchObject({
      code: 'ssh_known_hosts_unreadable',
      message: expect.stringContaining('which is a directory, not a file'),
    });
    expect(await ended).toEqual([1, null]);
  });
});

describe('an option that a script left empty', () => {
  // `--state "$UNSET"` would put the store into the current directory, which may be a workspace that agents write to.
  it.each(['state', 'config', 'store'])('--%s is refused, and nothing is made in the current directory', async (option) => {
    const cwd = join(bench.folder, `empty-${option}`);
    mkdirSync(cwd);
    const child = spawn(process.execPath, [cli, 'approvals', 'list', `--${option}=`], { env: bench.env, cwd, stdio: 'ignore' });
    expect(await once(child, 'close')).toEqual([1, null]);
    expect(readdirSync(cwd)).toEqual([]);
  });
});

describe('policy explain', () => {
  it.each([
    ['nosuch', {}, 1],
    ['stop_vm', { vmid: 'x' }, 1],
    ['stop_vm', { vmid: 99_999 }, 1],
    ['stop_vm', { vmid: 103 }, 2],
    ['reboot_node', { node: 'nosuch' }, 2],
    ['stop_vm', { vmid: 100 }, 3],
    ['get_vms', {}, 0],
  ])('%s %j exits as the call itself would: %i', async (tool, input, status) => {
    const words = [tool, '--input', JSON.stringify(input), '--config', bench.configFile];
    expect((await bench.run(['policy', 'explain', ...words])).status).toBe(status);
    expect((await bench.run(['call', ...words])).status).toBe(status);
  });
});

describe('what is told on the way', () => {
  it('is for a terminal, or for who asks: a program gets the outcome alone', async () => {
    const words = ['call', 'restart_service', '--input', '{"node":"pve","service":"nginx"}', '--config', bench.configFile];
    expect((await bench.run(words)).stderr).not.toContain('…');
    expect((await bench.run([...words, '--verbose'])).stderr).toContain('… restarting nginx.service on pve\n');
  });
});

it('a current directory that is gone is said to be', async () => {
  const folder = join(bench.folder, 'gone');
  mkdirSync(folder);
  const script = `process.chdir(${JSON.stringify(folder)}); require('node:fs').rmdirSync(${JSON.stringify(folder)});
    process.argv.splice(1, 0, ${JSON.stringify(cli)}); require(${JSON.stringify(cli)});`;
  const child = spawn(process.execPath, ['-e', script, 'call', 'get_vms'], { env: bench.env, stdio: ['ignore', 'ignore', 'pipe'] });
  expect(await text(child.stderr)).toContain('the current directory is no longer there');
});
