/**
 * The networks of `deploy/compose.yaml` in the kernel's own words: a bridge for each, a network namespace for each container, a cable
 * between them, and a way out only where the network is not `internal`. What a container engine adds (its packet filters) is left out: it
 * could only hold more.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { quoted } from '../cli/terminal.ts';

export interface ComposeService {
  readonly uid: number;
  /** By network. */
  readonly addresses: Readonly<Record<string, string>>;
  readonly text: string;
}

export interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<Record<string, { readonly isInternal: boolean; readonly subnet: string }>>;
}

const composeFile = new URL('../../../deploy/compose.yaml', import.meta.url);

/** The few facts that are needed, from a file whose indentation is two blanks a level. */
export function readCompose(): Compose {
  const [, services = '', networks = ''] = /^services:\n([\s\S]*?)^networks:\n([\s\S]*)$/m.exec(readFileSync(composeFile, 'utf8')) ?? [];
  return {
    services: Object.fromEntries(
      blocks(services).map(([name, text]) => {
        const found = text.matchAll(/^ {6}(\w+):\n {8}ipv4_address: ([\d.]+)$/gm);
        const addresses = Object.fromEntries([...found].map(([, network = '', address = '']) => [network, address]));
        return [name, { uid: Number(/^ {4}user: "(\d+):/m.exec(text)?.[1]), addresses, text }];
      }),
    ),
    networks: Object.fromEntries(
      blocks(networks).map(([name, text]) => [
        name,
        { isInternal: text.includes('internal: true'), subnet: /subnet: ([\d.]+)\.0\/24/.exec(text)?.[1] ?? '' },
      ]),
    ),
  };
}

function blocks(text: string): readonly (readonly [string, string])[] {
  return [...text.matchAll(/^ {2}(\w+):\n((?: {4}.*\n|\n| {2}#.*\n)*)/gm)].map(([, name = '', body = '']) => [name, body]);
}

/** Why not here; undefined: it can be done. */
export function whyNoTopology(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root on Linux makes networks and takes other users’ ids';
  const tried = spawnSync('unshare', ['-n', 'sh', '-c', 'ip link add name br0 type bridge && ip link add name v0 type veth peer name v1']);
  if (tried.status !== 0) return 'this kernel has no bridges or no `veth`';
  return spawnSync('redis-server', ['--version']).status === 0 || spawnSync('valkey-server', ['--version']).status === 0
    ? undefined
    : 'there is no valkey-server or redis-server';
}

export interface Topology {
  /** Starts a program in a container (`host`: beside them) as a user without any right of root's. */
  start(where: string, uid: number, command: readonly string[], env?: NodeJS.ProcessEnv): ChildProcess;
  /** The same, to its end. */
  run(
    where: string,
    uid: number,
    command: readonly string[],
    env?: NodeJS.ProcessEnv,
  ): { readonly status: number | null; readonly out: string };
  /** The same as a shell line, for a terminal. */
  line(where: string, uid: number, command: readonly string[]): string;
  close(): Promise<void>;
}

/** @param guests containers that are not in the file, as address by network */
export function buildTopology(
  { services, networks }: Compose,
  guests: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Topology {
  const made: string[] = [];
  const children: ChildProcess[] = [];
  const space = (name: string): string => `bkm${process.pid}-${name}`;
  const ip = (...words: readonly string[]): void => void execFileSync('ip', words, { stdio: ['ignore', 'ignore', 'pipe'] });
  const add = (name: string): void => {
    ip('netns', 'add', space(name));
    made.push(name);
    ip('-n', space(name), 'link', 'set', 'lo', 'up');
  };
  const join = (container: string, network: string, address: string, index: number): void => {
    const { isInternal, subnet } = networks[network] ?? { isInternal: true, subnet: '' };
    const [host, own] = [space('host'), space(container)];
    const cable = `v${made.length}-${index}`;
    ip('-n', host, 'link', 'add', 'name', cable, 'type', 'veth', 'peer', 'name', `eth${index}`, 'netns', own);
    ip('-n', host, 'link', 'set', cable, 'master', `br-${network}`, 'up');
    ip('-n', own, 'addr', 'add', `${address}/24`, 'dev', `eth${index}`);
    ip('-n', own, 'link', 'set', `eth${index}`, 'up');
    if (!isInternal) ip('-n', own, 'route', 'add', 'default', 'via', `${subnet}.1`);
  };
  const words = (where: string, uid: number, command: readonly string[]): readonly string[] => [
    ...['netns', 'exec', space(where), 'setpriv', '--reuid', String(uid), '--regid', String(uid), '--clear-groups'],
    ...['--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', '--', ...command],
  ];
  // As Docker has it for a user that the image does not list.
  const environment = { PATH: process.env['PATH'], TMPDIR: '/tmp', HOME: '/' };
  const close = async (): Promise<void> => {
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    for (const name of made.splice(0).reverse()) spawnSync('ip', ['netns', 'del', space(name)]);
  };
  try {
    add('host');
    // As a container engine's machine does: what stops an agent is not that nothing is forwarded.
    execFileSync('ip', ['netns', 'exec', space('host'), 'sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward']);
    for (const [name, { subnet }] of Object.entries(networks)) {
      ip('-n', space('host'), 'link', 'add', 'name', `br-${name}`, 'type', 'bridge');
      ip('-n', space('host'), 'addr', 'add', `${subnet}.1/24`, 'dev', `br-${name}`);
      ip('-n', space('host'), 'link', 'set', `br-${name}`, 'up');
    }
    const all = Object.entries({ ...Object.fromEntries(Object.entries(services).map(([name, one]) => [name, one.addresses])), ...guests });
    for (const [name, addresses] of all) {
      add(name);
      for (const [index, [network, address]] of Object.entries(addresses).entries()) join(name, network, address, index);
    }
  } catch (thrown) {
    for (const name of made.reverse()) spawnSync('ip', ['netns', 'del', space(name)]);
    throw thrown;
  }
  return {
    start: (where, uid, command, env = {}) => {
      const child = spawn('ip', words(where, uid, command), {
        env: { ...environment, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
        cwd: '/',
      });
      children.push(child);
      return child;
    },
    run: (where, uid, command, env = {}) => {
      const { status, stdout, stderr } = spawnSync('ip', words(where, uid, command), {
        ...{ env: { ...environment, ...env }, cwd: '/', encoding: 'utf8', timeout: 60_000 },
      });
      return { status, out: `${stdout}${stderr}` };
    },
    line: (where, uid, command) => ['ip', ...words(where, uid, command)].map(quoted).join(' '),
    close,
  };
}
