import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { homeDirectory } from '#execution/sandbox/home';
import { attempts } from '#execution/sandbox/probe-sandbox';
import { canSandbox, changedBubblewrap } from './support/bubblewrap.ts';
import { noneLeft, processesMarked } from './support/processes.ts';
import { temporaryDirectory } from './support/temporary.ts';
import { openWorkbench } from './support/workbench.ts';

const posix = process.platform !== 'win32';
const without = (): NodeJS.ProcessEnv => ({ ...process.env, PATH: temporaryDirectory('empty-') });

describe.skipIf(!posix)('where there is no sandbox', () => {
  it('a command does not run, and the fault says why and who can let it', async () => {
    const bench = openWorkbench({ environment: without() });
    await expect(bench.run('touch ran')).rejects.toMatchObject({
      code: 'sandbox_required',
      message: expect.stringContaining('bubblewrap is not installed'),
      next: expect.stringContaining('a person'),
    });
    expect(existsSync(path.join(bench.workspace, 'ran'))).toBe(false);
  });

  it('a command runs with a person’s leave for it, and the result says that nothing held it', async () => {
    const bench = openWorkbench({ environment: without() });
    const result = await bench.run('echo ran; pwd', { allowUnsandboxed: true });
    expect(result).toMatchObject({ stdout: `ran\n${bench.workspace}\n`, exitCode: 0, sandbox: 'unavailable' });
    // The next one needs its own.
    await expect(bench.run('echo again')).rejects.toMatchObject({ code: 'sandbox_required' });
  });

  it('no leave helps where the sandbox is required', async () => {
    const bench = openWorkbench({ environment: without(), requireSandbox: true });
    await expect(bench.run('touch ran', { allowUnsandboxed: true })).rejects.toMatchObject({
      code: 'sandbox_required',
      next: expect.stringContaining('doctor'),
    });
    expect(existsSync(path.join(bench.workspace, 'ran'))).toBe(false);
  });

  it('the environment is clean all the same', async () => {
    const environment = {
      ...without(),
      AWS_SECRET_ACCESS_KEY: 'mark-1',
      SSH_AUTH_SOCK: 'mark-2',
      LD_PRELOAD: '',
      BASH_ENV: 'mark-3',
      NODE_OPTIONS: 'mark-4',
    };
    const result = await openWorkbench({ environment }).run('/usr/bin/env', { allowUnsandboxed: true });
    expect(result.stdout).toContain('PATH=');
    expect(result.stdout).not.toMatch(/mark-|AWS|SSH_AUTH|NODE_OPTIONS/);
  });

  it('its time and its caller end the process group', async () => {
    const bench = openWorkbench({ environment: { ...without(), PATH: '/nowhere:/usr/sbin' } });
    const name = `banksman-${randomUUID()}`;
    const loop = `/bin/bash -c 'exec -a ${name} /bin/sleep 600' & exec -a ${name} /bin/sleep 600`;
    await expect(bench.run(loop, { allowUnsandboxed: true, timeoutMs: 500 })).resolves.toMatchObject({ timedOut: true, signal: 'SIGKILL' });
    await noneLeft(name);
  });

  it('a child that keeps the output open does not keep the caller waiting', async () => {
    const bench = openWorkbench({ environment: without() });
    const name = `banksman-${randomUUID()}`;
    const result = await bench.run(`/usr/bin/setsid /bin/bash -c 'exec -a ${name} /bin/sleep 600' & echo done`, { allowUnsandboxed: true });
    // It left the group: out of reach without a sandbox, which is why a person was asked.
    for (const pid of processesMarked(name)) process.kill(pid, 'SIGKILL');
    expect(result.stdout).toBe('done\n');
  });

  it('floods and what was planted are found all the same', async () => {
    const bench = openWorkbench({ environment: without(), limits: { floodBytes: 10_000 } });
    const result = await bench.run(
      '/usr/bin/mkfifo f; /bin/ln -s /etc out; /bin/mkdir .vscode; echo {} > .vscode/tasks.json; /usr/bin/yes',
      { allowUnsandboxed: true },
    );
    expect(result.stoppedBy).toBe('output');
    expect(result.planted.map((line) => line.split(' ')[0])).toEqual(['.vscode/tasks.json', 'f', 'out']);
  });
});

