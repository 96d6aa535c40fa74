/** The moments before a command is itself: who holds it back, and the `/etc` that is made for it. */

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { sandboxEnvironment, sandboxUser } from '#execution/sandbox/clean-environment';
import { followEtc } from '#execution/sandbox/follow-etc';
import { launch } from '#execution/sandbox/launch';
import type { ProcessCage, ProcessCages } from '#execution/sandbox/process-cage';
import { gateDescriptor, limitedCommand } from '#execution/sandbox/sandbox-arguments';
import { canSandbox } from './support/bubblewrap.ts';
import { temporaryDirectory } from './support/temporary.ts';
import { openWorkbench } from './support/workbench.ts';

const limits = { fileBytes: 2 ** 20, tasks: 64, openFiles: 256, cpuSeconds: 60 };
const treeLimits = { processes: 1_000, memoryBytes: 2 ** 40, diskBytes: 2 ** 40 };

/** A command in a sandbox whose first process is handed to `hold` before it may go on. */
function launchHeld(workspaceRoot: string, command: string, hold: ProcessCage['hold'], signal = new AbortController().signal) {
  const home = { directory: '/home/me', visible: [], files: new Map<string, string>(), env: {} };
  const cages: ProcessCages = { prepare: () => undefined, open: () => ({ expect: () => undefined, hold, remove: async () => undefined }) };
  const place = { workspaceRoot, readonly: false, network: false, home, devices: [], mounts: [] };
  const inside = { env: sandboxEnvironment(home, {}, false), command: limitedCommand(command, limits), user: sandboxUser() };
  const etc = followEtc(temporaryDirectory('state-'), sandboxUser())();
  const architecture = process.arch === 'arm64' ? 'arm64' : 'x64';
  const plan = { ...place, ...inside, architecture, etc, memoryDiskBytes: 2 ** 24 } as const;
  const options = {
    program: '/usr/bin/bwrap',
    timeoutMs: 30_000,
    keepBytes: 1_000,
    stopAfterBytes: 1_000_000,
    treeLimits,
    tasks: 64,
    cages,
  };
  return launch(plan, options, signal);
}

const readCall = process.arch === 'arm64' ? 63 : 0;
/** Once the process waits on its gate: `proc(5)`, syscall. */
async function waitsAtGate(pid: number): Promise<void> {
  const waits = `${readCall} 0x${gateDescriptor.toString(16)} `;
  await vi.waitFor(() => expect(readFileSync(`/proc/${pid}/syscall`, 'utf8')).toMatch(new RegExp(`^${waits}`)), {
    timeout: 20_000,
    interval: 5,
  });
}
const childrenOf = (pid: number) => readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');

describe.skipIf(!canSandbox)('a command that is not yet held by what limits it', () => {
  it('waits alone, and starts afterwards', async () => {
    const workspace = temporaryDirectory('start-');
    let children: string | undefined;
    const result = await launchHeld(workspace, 'touch ran; echo ran', async (pid) => {
      await waitsAtGate(pid);
      expect(existsSync(path.join(workspace, 'ran'))).toBe(false);
      children = childrenOf(pid);
    });
    expect(children).toBe('');
    expect(result).toMatchObject({ exitCode: 0, stdout: 'ran\n' });
  });

  it('never starts where it cannot be held', async () => {
    const workspace = temporaryDirectory('start-');
    const run = launchHeld(workspace, 'touch ran', async (pid) => {
      await waitsAtGate(pid);
      throw new Error('no such group');
    });
    await expect(run).rejects.toMatchObject({ code: 'sandbox_failed', message: expect.stringContaining('no such group') });
    expect(existsSync(path.join(workspace, 'ran'))).toBe(false);
  });

  it('never starts where its caller gives up meanwhile', async () => {
    const workspace = temporaryDirectory('start-');
    const controller = new AbortController();
    const run = launchHeld(
      workspace,
      'touch ran',
      async (pid) => {
        await waitsAtGate(pid);
        controller.abort();
        await vi.waitFor(() => expect(existsSync(`/proc/${pid}/exe`)).toBe(false), { timeout: 20_000, interval: 5 });
      },
      controller.signal,
    );
    await expect(run).resolves.toMatchObject({ end: 'abort' });
    expect(existsSync(path.join(workspace, 'ran'))).toBe(false);
  });
});

