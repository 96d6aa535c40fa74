/** Two clients for the demo's ssh nodes: OpenSSH's own, and ssh2's for what the command line cannot show. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import ssh2, { type Client, type ConnectConfig } from 'ssh2';
import type { DemoCluster } from '#demo/index';

export interface ShellAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A real OpenSSH client, where the machine has one. */
export const openssh = ['/usr/bin/ssh', '/usr/local/bin/ssh'].find((path) => existsSync(path));

/** Runs a command with OpenSSH, the demo's known_hosts and key, and strict checking. Any end is an answer. */
export function runOpenssh(binary: string, demo: DemoCluster, node: string, command: string): Promise<ShellAnswer> {
  const { ssh } = demo.config.clusters[0];
  const { host, port } = ssh.nodes[node] ?? { host: '', port: 0 };
  const options = {
    UserKnownHostsFile: ssh.knownHosts,
    GlobalKnownHostsFile: '/dev/null',
    StrictHostKeyChecking: 'yes',
    BatchMode: 'yes',
    IdentitiesOnly: 'yes',
    LogLevel: 'ERROR',
  };
  const flags = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  return new Promise((resolve) => {
    execFile(
      binary,
      ['-F', '/dev/null', ...flags, '-i', ssh.identityFiles[0] ?? '', '-p', String(port), `${ssh.user}@${host}`, command],
      { maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, stdout, stderr });
      },
    );
  });
}

/** Connects with ssh2. @param over settings that replace the right ones */
export function connectSsh2(demo: DemoCluster, node: string, over: Partial<ConnectConfig> = {}): Promise<Client> {
  const { ssh } = demo.config.clusters[0];
  const { host, port } = ssh.nodes[node] ?? { host: '', port: 0 };
  const client = new ssh2.Client();
  return new Promise((resolve, reject) => {
    client.once('ready', () => {
      // Otherwise each command waits about 90 ms for a delayed acknowledgement.
      client.setNoDelay(true);
      resolve(client);
    });
    client.once('error', reject);
    client.connect({ host, port, username: ssh.user, privateKey: readFileSync(ssh.identityFiles[0] ?? ''), readyTimeout: 10_000, ...over });
  });
}

/** Runs a command on an open connection. */
export function exec(client: Client, command: string): Promise<ShellAnswer> {
  return new Promise((resolve, reject) => {
    client.exec(command, (error, channel) => {
      if (error !== undefined) return reject(error);
      const out: Buffer[] = [];
      const errors: Buffer[] = [];
      let code = -1;
      channel.on('data', (chunk: Buffer) => out.push(chunk));
      channel.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
      channel.on('exit', (status: number) => {
        code = status;
      });
      channel.on('close', () => resolve({ code, stdout: Buffer.concat(out).toString(), stderr: Buffer.concat(errors).toString() }));
    });
  });
}
