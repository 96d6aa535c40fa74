/** Machines made of network namespaces: each has a loopback of its own, one way to the server, and no other network at all. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { startChild } from './child-process.ts';

export interface Machine {
  /** The only address that leads anywhere: the server's, as this machine sees it. */
  readonly port: number;
  /** Runs a command on this machine. */
  readonly wrap: readonly string[];
}

const isRoot = process.getuid?.() === 0;
/** Without root's rights, in a user namespace of one's own. */
const [apart, ...apartOptions] = ['unshare', isRoot ? '-n' : '-rn'] as const;
const enter = isRoot ? ['-n'] : ['-U', '--preserve-credentials', '-n'];

/** Why not here; undefined: it can be done. */
export function whyNoNamespaces(): string | undefined {
  if (process.platform !== 'linux') return 'network namespaces are Linux’s';
  const tried = spawnSync(apart, [...apartOptions, 'ip', 'link', 'set', 'lo', 'up']);
  return tried.status === 0 ? undefined : 'this system lets nobody make network namespaces here (`unshare -n ip link set lo up`)';
}

/**
 * The cable to the server is a relay to its Unix socket, since not every kernel has a virtual one (`veth`).
 * Ends with the test that called it.
 */
export async function startMachine(socket: string): Promise<Machine> {
  const wrap = await startIsland();
  const relay = startChild('relay', [socket], wrap);
  return { port: Number(await relay.line()), wrap };
}

/** A network of its own without a way out; what runs a command there. Ends with the test that called it. */
export async function startIsland(): Promise<readonly string[]> {
  // It says a word once it is where it should be.
  const holder = spawn(apart, [...apartOptions, 'sh', '-c', 'ip link set lo up && echo in && exec sleep 100000'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void holder.kill('SIGKILL'));
  await once(holder.stdout, 'data');
  return ['nsenter', '-t', String(holder.pid), ...enter];
}
