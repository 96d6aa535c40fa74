/**
 * Device nodes of the sandbox's own, for root. `bwrap --dev` binds the host's nodes, and root owns those: `chmod 0 /dev/null` in the sandbox
 * would break the machine. A read-only bind is no way out, for bubblewrap makes it `nodev`, too. Other users own no node.
 */
import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { launcherEnvironment } from './clean-environment.ts';
import { statsOf } from './entries.ts';
import type { DeviceNode } from './system-root.ts';

/** Major and minor number of what `--dev` would bind. There is no terminal: `/dev/tty` is another `null`. Source: Linux `devices.txt`. */
const numbers: readonly (readonly [name: string, major: number, minor: number])[] = [
  ['null', 1, 3],
  ['zero', 1, 5],
  ['full', 1, 7],
  ['random', 1, 8],
  ['urandom', 1, 9],
  ['tty', 1, 3],
];

/** @returns none for other users than root, and where nodes cannot be made: the probe then finds the host's */
export async function deviceNodes(stateDir: string, programs: ProgramRunner, signal: AbortSignal): Promise<readonly DeviceNode[]> {
  if (process.getuid?.() !== 0) return [];
  const folder = path.join(stateDir, 'sandbox', 'dev');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const nodes: DeviceNode[] = [];
  for (const [name, major, minor] of numbers) {
    const source = path.join(folder, name);
    if (!isNode(source, major, minor) && !(await make(source, [major, minor], programs, signal))) return [];
    nodes.push({ source, at: `/dev/${name}` });
  }
  resetModes(nodes);
  return nodes;
}

/** A former command may have changed them. */
export function resetModes(nodes: readonly DeviceNode[]): void {
  for (const { source } of nodes) chmodSync(source, 0o666);
}

/** Linux packs small numbers as `major << 8 | minor` (`makedev(3)`). */
function isNode(file: string, major: number, minor: number): boolean {
  const stats = statsOf(file);
  return stats?.isCharacterDevice() === true && stats.rdev === (major << 8) + minor;
}

async function make(file: string, pair: readonly [number, number], programs: ProgramRunner, signal: AbortSignal): Promise<boolean> {
  rmSync(file, { recursive: true, force: true });
  const args = [file, 'c', ...pair.map(String)];
  const request = { program: 'mknod', args, cwd: '/', env: launcherEnvironment, timeoutMs: 10_000, keepBytes: 1_000 };
  const made = await programs.run(request, signal).catch(() => undefined);
  signal.throwIfAborted();
  return made?.exitCode === 0;
}