describe.skipIf(process.platform !== 'linux')('the /etc that is made for commands', () => {
  const user = { uid: 1_000, gid: 1_000 };
  /** Another machine's. */
  function host(): string {
    const directory = temporaryDirectory('etc-');
    for (const name of ['fonts', 'ssl/private', 'ssl/certs']) mkdirSync(path.join(directory, name), { recursive: true });
    for (const name of ['services', 'shadow', 'passwd', 'hostname', 'ssl/private/key.pem', 'ssl/openssl.cnf', 'ssl/certs/one.pem'])
      writeFileSync(path.join(directory, name), `${name} of the host\n`);
    symlinkSync('/usr/share/zoneinfo/Etc/UTC', path.join(directory, 'localtime'));
    symlinkSync('ssl/certs/one.pem', path.join(directory, 'mime.types'));
    symlinkSync('nowhere', path.join(directory, 'protocols'));
    return directory;
  }
  const inside = (directory: string) => readdirSync(directory, { recursive: true }).map(String).sort();

  it('holds what is listed and no secret, large directories as places to mount', () => {
    const { directory, mounts } = followEtc(temporaryDirectory('state-'), user, { host: host() })();
    expect(inside(directory)).toEqual(
      [
        'fonts',
        'group',
        'hostname',
        'hosts',
        'localtime',
        'mime.types',
        'nsswitch.conf',
        'passwd',
        'resolv.conf',
        'services',
        'ssl',
      ].concat(['ssl/certs', 'ssl/openssl.cnf']),
    );
    expect(mounts).toEqual(['fonts', 'ssl/certs']);
    expect(readFileSync(path.join(directory, 'mime.types'), 'utf8')).toBe('ssl/certs/one.pem of the host\n');
    expect(readFileSync(path.join(directory, 'passwd'), 'utf8')).not.toContain('host');
  });

  it('is the same for the next process, and another one once the host’s has changed', () => {
    const [state, from] = [temporaryDirectory('state-'), host()];
    const etc = followEtc(state, user, { host: from });
    const first = etc();
    expect(etc()).toBe(first);
    expect(followEtc(state, user, { host: from })()).toEqual(first);
    const inode = statSync(first.directory).ino;
    for (const name of ['services', 'ssl/certs/one.pem']) {
      const before = etc();
      writeFileSync(path.join(from, name), 'changed\n');
      expect(etc().directory).not.toBe(before.directory);
    }
    expect(readFileSync(path.join(etc().directory, 'services'), 'utf8')).toBe('changed\n');
    // A run may still have the former one.
    expect(statSync(first.directory).ino).toBe(inode);
    expect(readFileSync(path.join(first.directory, 'services'), 'utf8')).toBe('services of the host\n');
  });

  it('is made anew where it is gone or was cut short, and old ones are removed', () => {
    const [state, from] = [temporaryDirectory('state-'), host()];
    const etc = followEtc(state, user, { host: from });
    const { directory } = etc();
    rmSync(directory, { recursive: true });
    expect(etc().directory).toBe(directory);
    truncateSync(path.join(directory, 'services'));
    expect(followEtc(state, user, { host: from })().directory).toBe(directory);
    expect(statSync(path.join(directory, 'services')).size).toBeGreaterThan(0);
    utimesSync(directory, new Date(0), new Date(0));
    writeFileSync(path.join(from, 'services'), 'changed\n');
    etc();
    expect(existsSync(directory)).toBe(false);
  });

  it('that cannot be kept is a fault that says where', () => {
    const state = temporaryDirectory('state-');
    writeFileSync(path.join(state, 'sandbox'), '');
    const etc = followEtc(state, user, { host: host() });
    expect(etc).toThrow(expect.objectContaining({ code: 'sandbox_failed', next: expect.stringContaining(path.join(state, 'sandbox')) }));
  });

  it.skipIf(!canSandbox)('cannot be changed by a command, nor for the next one', async () => {
    const bench = openWorkbench();
    const changes = ['echo x > /etc/new', 'echo x >> /etc/hosts', 'chmod 666 /etc/hosts', 'rm -f /etc/hosts', 'mv /etc/hosts /etc/h'];
    const more = ['touch -d 2001-01-01 /etc/hosts', 'ln -sf /tmp /etc/localtime', 'mkdir /etc/fonts.d', 'mount -o remount,rw /etc'];
    const result = await bench.run([...changes, ...more].map((change) => `${change} && echo "${change}"`).join('\n'));
    expect(result.stdout).toBe('');
    const staged = readdirSync(path.join(bench.state, 'sandbox')).filter((name) => name.startsWith('etc-'));
    expect(staged).toHaveLength(1);
    await expect(bench.run('cat /etc/hosts | wc -l; ls /etc/shadow /etc/ssl/private')).resolves.toMatchObject({ stdout: '3\n' });
  });
});
