/** `banksman runs`: what a command changed, and taking it back, each a process of its own. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { startOf } from '#files/process-life';
import { canSandbox } from '../execution/support/bubblewrap.ts';
import { personAt } from './person.ts';
import { cli } from './support.ts';

vi.setConfig({ testTimeout: 120_000 });

const folder = mkdtempSync(join(tmpdir(), 'banksman-runs-'));
const workspace = join(folder, 'ws');
mkdirSync(workspace);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function banksman(...words: readonly string[]) {
  const env = { ...process.env, XDG_STATE_HOME: join(folder, 'state'), XDG_CONFIG_HOME: join(folder, 'config') };
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...words], { cwd: workspace, env, encoding: 'utf8' });
  return { status, stdout, stderr };
}

function runCommand(command: string, more: object = {}) {
  const { stdout, stderr } = banksman(
    'call',
    'run_command',
    '--input',
    JSON.stringify({ command, ...more }),
    '--model',
    'claude-opus-4-5',
    '--json',
  );
  expect(stderr).not.toContain('internal error');
  return JSON.parse(stdout) as {
    status: string;
    message: string;
    request_id?: string;
    effect?: object;
    result?: { changes?: { run_id?: string } };
  };
}

describe.skipIf(!canSandbox)('banksman runs', () => {
  it('lists, shows and undoes, and says what is in the way', () => {
    writeFileSync(join(workspace, 'a.txt'), 'before');
    expect(banksman('runs', 'list')).toMatchObject({ status: 0, stdout: '', stderr: expect.stringContaining('there are no runs') });
    const ran = runCommand('echo after > a.txt; echo new > b.txt; mkdir .vscode');
    expect(ran).toMatchObject({ status: 'ok', message: expect.stringContaining('1 created, 1 changed; not applied: `.vscode/`') });
    const id = ran.result?.changes?.run_id ?? '';
    expect(banksman('runs', 'list').stdout).toMatch(new RegExp(`^${id}  applied  .*1 created, 1 changed, 0 deleted  echo after`, 'm'));
    expect(banksman('runs', 'show', id).stdout).toContain(
      'modify a.txt\n  @@ -1 +1 @@\n  -before\n  \\ No newline at end of file\n  +after\ncreate b.txt\n  @@ -0,0 +1 @@\n  +new\n',
    );
    writeFileSync(join(workspace, 'b.txt'), 'mine');
    expect(banksman('runs', 'undo', id)).toMatchObject({ status: 1, stderr: expect.stringContaining('changed since the run: `b.txt`') });
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('after\n');
    expect(banksman('runs', 'undo', id, '--set-aside')).toMatchObject({ status: 0, stdout: 'undone: 1 created, 1 changed, 0 deleted\n' });
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('before');
    expect(JSON.parse(banksman('runs', 'show', id, '--json').stdout)).toMatchObject({
      id,
      state: 'undone',
      agent: expect.stringContaining('cli'),
    });
    expect(banksman('audit', 'tail', '--json').stdout).toContain('run.undone');
  });

  it('a call whose limit is over while somebody else changes the workspace: nothing of it comes later', () => {
    const id = runCommand('echo first > first.txt').result?.changes?.run_id ?? '';
    const [owner = ''] = execFileSync('find', [folder, '-path', `*${id}/applied`], { encoding: 'utf8' }).split('\n');
    const lock = join(dirname(dirname(owner)), 'lock');
    const listed = banksman('runs', 'list').stdout;
    writeFileSync(lock, `${process.pid} ${startOf(process.pid)}`);
    try {
      expect(runCommand('echo late > late.txt; mkdir .idea', { timeout_ms: 5_000 })).toMatchObject({
        status: 'error',
        code: 'timeout',
        message: expect.stringContaining('nothing that it changed in the workspace was applied'),
        next: 'run it again',
        effect: { state: 'sent' },
      });
    } finally {
      rmSync(lock);
    }
    expect(banksman('runs', 'list').stdout).toBe(listed);
    expect(existsSync(join(workspace, 'late.txt'))).toBe(false);
    expect(banksman('approvals', 'list').stdout).not.toContain('.idea');
  });

  it('what was held is shown and approved at a terminal, and applied there', async () => {
    const env = { ...process.env, XDG_STATE_HOME: join(folder, 'state'), XDG_CONFIG_HOME: join(folder, 'config') };
    const person = personAt({ env }, workspace);
    await person.createApprover('alice');
    const { request_id: id = '', message } = runCommand('mkdir .husky; seq 100 > .husky/pre-commit; chmod 755 .husky/pre-commit');
    expect(message).toContain(`request ${id}`);
    const shown = banksman('approvals', 'show', id).stdout;
    expect(shown).toContain('Apply 2 held changes: .husky/, .husky/pre-commit?');
    expect(shown).toContain('NOT SHOWN HERE');
    expect(shown).toContain('\n  +100\n');
    const [, held = ''] = /^(\S+-held) {2}held/m.exec(banksman('runs', 'list').stdout) ?? [];
    expect(banksman('runs', 'show', held)).toMatchObject({ status: 0, stdout: expect.stringContaining('create .husky/pre-commit') });
    expect(banksman('runs', 'undo', held)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('held: nothing of them was applied'),
    });
    const { screen, status } = await person.approve(id);
    expect({ screen, status }).toMatchObject({ status: 0, screen: expect.stringContaining('the held changes were applied') });
    expect(readFileSync(join(workspace, '.husky/pre-commit'), 'utf8')).toMatch(/^1\n2\n/);
    const [, run = ''] = /^(\S+-held) {2}applied/m.exec(banksman('runs', 'list').stdout) ?? [];
    expect(banksman('runs', 'undo', run)).toMatchObject({ status: 0 });
    expect(existsSync(join(workspace, '.husky'))).toBe(false);
  });

  it.each([
    [['runs'], /takes `list`, `show` or `undo`/],
    [['runs', 'undo', '../../x'], /no such run/],
    [['runs', 'undo', '0-00000000'], /no such run/],
    [['runs', 'list', '--set-aside'], /--set-aside/],
  ] as const)('%j is refused with words', (words, message) => {
    const { status, stdout, stderr } = banksman(...words);
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });
});
