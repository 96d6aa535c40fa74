import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { programRunner } from '#execution/run-child';
import type { ProgramRequest } from '#kernel/ports/program-runner';
import { noneLeft } from './support/processes.ts';

const idle = () => new AbortController().signal;
const bash = (text: string, more: Partial<ProgramRequest> = {}): ProgramRequest => ({
  program: '/bin/bash',
  args: ['-c', text],
  cwd: '/',
  env: { PATH: '/usr/bin:/bin' },
  timeoutMs: 30_000,
  keepBytes: 10_000,
  ...more,
});

describe.skipIf(process.platform === 'win32')('a program', () => {
  it('ends with its streams and code', async () => {
    await expect(programRunner.run(bash('echo out; echo err >&2; exit 3'), idle())).resolves.toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
      exitCode: 3,
      timedOut: false,
      flooded: false,
      truncated: false,
    });
  });

  it('ends with the signal that ended it', async () => {
    const result = await programRunner.run(bash('kill -TERM $$'), idle());
    expect(result).toMatchObject({ signal: 'SIGTERM', timedOut: false });
    expect(result.exitCode).toBeUndefined();
  });

  it('gets exactly the environment, the input and the arguments it is given', async () => {
    process.env['BANKSMAN_TEST_LEAK'] = 'leak';
    try {
      const env = { PATH: '/usr/bin:/bin', ONE: '1' };
      const result = await programRunner.run(
        {
          ...bash('cat; printf "%s|" "$0" "$@"; env | grep -v ^_=', { env, input: 'in\n' }),
          args: ['-c', 'cat; printf "%s|" "$0" "$@"; env', 'a b', '$(id)', '*'],
        },
        idle(),
      );
      expect(result.stdout).toContain('in\na b|$(id)|*|');
      expect(result.stdout).toContain('ONE=1');
      expect(result.stdout).not.toContain('leak');
    } finally {
      delete process.env['BANKSMAN_TEST_LEAK'];
    }
  });

  it('is found by the PATH it is given', async () => {
    await expect(programRunner.run({ ...bash(''), program: 'printf', args: ['%s', 'x'] }, idle())).resolves.toMatchObject({ stdout: 'x' });
    const hidden = { ...bash(''), program: 'printf', args: ['x'], env: { PATH: '/nowhere' } };
    await expect(programRunner.run(hidden, idle())).rejects.toMatchObject({ code: 'program_not_started' });
  });

  it.each([
    ['that is not there', { program: '/no/such/program' }],
    ['in a directory that is not there', { cwd: '/no/such/directory' }],
    ['with a NUL in its arguments', { args: ['a\0b'] }],
  ])('%s does not start, which is a fault', async (_name, more) => {
    await expect(programRunner.run({ ...bash('true'), ...more }, idle())).rejects.toMatchObject({ code: 'program_not_started' });
  });

  it('that ends without reading its input is no fault', async () => {
    const result = await programRunner.run(bash('exec 0<&-; echo done', { input: 'x'.repeat(1_000_000) }), idle());
    expect(result).toMatchObject({ stdout: 'done\n', exitCode: 0 });
  });

  it('is killed with its group when its time is over', async () => {
    const name = `banksman-${randomUUID()}`;
    const result = await programRunner.run(
      bash(`(exec -a ${name} sleep 600) & trap '' TERM; echo on; (exec -a ${name} sleep 600)`, { timeoutMs: 3_000 }),
      idle(),
    );
    expect(result).toMatchObject({ timedOut: true, signal: 'SIGKILL', stdout: 'on\n' });
    await noneLeft(name);
  });

  it('is killed with its group on abort, and the reason is thrown', async () => {
    const controller = new AbortController();
    const name = `banksman-${randomUUID()}`;
    const run = programRunner.run(bash(`(exec -a ${name} sleep 600) & echo on; wait`), controller.signal, (chunk) => {
      if (chunk.includes('on')) controller.abort(new Error('enough'));
    });
    await expect(run).rejects.toThrow('enough');
    await noneLeft(name);
  });

  it('does not start for a caller who has given up', async () => {
    const controller = new AbortController();
    controller.abort(new Error('before'));
    await expect(programRunner.run(bash('true'), controller.signal)).rejects.toThrow('before');
  });

  it('that leaves a child with its output does not keep the caller', async () => {
    const name = `banksman-${randomUUID()}`;
    const result = await programRunner.run(bash(`(exec -a ${name} sleep 600) & echo done`), idle());
    expect(result).toMatchObject({ stdout: 'done\n', exitCode: 0 });
    await noneLeft(name);
  });

  it('keeps head and tail of what it says, and all of it goes to who listens', async () => {
    let heard = 0;
    const result = await programRunner.run(bash('echo first; seq 1 20000; echo last', { keepBytes: 100 }), idle(), (chunk) => {
      heard += chunk.length;
    });
    expect(result.truncated).toBe(true);
    expect(result.stdout).toMatch(/^first\n1\n[\s\S]*bytes left out[\s\S]*20000\nlast\n$/);
    expect(heard).toBeGreaterThan(100_000);
  });

  it('is stopped when it says too much', async () => {
    const result = await programRunner.run(bash('yes', { stopAfterBytes: 100_000 }), idle());
    expect(result).toMatchObject({ flooded: true, timedOut: false, truncated: true });
  });

  it('is heard with the name of the stream, in whole characters', async () => {
    const heard: string[] = [];
    await programRunner.run(bash('printf "\\xe2\\x82"; sleep 0.05; printf "\\xac"; echo e >&2'), idle(), (chunk, stream) =>
      heard.push(`${stream}:${chunk}`),
    );
    expect(heard.sort()).toEqual(['stderr:e\n', 'stdout:€']);
  });
});
