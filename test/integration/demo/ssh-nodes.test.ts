/** The ssh nodes as a client sees them: who may log in, what commands answer, what goes wrong when told to. */
import { readFileSync } from 'node:fs';
import ssh2, { type Client, type ParsedKey } from 'ssh2';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createManualClock, type DemoCluster, demoTokens, startDemoCluster } from '#demo/index';
import { generateOpensshKey } from '#demo/ssh/node-server';
import { data } from './api-client.ts';
import { connectSsh2, exec, openssh, runOpenssh, type ShellAnswer } from './ssh-client.ts';

let demo: DemoCluster;
let client: Client;

beforeAll(async () => {
  demo = await startDemoCluster({ clock: createManualClock(Date.UTC(2026, 10, 21, 12)) });
});
afterAll(() => demo.close());
afterEach(() => demo.faults.clear());

async function on(node: string, command: string): Promise<ShellAnswer> {
  const own = await connectSsh2(demo, node);
  const answer = await exec(own, command);
  own.end();
  return answer;
}

describe.runIf(openssh !== undefined)('with OpenSSH’s client', () => {
  const run = (node: string, command: string) => runOpenssh(openssh ?? '', demo, node, command);

  it.each(['Home', 'pve', 'agent1'])('%s is known by its key and answers', async (node) => {
    expect(await run(node, 'hostname')).toEqual({ code: 0, stdout: `${node}\n`, stderr: '' });
  });

  it('passes exit codes and stderr', async () => {
    expect(await run('pve', 'qm destroy 100')).toMatchObject({
      code: 255,
      stderr: expect.stringContaining('`list`, `status` and `config` only'),
    });
    expect(await run('pve', 'rm -rf /')).toEqual({ code: 127, stdout: '', stderr: 'bash: line 1: rm: command not found\n' });
  });

  it('refuses a changed host key and carries much output', async () => {
    expect((await run('pve', 'seq 300000')).stdout.split('\n')).toHaveLength(300_001);
    demo.faults.ssh.changeHostKey('pve');
    expect(await run('pve', 'hostname')).toMatchObject({ code: 255, stderr: expect.stringContaining('Host key verification failed') });
  });
});

function parsedKey(text: string): ParsedKey {
  const key = ssh2.utils.parseKey(text);
  if (key instanceof Error) throw key;
  return key;
}

describe('login', () => {
  it('is for the demo’s key and user only', async () => {
    await expect(connectSsh2(demo, 'pve', { privateKey: generateOpensshKey('stranger').privateFile })).rejects.toThrow(
      /authentication methods failed/,
    );
    await expect(connectSsh2(demo, 'pve', { username: 'admin' })).rejects.toThrow(/authentication methods failed/);
    await expect(connectSsh2(demo, 'pve', { privateKey: '', password: 'secret' })).rejects.toThrow(/authentication methods failed/);
  });

  it('takes more than knowing the public key: the signature must fit it', async () => {
    const [known, stranger] = [
      readFileSync(demo.config.clusters[0].ssh.identityFiles[0] ?? '', 'utf8'),
      generateOpensshKey('stranger').privateFile,
    ].map(parsedKey);
    if (known === undefined || stranger === undefined) throw new Error('two keys');
    class Pretender extends ssh2.BaseAgent {
      override getIdentities(callback: (error: undefined, keys: ParsedKey[]) => void): void {
        callback(undefined, [known as ParsedKey]);
      }
      override sign(_key: unknown, bytes: Buffer, _options: unknown, callback?: (error: undefined, signature: Buffer) => void): void {
        callback?.(undefined, (stranger as ParsedKey).sign(bytes));
      }
    }
    await expect(connectSsh2(demo, 'pve', { privateKey: '', agent: new Pretender() })).rejects.toThrow(/authentication methods failed/);
  });

  it('gives each node a host key of its own, and writes all of them down', async () => {
    const known = readFileSync(demo.config.clusters[0].ssh.knownHosts, 'utf8').trim().split('\n');
    expect(known).toHaveLength(3);
    expect(new Set(known.map((line) => line.split(' ')[2])).size).toBe(3);
    const keys: string[] = [];
    (await connectSsh2(demo, 'pve', { hostVerifier: (key: Buffer) => keys.push(key.toString('base64')) > 0 })).end();
    const port = demo.config.clusters[0].ssh.nodes['pve']?.port;
    expect(known).toContain(`[127.0.0.1]:${port} ssh-ed25519 ${keys[0]}`);
  });
});

