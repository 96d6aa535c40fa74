import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { Fault } from '#kernel/errors';
import { canSandbox, changedBubblewrap } from './support/bubblewrap.ts';
import { processesMarked } from './support/processes.ts';
import { openWorkbench, type Workbench } from './support/workbench.ts';

/** A child in a session of its own with no stream of its parent's, as a daemon has it; `mark` is in its command line. */
const daemon = (mark: string) => `setsid /bin/bash -c 'exec -a ${mark} sleep 600' </dev/null >/dev/null 2>&1 &`;
const mark = () => `banksman-${randomUUID()}`;
/** Resolves once the command has made `ready` in the workspace. */
async function ready(bench: Workbench): Promise<void> {
  const file = path.join(bench.workspace, 'ready');
  while (!existsSync(file)) await new Promise((resolve) => setImmediate(resolve));
}

describe.skipIf(!canSandbox)('a run that is ended', () => {
  it('by its time leaves no process, daemons included', async () => {
    const bench = openWorkbench();
    const name = mark();
    const result = await bench.run(`${daemon(name)} ${daemon(name)} echo started; exec -a ${name} sleep 600`, { timeoutMs: 4_000 });
    expect(result).toMatchObject({ timedOut: true, stdout: 'started\n' });
    expect(result.exitCode).toBeUndefined();
    expect(processesMarked(name)).toEqual([]);
  });

  it('by its caller leaves no process, and ends with the caller’s reason', async () => {
    const bench = openWorkbench();
    const name = mark();
    const controller = new AbortController();
    const run = bench.run(`${daemon(name)} touch ready; exec -a ${name} sleep 600`, {}, controller.signal);
    await ready(bench);
    expect(processesMarked(name).length).toBeGreaterThan(0);
    controller.abort(new Fault('cancelled', 'no longer wanted'));
    await expect(run).rejects.toMatchObject({ code: 'cancelled', message: 'no longer wanted' });
    expect(processesMarked(name)).toEqual([]);
  });

  it('by a caller without a reason of ours is `cancelled`, too', async () => {
    const controller = new AbortController();
    controller.abort();
    await expect(openWorkbench().run('true', {}, controller.signal)).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('by itself leaves no process either', async () => {
    const bench = openWorkbench();
    const name = mark();
    const result = await bench.run(`${daemon(name)} until grep -qs ${name} /proc/[0-9]*/cmdline; do :; done; exit 3`);
    expect(result).toMatchObject({ exitCode: 3, timedOut: false });
    expect(processesMarked(name)).toEqual([]);
  });

  it('cannot shrug off signals, and need not', async () => {
    const bench = openWorkbench();
    const name = mark();
    const result = await bench.run(`trap '' TERM INT HUP QUIT PIPE; exec -a ${name} sleep 600`, { timeoutMs: 500 });
    expect(result.timedOut).toBe(true);
    expect(processesMarked(name)).toEqual([]);
  });

  it('leaves no daemon even where bubblewrap lets it live on', async () => {
    const name = mark();
    const searchPath = changedBubblewrap({ without: ['--die-with-parent'] });
    const bench = openWorkbench({ environment: { ...process.env, PATH: searchPath } });
    const result = await bench.run(`${daemon(name)} until grep -qs ${name} /proc/[0-9]*/cmdline; do :; done; exit 3`);
    expect(result.exitCode).toBe(3);
    expect(processesMarked(name)).toEqual([]);
  });

  it('by the death of this process leaves none either', async () => {
    const bench = openWorkbench();
    const name = mark();
    const child = path.join(import.meta.dirname, 'children/run-and-wait.ts');
    const command = `${daemon(name)} touch ready; exec -a ${name} sleep 600`;
    const runner = spawn(process.execPath, [child, bench.workspace, bench.state, command], { stdio: 'ignore' });
    await ready(bench);
    expect(processesMarked(name).length).toBeGreaterThan(0);
    runner.kill('SIGKILL');
    await vi.waitFor(() => expect(processesMarked(name)).toEqual([]), { timeout: 20_000, interval: 20 });
  });

  it('at any moment of its start leaves no process', async () => {
    const bench = openWorkbench();
    await bench.runner.status();
    for (let turns = 0; turns < 6_000; turns += 150) {
      const controller = new AbortController();
      const run = bench.run('sleep 600', {}, controller.signal);
      run.catch(() => undefined);
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      await expect(run).rejects.toMatchObject({ code: 'cancelled' });
    }
    await vi.waitFor(() => expect(processesMarked(bench.workspace)).toEqual([]), { timeout: 20_000, interval: 20 });
    expect(readdirSync(bench.workspace)).toEqual([]);
  });

  it('says its exit code, and the shell’s 128 + n for a signal', async () => {
    const bench = openWorkbench();
    await expect(bench.run('exit 42')).resolves.toMatchObject({ exitCode: 42 });
    await expect(bench.run('kill -SEGV $$')).resolves.toMatchObject({ exitCode: 139 });
    await expect(bench.run('no-such-program')).resolves.toMatchObject({ exitCode: 127 });
    await expect(bench.run('if')).resolves.toMatchObject({ exitCode: 2 });
  });
});

describe.skipIf(!canSandbox)('a run that takes too much', () => {
  it('of the memory of one process is stopped', async () => {
    const bench = openWorkbench({ limits: { memoryBytes: 256 * 2 ** 20 } });
    const result = await bench.run(`perl -e '$x = "a" x (512 * 2 ** 20); sleep 600'`);
    expect(result.stoppedBy).toBe('memory');
  });

  it('of memory over several processes is stopped', async () => {
    const bench = openWorkbench({ limits: { memoryBytes: 300 * 2 ** 20 } });
    const eater = `perl -e '$x = "a" x (40 * 2 ** 20); sleep 600'`;
    const result = await bench.run(`for i in 1 2 3 4 5 6; do ${eater} & done; wait`);
    expect(result.stoppedBy).toBe('memory');
  });

  it('of memory by files in /tmp finds it full', async () => {
    const bench = openWorkbench({ limits: { memoryDiskBytes: 4 * 2 ** 20 } });
    const result = await bench.run('for d in /tmp ~ /dev/shm; do head -c 8M /dev/zero > $d/big; stat -c %s $d/big; done');
    expect(result.stdout.trim().split('\n')).toHaveLength(3);
    for (const size of result.stdout.trim().split('\n')) expect(Number(size)).toBeLessThanOrEqual(4 * 2 ** 20);
  });

  it('of one file is stopped at its size', async () => {
    const bench = openWorkbench({ limits: { fileBytes: 2 ** 20 } });
    const result = await bench.run('yes | head -c 100G > x; echo after');
    expect(result.stdout).toBe('after\n');
    expect(statSync(path.join(bench.workspace, 'x')).size).toBeLessThanOrEqual(2 ** 20);
  });

  it('of the disk by many files is stopped', async () => {
    const bench = openWorkbench({ limits: { diskBytes: 64 * 2 ** 20, fileBytes: 8 * 2 ** 20 } });
    const result = await bench.run('for ((i = 0; ; i++)); do head -c 8M /dev/urandom > f$((i % 40)); done', { timeoutMs: 60_000 });
    expect(result.stoppedBy).toBe('disk');
  });

  it('of output is stopped, with its head and tail kept', async () => {
    const bench = openWorkbench({ limits: { floodBytes: 1_000_000, outputBytes: 2_000 } });
    const result = await bench.run('echo first; yes');
    expect(result).toMatchObject({ stoppedBy: 'output', truncated: true, timedOut: false });
    expect(result.stdout.startsWith('first\ny\n')).toBe(true);
    expect(result.stdout).toContain('bytes left out');
    expect(result.stdout.length).toBeLessThan(2_200);
  });

  it('of time computing is stopped', async () => {
    const bench = openWorkbench();
    await expect(bench.run('for((;;)); do :; done', { timeoutMs: 700 })).resolves.toMatchObject({ timedOut: true });
  });

  it('has its limits as hard ones', async () => {
    const bench = openWorkbench({ limits: { tasks: 77, fileBytes: 1_024_000, openFiles: 99 } });
    const result = await bench.run('ulimit -Hu; ulimit -Hf; ulimit -Hn; ulimit -Hc; ulimit -Ht; ulimit -f unlimited; ulimit -u 999', {
      timeoutMs: 10_000,
    });
    expect(result.stdout).toBe('77\n1000\n99\n0\n41\n');
    expect(result.exitCode).not.toBe(0);
  });
});

describe.skipIf(!canSandbox)('output', () => {
  it('comes as it is written, before the command ends, in whole characters', async () => {
    const bench = openWorkbench();
    const chunks: string[] = [];
    const request = { surface: 'workspace_command', timeoutMs: 30_000, network: false, agentId: 'cli:test' } as const;
    const command = 'printf "\\xe2\\x82"; printf "\\xac one\\n"; until [ -e go ]; do :; done; echo err >&2';
    await bench.runner.run({ ...request, command }, new AbortController().signal, (chunk) => {
      chunks.push(chunk);
      // Only a run that goes on while this is called can end.
      if (chunks.join('').includes('one')) bench.files({ go: '' });
    });
    expect(chunks.join('')).toBe('€ one\nerr\n');
  });

  it('keeps the two streams apart', async () => {
    await expect(openWorkbench().run('echo a; echo b >&2')).resolves.toMatchObject({ stdout: 'a\n', stderr: 'b\n' });
  });

  it('of a command that fails in words of bubblewrap is still the command’s', async () => {
    await expect(openWorkbench().run('echo "bwrap: setting up uid map: Permission denied" >&2; exit 1')).resolves.toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('bwrap:'),
    });
  });

  it('is read with standard input empty', async () => {
    await expect(openWorkbench().run('cat; echo end')).resolves.toMatchObject({ stdout: 'end\n' });
  });

  it('is of the text as it is, run once', async () => {
    const bench = openWorkbench();
    await expect(bench.run(`echo '$(touch x)' "\\$1 $0 $# $1"`)).resolves.toMatchObject({ stdout: '$(touch x) $1 /bin/bash 0 \n' });
    expect(existsSync(path.join(bench.workspace, 'x'))).toBe(false);
  });
});