describe.skipIf(!canSandbox)('where the sandbox does not hold', () => {
  const degraded = () => ({ ...process.env, PATH: changedBubblewrap({ without: ['--unshare-ipc'] }) });

  it('a command does not run without leave', async () => {
    const bench = openWorkbench({ environment: degraded() });
    await expect(bench.run('touch ran')).rejects.toMatchObject({
      code: 'sandbox_required',
      message: expect.stringContaining(attempts.namespaces),
    });
    expect(readdirSync(bench.workspace)).toEqual([]);
  });

  it('with leave it still runs in what there is of one', async () => {
    const bench = openWorkbench({ environment: degraded() });
    const result = await bench.run('echo $HOME; cat /etc/shadow', { allowUnsandboxed: true });
    expect(result).toMatchObject({ stdout: `${homeDirectory(os.homedir())}\n`, sandbox: 'degraded' });
  });
});

describe.skipIf(!canSandbox)('the state of the sandbox', () => {
  it('is probed once, and said in the log', async () => {
    const bench = openWorkbench();
    await Promise.all([bench.runner.status(), bench.runner.status(), bench.run('true')]);
    expect(bench.lines).toEqual([expect.stringMatching(/^sandbox enforced: /)]);
  });

  it('is probed again when somebody asks for it', async () => {
    const directory = changedBubblewrap({});
    const bench = openWorkbench({ environment: { ...process.env, PATH: directory } });
    await expect(bench.runner.status()).resolves.toMatchObject({ state: 'enforced' });
    rmSync(path.join(directory, 'bwrap'));
    await expect(bench.runner.status()).resolves.toMatchObject({ state: 'enforced' });
    await expect(bench.runner.status({ fresh: true })).resolves.toMatchObject({ state: 'unavailable' });
  });

  it('is probed again a minute after a probe failed, as on a machine that was busy', async () => {
    const directory = changedBubblewrap({ before: '[[ -e "$(dirname "$0")/quiet" ]] || exit 1' });
    const bench = openWorkbench({ environment: { ...process.env, PATH: directory } });
    await expect(bench.runner.status()).resolves.toMatchObject({ state: 'unavailable' });
    writeFileSync(path.join(directory, 'quiet'), '');
    await expect(bench.run('touch ran')).rejects.toMatchObject({ code: 'sandbox_required' });
    const { now } = Date;
    const later = vi.spyOn(Date, 'now').mockImplementation(() => now() + 60_000);
    onTestFinished(() => later.mockRestore());
    await expect(bench.run('true')).resolves.toMatchObject({ exitCode: 0, sandbox: 'enforced' });
  });

  it('is probed again after a sandbox did not start, and never replaced by none', async () => {
    const directory = changedBubblewrap({});
    const bench = openWorkbench({ environment: { ...process.env, PATH: directory } });
    await bench.runner.status();
    renameSync(path.join(directory, 'bwrap'), path.join(directory, 'other'));
    await expect(bench.run('touch ran', { allowUnsandboxed: true })).rejects.toMatchObject({ code: 'sandbox_failed' });
    expect(readdirSync(bench.workspace)).toEqual([]);
    await expect(bench.runner.status()).resolves.toMatchObject({ state: 'unavailable' });
  });

  it('comes with the words of a sandbox that failed', async () => {
    const bench = openWorkbench();
    await bench.runner.status();
    rmSync(bench.workspace, { recursive: true });
    await expect(bench.run('true')).rejects.toMatchObject({ code: 'sandbox_failed', message: expect.stringContaining('bwrap:') });
    mkdirSync(bench.workspace);
    await expect(bench.run('echo back')).resolves.toMatchObject({ stdout: 'back\n' });
  });

  it('leaves no descriptor open, whatever the end', async () => {
    const bench = openWorkbench();
    bench.files({ '.env': 'x', '.vscode/settings.json': '{}' });
    const count = () => readdirSync('/proc/self/fd').length;
    const everyEnd = async () => {
      await bench.run('true');
      await bench.run('sleep 9', { timeoutMs: 50 });
      await bench.run('true', {}, AbortSignal.timeout(20)).catch(() => undefined);
    };
    await everyEnd();
    const before = count();
    const rounds = 8;
    for (let round = 0; round < rounds; round += 1) await everyEnd();
    // What this process opens for itself comes and goes; what a run leaves open would be as many as there were rounds.
    await expect.poll(count, { timeout: 20_000 }).toBeLessThan(before + rounds);
    expect(readFileSync(path.join(bench.workspace, '.env'), 'utf8')).toBe('x');
  });
});
