import { beforeEach, describe, expect, it } from 'vitest';
import { demoSeed } from '#demo/initial-state';
import { type Cluster, createCluster } from '#demo/pve/cluster';
import { createManualClock } from '#demo/pve/task-engine';
import { createRandom } from '#demo/random';
import { fileTree } from '#demo/ssh/file-tree';
import { durationSeconds, hasOption, readOptions } from '#demo/ssh/node-command';
import { runScript } from '#demo/ssh/run-script';

const at = Date.UTC(2026, 10, 21, 12);
let cluster: Cluster;

beforeEach(() => {
  cluster = createCluster({ seed: demoSeed(at, {}), clock: createManualClock(at), random: createRandom(1), taskDurationMs: 10 });
});

function nodeNamed(name: string) {
  const node = cluster.state.nodes.get(name);
  if (node === undefined) throw new Error(`no node ${name}`);
  return node;
}

function run(script: string, signal = new AbortController().signal) {
  return runScript({ cluster, node: nodeNamed('pve'), signal }, script);
}

describe('files', () => {
  it('are read, listed and matched', () => {
    const files = fileTree(cluster, nodeNamed('pve'));
    expect(files.read('/etc/hostname')).toBe('pve\n');
    expect(files.read('/etc/../etc/./hostname')).toBe('pve\n');
    expect(files.read('/etc/shadow')).toBeUndefined();
    expect(files.list('/etc/pve/nodes')).toEqual(['Home', 'agent1', 'pve']);
    expect(files.list('/etc/pve/qemu-server')).toEqual(['100.conf', '104.conf', '900.conf']);
    expect(files.list('/etc/hostname')).toBeUndefined();
    expect(files.list('/tmp')).toEqual([]);
    expect(files.expand('/sys/class/thermal/thermal_zone[02]/temp')).toEqual([
      '/sys/class/thermal/thermal_zone0/temp',
      '/sys/class/thermal/thermal_zone2/temp',
    ]);
    for (const none of ['/sys/class/*/temp', '/etc/host[', '/etc/[z-a]*']) expect(files.expand(none)).toEqual([none]);
    expect(files.expand('/etc/pve/nodes/*/config')).toHaveLength(3);
  });

  it('hold no secret: no keys, no shadow, no environment', async () => {
    for (const path of ['/etc/shadow', '/etc/pve/priv/authkey.key', '/root/.ssh/id_rsa', '/proc/self/environ', '/etc/pve/user.cfg'])
      expect(await run(`cat ${path}`)).toMatchObject({ exitCode: 1, stdout: '' });
  });
});

describe('filters', () => {
  it.each([
    ['cat /etc/hosts | grep -c pve', '1\n'],
    ['cat /etc/hosts | grep -v localhost | sort -r | head -n 1', '192.168.1.61 agent1.lan agent1\n'],
    ['grep -i HOME /etc/hosts /etc/hostname', '/etc/hosts:192.168.1.50 Home.lan Home\n'],
    ['grep -h pve /etc/hosts /etc/hostname', '192.168.1.60 pve.lan pve\npve\n'],
    ['seq 12 | tail -2', '11\n12\n'],
    ['seq 12 | tail -n 1', '12\n'],
    ['seq 12 | head', `${Array.from({ length: 10 }, (_, index) => index + 1).join('\n')}\n`],
    ['echo a b c | wc -w', '3\n'],
    ['echo -n abc | wc -c', '3\n'],
    ['seq 3 | sort -rn', '3\n2\n1\n'],
    ['grep -F . /etc/debian_version', '13.2\n'],
  ])('%s', async (script, stdout) => {
    expect(await run(script)).toEqual({ stdout, stderr: '', exitCode: 0 });
  });

  it('tell by their exit code whether anything matched', async () => {
    expect((await run('grep nosuch /etc/hosts')).exitCode).toBe(1);
    expect(await run('grep x /nosuch')).toMatchObject({ exitCode: 2, stderr: 'grep: /nosuch: No such file or directory\n' });
    expect(await run("grep '[' /etc/hosts")).toMatchObject({ exitCode: 2, stderr: 'grep: Invalid regular expression\n' });
    for (const endless of ['(a+)+$', '.*.*.*.*x', '(a*)*'])
      expect(await run(`echo ${'a'.repeat(60)}! | grep -E '${endless}'`)).toMatchObject({ stdout: '' });
    expect((await run("cat /etc/hosts | grep 'Home\\|agent1' | wc -l")).stdout).toBe('2\n');
    expect(await run('ls /nosuch /etc/pve/lxc')).toMatchObject({ exitCode: 2, stdout: '/etc/pve/lxc:\n201.conf\n' });
    expect(await run('cat /etc')).toMatchObject({ stderr: 'cat: /etc: Is a directory\n' });
  });
});

describe('wrappers', () => {
  it.each([
    ["LC_ALL=C exec timeout -k 2 27 sh -c 'LC_ALL=C hostname' </dev/null", 'pve\n'],
    ["LC_ALL=C exec timeout -k 2 27 'hostname' </dev/null", 'pve\n'],
    ['env LC_ALL=C hostname', 'pve\n'],
    ['timeout --kill-after 2 --signal TERM 1m /usr/bin/hostname', 'pve\n'],
    ['bash -c "echo \'a b\' | cat"', 'a b\n'],
    ['A=1', ''],
  ])('%s', async (script, stdout) => {
    expect(await run(script)).toEqual({ stdout, stderr: '', exitCode: 0 });
  });

  it('end what takes too long, and leave the rest', async () => {
    expect((await run('timeout 0.01 sleep 60; echo after')).stdout).toBe('after\n');
    expect((await run('timeout 0.01 sleep 60')).exitCode).toBe(124);
    expect((await run('timeout soon hostname')).exitCode).toBe(125);
    const gone = new AbortController();
    const sleeping = run('sleep 60; echo never', gone.signal);
    gone.abort();
    expect(await sleeping).toMatchObject({ stdout: '', exitCode: 143 });
  });

  it('have no way into a shell', async () => {
    expect(await run('sh')).toMatchObject({ exitCode: 2 });
    expect(await run('bash -i')).toMatchObject({ exitCode: 2 });
    expect(await run('/usr/bin/python3 -c 1')).toEqual({
      stdout: '',
      stderr: 'bash: line 1: /usr/bin/python3: No such file or directory\n',
      exitCode: 127,
    });
    expect(await run("sh -c 'echo $HOME'")).toMatchObject({ exitCode: 2 });
  });
});

it('reads options: clusters, values, the end of options', () => {
  const { options, operands } = readOptions(['-lh', '-n', '5', '--since=1 hour', '--unit', 'ssh', '--', '-x'], ['-n', '--unit']);
  expect([...options]).toEqual([
    ['-lh', ''],
    ['-n', '5'],
    ['--since', '1 hour'],
    ['--unit', 'ssh'],
  ]);
  expect(operands).toEqual(['-x']);
  expect([hasOption(options, 'h'), hasOption(options, 'x'), hasOption(options, 'z', '--since'), hasOption(options, 's')]).toEqual([
    true,
    false,
    true,
    false,
  ]);
});

it.each([
  ['5', 5],
  ['1.5', 1.5],
  ['2m', 120],
  ['1h', 3600],
  ['1d', 86_400],
  ['', undefined],
  ['x', undefined],
  ['-1', undefined],
])('reads the duration %j as %s', (text, seconds) => {
  expect(durationSeconds(text)).toBe(seconds);
});