describe('commands', () => {
  const connections = new Map<string, Client>();

  beforeAll(async () => {
    for (const node of ['Home', 'pve']) connections.set(node, await connectSsh2(demo, node));
  });
  afterAll(() => {
    for (const connection of connections.values()) connection.end();
  });

  function through(node: string, command: string): Promise<ShellAnswer> {
    const connection = connections.get(node);
    if (connection === undefined) throw new Error(`no connection to ${node}`);
    return exec(connection, command);
  }

  it('understand the wrapper a client puts around them', async () => {
    const inner = "grep -H '' /sys/class/thermal/thermal_zone*/type /sys/class/thermal/thermal_zone*/temp";
    const wrapped = `LC_ALL=C exec timeout -k 2 27 sh -c '${inner.replace(/'/g, "'\\''")}' </dev/null`;
    const { code, stdout } = await through('pve', wrapped);
    expect(code).toBe(0);
    expect(stdout.split('\n')).toContain('/sys/class/thermal/thermal_zone1/temp:44000');
    expect(stdout.split('\n')).toContain('/sys/class/thermal/thermal_zone1/type:x86_pkg_temp');
    expect(await through('pve', "LC_ALL=C exec timeout -k 2 27 'hostname' </dev/null")).toEqual({ code: 0, stdout: 'pve\n', stderr: '' });
    expect((await through('pve', 'timeout -k 2 27 cat /sys/class/thermal/thermal_zone*/temp 2>/dev/null')).stdout).toBe(
      '27800\n44000\n48500\n',
    );
  });

  it('are ended by `timeout` with 124', async () => {
    expect(await through('pve', "timeout -k 2 0.05 sh -c 'sleep 60'")).toMatchObject({ code: 124 });
    expect(await through('pve', 'timeout 60 sleep 0.01')).toMatchObject({ code: 0 });
  });

  it('restart services, and the API sees it', async () => {
    expect(await through('pve', 'systemctl is-active nfs-server')).toEqual({ code: 3, stdout: 'inactive\n', stderr: '' });
    expect(await through('pve', 'systemctl restart -- nfs-server.service')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(await through('pve', 'systemctl is-active nfs-server')).toEqual({ code: 0, stdout: 'active\n', stderr: '' });
    expect(await through('Home', 'systemctl is-active nfs-server')).toMatchObject({ stdout: 'inactive\n' });
    const failing = await through('pve', 'systemctl restart failing.service');
    expect([failing.code, failing.stderr]).toEqual([1, expect.stringContaining('Job for failing.service failed')]);
    expect((await through('pve', 'systemctl is-active failing')).stdout).toBe('failed\n');
    expect((await through('pve', 'journalctl -u failing -n 1 --no-pager')).stdout).toContain('Failed to start failing.service');
    expect(await through('pve', 'systemctl restart nosuch')).toEqual({
      code: 5,
      stdout: '',
      stderr: 'Failed to restart nosuch.service: Unit nosuch.service not found.\n',
    });
    demo.cluster.state.nodes.get('pve')?.services.forEach((service) => {
      if (service.name === 'cron') service.active = 'failed';
    });
    await through('pve', 'systemctl restart cron');
    expect(await data(demo, { path: '/nodes/pve/services/cron/state', authorization: demo.authorization[demoTokens.ops] })).toMatchObject({
      'active-state': 'active',
    });
  });

  it('read the cluster that the API shows', async () => {
    const guests = JSON.parse((await through('Home', 'pvesh get /cluster/resources --type vm --output-format json')).stdout) as readonly {
      readonly vmid: number;
    }[];
    expect(guests.map((guest) => guest.vmid).sort((one, other) => one - other)).toEqual([100, 101, 103, 104, 105, 200, 201, 900]);
    expect(await through('pve', 'pvesh set /nodes/pve/config')).toMatchObject({ code: 255 });
    expect((await through('pve', 'pvesh get /nosuch')).stderr).toBe("No 'get' handler defined for '/nosuch'\n");
    expect((await through('pve', 'pct list')).stdout).toContain('       201 proxy                running');
    expect((await through('pve', 'qm status 100')).stdout).toBe('status: running\n');
  });

  it('may be piped, chained and redirected, and nothing else', async () => {
    expect((await through('pve', 'df -h | grep -v tmpfs | wc -l')).stdout).toBe('5\n');
    expect((await through('pve', 'false || echo "a  b" && echo c; echo d')).stdout).toBe('a  b\nc\nd\n');
    expect((await through('pve', 'cat /nosuch 2>/dev/null')).stderr).toBe('');
    expect(await through('pve', 'cat /nosuch 2>&1')).toMatchObject({ code: 1, stdout: 'cat: /nosuch: No such file or directory\n' });
    for (const command of ['echo $(id)', 'echo `id`', 'echo $HOME', '(id)', 'id &', 'echo x > /tmp/x', "echo 'open"]) {
      expect(await through('pve', command)).toMatchObject({ code: 2, stdout: '' });
    }
  });

  it.each([
    ['hostname -I', '192.168.1.60'],
    ['uname -a', 'Linux pve 6.17'],
    ['uptime', 'up 12 days'],
    ['date', '2026'],
    ['nproc', '4'],
    ['free -h', 'Mem:'],
    ['lsblk', 'sda'],
    ['pveversion', 'pve-manager/9.1.5'],
    ['ps aux', 'pvedaemon'],
    ['ls -la /etc/pve/qemu-server /etc/pve/lxc', '201.conf'],
    ['ls /var/lib/vz/dump', 'vzdump-qemu-100'],
    ['top -bn1', 'load average'],
    ['systemctl status pveproxy --no-pager', 'active (running)'],
    ['journalctl -n 3', 'systemd'],
    ['sensors -j', 'coretemp'],
    ['ip -br addr', '192.168.1.60'],
    ['cat /proc/loadavg', '.'],
    ['pvecm status', 'Quorate:          Yes'],
    ['cat /etc/os-release | head -1', 'trixie'],
    ['uptime -s', '2026-11-09'],
    ['dmesg | tail -1', 'Linux version'],
  ])('%s', async (command, part) => {
    const answer = await through('pve', command);
    expect(answer).toMatchObject({ code: 0, stderr: '' });
    expect(answer.stdout).toContain(part);
  });
});

describe('limits and faults', () => {
  it('are ten sessions on a connection', async () => {
    client = await connectSsh2(demo, 'pve');
    const sleeping = Array.from({ length: 10 }, () => exec(client, 'sleep 60'));
    for (const more of [exec(client, 'hostname'), exec(client, 'hostname')]) await expect(more).rejects.toThrow(/Channel open failure/);
    client.end();
    // Their channels close with the connection, and the node forgets them.
    expect((await Promise.all(sleeping)).map((answer) => answer.code)).toEqual(Array.from({ length: 10 }, () => -1));
    expect((await on('pve', 'hostname')).stdout).toBe('pve\n');
  });

  it('authentication refused, channels refused', async () => {
    demo.faults.ssh.refuseAuth('pve');
    await expect(connectSsh2(demo, 'pve')).rejects.toThrow(/authentication methods failed/);
    await demo.faults.clear();
    demo.faults.ssh.refuseChannels('pve');
    client = await connectSsh2(demo, 'pve');
    await expect(exec(client, 'hostname')).rejects.toThrow(/Channel open failure/);
    client.end();
    expect((await on('Home', 'hostname')).stdout).toBe('Home\n');
  });

  it('connection refused, and back on the same port', async () => {
    await demo.faults.ssh.refuseConnections('pve');
    await expect(connectSsh2(demo, 'pve')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    await demo.faults.clear();
    expect((await on('pve', 'hostname')).stdout).toBe('pve\n');
  });

  it('a command that never answers, whatever signal it is sent', async () => {
    demo.faults.ssh.hang('pve');
    client = await connectSsh2(demo, 'pve');
    const events: string[] = [];
    await new Promise<void>((resolve, reject) => {
      client.exec('hostname', (error, channel) => {
        if (error !== undefined) return reject(error);
        for (const event of ['data', 'exit', 'close']) channel.on(event, () => events.push(event));
        channel.signal('KILL');
        resolve();
      });
    });
    expect((await on('Home', 'hostname')).stdout).toBe('Home\n');
    expect(events).toEqual([]);
    const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
    client.end();
    await closed;
  });

  it('a node that is down drops its connections', async () => {
    client = await connectSsh2(demo, 'pve');
    const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
    client.on('error', () => undefined);
    await demo.faults.nodeDown('pve');
    await closed;
    await expect(connectSsh2(demo, 'pve')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
