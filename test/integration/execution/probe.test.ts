import { chmodSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { programRunner } from '#execution/run-child';
import { attempts, type Machine, probeSandbox } from '#execution/sandbox/probe-sandbox';
import { findProcessCages } from '#execution/sandbox/process-cage';
import { type Change, canSandbox, changedBubblewrap } from './support/bubblewrap.ts';
import { temporaryDirectory } from './support/temporary.ts';

const idle = () => new AbortController().signal;
const here: Machine = { platform: process.platform, architecture: process.arch, searchPath: '/usr/bin:/bin' };
const probe = (machine: Partial<Machine> = {}, stateDir = temporaryDirectory('state-')) =>
  probeSandbox(
    { machine: { ...here, ...machine }, programs: programRunner, home: '/nonexistent', stateDir, cages: findProcessCages() },
    idle(),
  ).then(({ status }) => status);
const probeChanged = (change: Change) => probe({ searchPath: changedBubblewrap(change) });
const isRoot = process.getuid?.() === 0;

describe.skipIf(!canSandbox)('the probe on a machine that can', () => {
  it('finds the sandbox enforced, and says how many attempts failed', async () => {
    const status = await probe();
    expect(status.state).toBe('enforced');
    expect(status.reason).toMatch(/\d+ attempts to get out failed/);
  });

  it('leaves nothing in the state directory', async () => {
    const state = temporaryDirectory('state-');
    await probe({}, state);
    expect(readdirSync(state).filter((name) => name !== 'sandbox')).toEqual([]);
  });

  it('works from a state directory that is not there yet, and keeps it to its owner', async () => {
    const state = path.join(temporaryDirectory(), 'a/b');
    await expect(probe({}, state)).resolves.toMatchObject({ state: 'enforced' });
  });

  it('holds through a wrapper that changes nothing', async () => {
    await expect(probeChanged({})).resolves.toMatchObject({ state: 'enforced' });
  });
});

// Each row takes one defence away: the probe must then see the way out that it closed.
const seccomp = ['--seccomp 4'];
const writableEtc = `for i in "\${!args[@]}"; do [[ \${args[i]} == --ro-bind && \${args[i+2]} == /etc ]] && args[i]=--bind; done
set -- "\${args[@]}"`;
const rows: readonly [string, Change, readonly (keyof typeof attempts)[]][] = [
  ['capabilities dropped', { without: ['--cap-drop ALL'] }, ['capabilities']],
  ['a network namespace', { without: ['--unshare-net'] }, ['network', 'namespaces']],
  ['a process namespace', { without: ['--unshare-pid', '--as-pid-1'] }, ['processes', 'namespaces']],
  ['a namespace for the host name', { without: ['--unshare-uts', `--hostname ${os.hostname()}`] }, ['namespaces']],
  ['a control group namespace', { without: ['--unshare-cgroup'] }, ['namespaces']],
  ['an IPC namespace', { without: ['--unshare-ipc'] }, ['namespaces']],
  ['the system call filter', { without: seccomp }, ['system_call_filter', 'foreign_memory', 'set_id']],
  ['the filter and no nested user namespaces', { without: [...seccomp, '--disable-userns'] }, ['user_namespace', 'system_call_filter']],
  ['a read-only root', { without: ['--remount-ro /'] }, ['write_system']],
  ['a read-only /etc', { before: writableEtc }, ['write_system']],
  ['a read-only /dev', { without: ['--remount-ro /dev'] }, ['write_system']],
  ['a cleared environment', { without: ['--clearenv'], before: 'export AWS_SECRET_ACCESS_KEY=mark' }, ['environment']],
  ['a process 1 of its own', { without: ['--as-pid-1'], before: 'export AWS_SECRET_ACCESS_KEY=mark' }, ['environment']],
];

describe.skipIf(!canSandbox)('the probe without', () => {
  it.each(rows)('%s finds the way out', async (_name, change, names) => {
    const status = await probeChanged(change);
    expect(status.state).toBe('degraded');
    for (const name of names) expect(status.reason).toContain(attempts[name]);
  });

  it.skipIf(!isRoot)('a read-only /proc finds the settings of the kernel open to root', async () => {
    const status = await probeChanged({ without: ['--remount-ro /proc'] });
    expect(status).toMatchObject({ state: 'degraded' });
    expect(status.reason).toContain(attempts.write_kernel);
  });

  it.skipIf(!isRoot)('a process 1 of its own finds that root can change the program that runs as it', async () => {
    const status = await probeChanged({ without: ['--as-pid-1'] });
    expect(status.reason).toContain(attempts.launcher);
  });

  it.skipIf(!isRoot)('device nodes of its own finds that root can change the host’s', async () => {
    const state = temporaryDirectory('state-');
    const nodes = ['null', 'zero', 'full', 'random', 'urandom', 'tty'].map(
      (name) => `--dev-bind ${state}/sandbox/dev/${name} /dev/${name}`,
    );
    const status = await probe({ searchPath: changedBubblewrap({ without: nodes }) }, state);
    expect(status).toMatchObject({ state: 'degraded' });
    expect(status.reason).toContain(attempts.devices);
  });

  it('a /dev/null that opens takes its own failures for none', async () => {
    const before = `for i in "\${!args[@]}"; do [[ \${args[i]} == --clearenv ]] && break; done
set -- "\${args[@]:0:i}" --remount-ro /dev/null "\${args[@]:i}"`;
    await expect(probeChanged({ before })).resolves.toMatchObject({
      state: 'degraded',
      reason: expect.stringContaining('the probe inside the sandbox'),
    });
  });

  it.skipIf(!isRoot)('control groups finds that nothing limits the processes of root, and says what would', async () => {
    const options = {
      machine: here,
      programs: programRunner,
      home: '/nonexistent',
      stateDir: temporaryDirectory('state-'),
      cages: undefined,
    };
    const { status } = await probeSandbox(options, idle());
    expect(status).toMatchObject({ state: 'degraded', reason: expect.stringContaining('/sys/fs/cgroup') });
    expect(status.reason).toContain(attempts.process_limit);
  });

  it.skipIf(!isRoot)('dropped capabilities and the filter finds that root can mount', async () => {
    const status = await probeChanged({
      without: ['--cap-drop ALL', ...seccomp, '--disable-userns', '--unshare-user', '--uid 1000', '--gid 1000'],
    });
    expect(status.state).toBe('degraded');
    expect(status.reason).toContain(attempts.remount);
  });

  it('nested user namespaces forbidden still holds, for the filter forbids them, too', async () => {
    await expect(probeChanged({ without: ['--disable-userns'] })).resolves.toMatchObject({ state: 'enforced' });
  });

  it('the filter still makes no user namespace, for bubblewrap forbids them, too', async () => {
    const status = await probeChanged({ without: seccomp });
    expect(status.reason).not.toContain(attempts.user_namespace);
  });

  it('a root of its own finds the bait outside read and written', async () => {
    const state = temporaryDirectory('state-');
    const before = `for i in "\${!args[@]}"; do [[ \${args[i]} == --clearenv ]] && break; done
set -- "\${args[@]:0:i}" --bind ${state} ${state} "\${args[@]:i}"`;
    const status = await probe({ searchPath: changedBubblewrap({ before }) }, state);
    expect(status.state).toBe('degraded');
    expect(status.reason).toContain(attempts.write_outside);
    expect(status.reason).toContain(attempts.read_outside);
  });
});

describe.skipIf(process.platform !== 'linux')('the probe on a machine that cannot', () => {
  it('says that bubblewrap is missing, and the package', async () => {
    const status = await probe({ searchPath: temporaryDirectory('empty-') });
    expect(status).toEqual({ state: 'unavailable', reason: expect.stringContaining('apt install bubblewrap') });
  });

  it.each([
    ['darwin', 'macOS'],
    ['win32', 'Windows'],
  ] as const)('says so on %s', async (platform, name) => {
    const status = await probe({ platform });
    expect(status).toEqual({ state: 'unavailable', reason: expect.stringContaining(name) });
  });

  it('says so on a processor without a filter', async () => {
    await expect(probe({ architecture: 'riscv64' })).resolves.toMatchObject({
      state: 'unavailable',
      reason: expect.stringContaining('riscv64'),
    });
  });

  it('takes a program that fails for no sandbox, and passes its words on', async () => {
    const searchPath = changedBubblewrap({
      instead: '[[ $1 == --help ]] && exec /usr/bin/bwrap --help; echo "bwrap: No permissions to create new namespace" >&2; exit 1',
    });
    const status = await probe({ searchPath });
    expect(status.state).toBe('unavailable');
    expect(status.reason).toContain('No permissions to create new namespace');
  });

  it('takes a program that ends well without running anything for no sandbox', async () => {
    const searchPath = changedBubblewrap({ instead: '[[ $1 == --help ]] && exec /usr/bin/bwrap --help; exit 0' });
    await expect(probe({ searchPath })).resolves.toMatchObject({ state: 'unavailable' });
  });

  it('is not taken in by a program that claims every attempt held', async () => {
    const lines = Object.keys(attempts).map((name) => `echo ${name}=held`);
    const searchPath = changedBubblewrap({
      instead: `[[ $1 == --help ]] && exec /usr/bin/bwrap --help; ${lines.join('; ')}; echo done=guess; echo '{ "child-pid": 999999999 }{ "exit-code": 0 }' >&3`,
    });
    const status = await probe({ searchPath });
    expect(status.state).not.toBe('enforced');
  });

  it('names the options that an older program lacks', async () => {
    const searchPath = changedBubblewrap({ instead: 'echo "--seccomp FD --bind SRC DEST"; exit 0' });
    const status = await probe({ searchPath });
    expect(status.state).toBe('unavailable');
    expect(status.reason).toContain('--disable-userns');
    expect(status.reason).toContain('update the package');
  });

  it('does not run something in the PATH that is no program', async () => {
    const directory = temporaryDirectory('bwrap-');
    mkdirSync(path.join(directory, 'bwrap'));
    await expect(probe({ searchPath: directory })).resolves.toMatchObject({ state: 'unavailable' });
    const other = temporaryDirectory('bwrap-');
    writeFileSync(path.join(other, 'bwrap'), 'no');
    chmodSync(path.join(other, 'bwrap'), 0o644);
    await expect(probe({ searchPath: other })).resolves.toMatchObject({ state: 'unavailable' });
  });

  it('never looks in relative places', async () => {
    await expect(probe({ searchPath: `.${path.delimiter}${path.delimiter}bin` })).resolves.toMatchObject({ state: 'unavailable' });
  });

  it.skipIf(!canSandbox)('says what the kernel says where user namespaces are used up', async () => {
    // A real refusal: inside a user namespace whose own limit is none.
    const limit = 'echo 0 > /proc/sys/user/max_user_namespaces';
    const searchPath = changedBubblewrap({
      before: `[[ $1 == --help ]] || exec unshare --user --map-root-user /bin/bash -c '${limit}; exec /usr/bin/bwrap "$@"' bash "$@"`,
    });
    const status = await probe({ searchPath });
    expect(status.state).toBe('unavailable');
    expect(status.reason).toMatch(/namespace|No space left/i);
    expect(status.reason).toMatch(/;\s\S/);
  });

  it('stops when its caller gives up', async () => {
    const controller = new AbortController();
    controller.abort(new Error('enough'));
    const options = {
      machine: here,
      programs: programRunner,
      home: '/nonexistent',
      stateDir: path.join(os.tmpdir(), 'banksman-never'),
      cages: undefined,
    };
    await expect(probeSandbox(options, controller.signal)).rejects.toThrow('enough');
  });
});
