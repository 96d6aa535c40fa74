/** What a command is on the node: no more processes than it takes, and none of them outlives its time. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { useCleanup } from './cleanup.ts';
import { openShell, trusted } from './openssh-shell.ts';
import { longSleep, noneLeft } from './processes.ts';
import { never } from './pve-server.ts';
import { type Sshd, sshdMissing, startSshd } from './sshd.ts';

const start = useCleanup();

describe.skipIf(sshdMissing)('a command on a real OpenSSH server', () => {
  let server: Sshd;
  beforeAll(async () => {
    server = await startSshd();
  });
  afterAll(() => server?.close());

  /** A program on the node, by its path. */
  function program(name: string, script: string): string {
    const path = join(server.folder, name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return path;
  }

  it.each([
    ['a program alone, below `timeout`, which is what the server started', '', ['timeout', 'sshd']],
    ['a line of shell, with one shell for it', ' ; true', ['sh', 'timeout', 'sshd']],
  ])('is no more processes than it takes: %s', async (_what, more, above) => {
    // The names of its parent, its parent's parent, and so on, up to the server.
    const up = 'p=$PPID; while read -r _ c _ q _ < /proc/$p/stat; do echo "$c"; p=$q; case $c in "(sshd"*) exit;; esac; done';
    const { stdout } = await start(openShell(server, trusted(server))).exec('pve', `${program('above', up)}${more}`, never);
    expect(stdout.trim().split('\n')).toEqual(above.map((name) => expect.stringMatching(`^\\(${name}(-session)?\\)$`) as string));
  });

  it('that is ended by its time gives back what it had printed, and says that it was run', async () => {
    const shell = start(openShell(server, { ...trusted(server), timeoutMs: 9_000 }));
    const command = program('slow', 'echo first line; echo and a complaint >&2; exec sleep 600');
    await expect(shell.exec('pve', command, never)).rejects.toMatchObject({
      code: 'ssh_timeout',
      effect: { state: 'sent' },
      result: { node: 'pve', stdout: 'first line\n', stderr: 'and a complaint\n', exit_code: null },
    });
  });

  it('whose caller gives up gives back the same', async () => {
    const shell = start(openShell(server, trusted(server)));
    const caller = new AbortController();
    const printed = join(server.folder, 'printed');
    const call = shell.exec('pve', program('slower', `echo first line; : > ${printed}; exec sleep 600`), caller.signal);
    const ended = expect(call).rejects.toMatchObject({ code: 'cancelled', effect: { state: 'sent' }, result: { stdout: 'first line\n' } });
    await vi.waitUntil(() => existsSync(printed), { timeout: 30_000 });
    // What another command of the same connection answers comes after the line.
    await shell.exec('pve', 'true', never);
    caller.abort();
    await ended;
  });

  it.each([
    ['a program alone', (script: string) => program('stubborn', script)],
    ['a line of shell', (script: string) => script.replaceAll('\n', ' ')],
  ])('that will not hear of its time being over is ended, with all it started: %s', async (_what, commandOf) => {
    const shell = start(openShell(server, { ...trusted(server), timeoutMs: 9_000 }));
    const marker = longSleep();
    const refused = shell.exec('pve', commandOf(`trap '' TERM;\n${marker} &\n${marker};\n${marker}`), never);
    await expect(refused).rejects.toMatchObject({ code: 'ssh_timeout' });
    await noneLeft(marker);
    await noneLeft(join(server.folder, 'stubborn'));
  });

  it.each(['KILL', 'TERM', 'SEGV'])('that a signal ended (%s) has the exit code that a shell would give it', async (name) => {
    const shell = start(openShell(server, trusted(server)));
    const expected = (await shell.exec('pve', `sh -c 'kill -${name} $$'; echo $?`, never)).stdout.trim();
    const result = await shell.exec('pve', program('suicide', `ulimit -c 0; kill -${name} $$`), never);
    expect(result).toMatchObject({ exitCode: Number(expected), signal: `SIG${name}`, stdout: '' });
  });
});
