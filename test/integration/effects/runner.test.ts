/** Commands as `run_command` runs them: bubblewrap over a view, the real judge. */
import { execFileSync } from 'node:child_process';
import { existsSync, linkSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CommandLimits } from '#execution/command-ground';
import { createCommandRunner } from '#execution/command-runner';
import type { CommandRequest, CommandRunner } from '#kernel/ports/command-runner';
import { isControlPath } from '#policy/effects/control-places';
import { judgeChange } from '#policy/effects/judge-change';
import { isSecretPath } from '#policy/paths/secret-files';
import { canSandbox } from '../execution/support/bubblewrap.ts';
import { temporaryDirectory } from '../execution/support/temporary.ts';
import { snapshot } from './support/effects-bench.ts';

function bench(
  files: Readonly<Record<string, string>> = {},
  more: { readonly limits?: Partial<CommandLimits>; readonly hidden?: readonly string[]; readonly home?: string } = {},
) {
  const root = temporaryDirectory('judged-');
  const workspace = path.join(root, 'ws');
  mkdirSync(workspace);
  const at = (name: string) => path.join(workspace, name);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(at(name)), { recursive: true });
    writeFileSync(at(name), text);
  }
  const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
  const runner = createCommandRunner({
    workspaceRoot: workspace,
    stateDir: path.join(root, 'state'),
    hiddenPaths: (more.hidden ?? []).map(at),
    requireSandbox: true,
    rules: { isControl: isControlPath, isSecret: isSecretPath },
    judge: judgeChange,
    log: quiet,
    limits: more.limits ?? {},
    ...(more.home === undefined ? {} : { environment: { PATH: process.env['PATH'], HOME: more.home } }),
  });
  const run = (command: string, request: Partial<CommandRequest> = {}) =>
    runner.run(
      { command, surface: 'workspace_command', timeoutMs: 30_000, network: false, agentId: 'cli:test', ...request },
      new AbortController().signal,
      () => undefined,
    );
  return { root, workspace, at, runner, run };
}

const git = (workspace: string, ...args: readonly string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: workspace, encoding: 'utf8' });

/** As a person does: what is held goes in. @returns what they were shown */
async function approve(runner: CommandRunner, id = '') {
  const history = await runner.history?.();
  const held = await history?.held(id);
  const applied = await history?.applyHeld(id, held?.digest ?? '');
  return { shown: held?.changes.map((change) => change.path) ?? [], undo: () => history?.undo(applied?.runId ?? '', { force: false }) };
}

/** On `main`, with a branch `side` that brings what a person decides about. */
function benchWithSide() {
  const opened = bench({ a: 'one\n' });
  const { workspace, at } = opened;
  const commit = () => git(workspace, 'add', '-A') + git(workspace, 'commit', '-qm', 'more');
  git(workspace, 'init', '-q', '-b', 'main');
  commit();
  git(workspace, 'checkout', '-q', '-b', 'side');
  for (const [name, text] of Object.entries({ a: 'two\n', '.github/workflows/ci.yml': 'on: push\n', 'pkg/.vscode/tasks.json': '{}\n' })) {
    mkdirSync(path.dirname(at(name)), { recursive: true });
    writeFileSync(at(name), text);
  }
  commit();
  git(workspace, 'checkout', '-q', 'main');
  return opened;
}

describe.skipIf(!canSandbox)('a command over a view', () => {
  it('says in its status that effects are judged', async () => {
    expect(await bench().runner.status()).toMatchObject({ state: 'enforced', view: { judged: true } });
  });

  it('applies ordinary work, says what changed, and can be undone', async () => {
    const { run, runner, workspace, at } = bench({ 'a.txt': 'a', 'b.txt': 'b' });
    const before = snapshot(workspace, { inodes: true });
    const { effects, ...ended } = await run('echo more >> a.txt; rm b.txt; mkdir d; echo new > d/new; echo said');
    expect(ended).toMatchObject({ exitCode: 0, stdout: 'said\n', sandbox: 'enforced' });
    expect(effects).toMatchObject({ created: ['d/'], changed: ['a.txt'], deleted: ['b.txt'], leftOut: [] });
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('amore\n');
    const history = await runner.history?.();
    expect(await history?.list()).toMatchObject([{ id: effects?.runId, agentId: 'cli:test', state: 'applied' }]);
    await history?.undo(effects?.runId ?? '', { force: false });
    expect(snapshot(workspace, { inodes: true })).toEqual(before);
  });

  it('takes a text of 120,000 bytes, the longest that the tool lets through', async () => {
    const { run, at } = bench();
    const text = 'x'.repeat(119_980);
    expect(await run(`cat > f <<'E'\n${text}\nE`)).toMatchObject({ exitCode: 0, effects: { created: ['f'] } });
    expect(readFileSync(at('f'), 'utf8')).toBe(`${text}\n`);
  });

  it('brings back what no commit holds', async () => {
    const { run, runner, workspace } = bench({ 'tracked.txt': '1', 'ignored.txt': 'precious', '.gitignore': 'ignored.txt\n' });
    git(workspace, 'init', '-q');
    git(workspace, 'add', '-A');
    git(workspace, 'commit', '-qm', 'one');
    writeFileSync(path.join(workspace, 'tracked.txt'), 'not committed');
    const before = snapshot(workspace);
    const command = 'git reset -q --hard && git clean -qfdx && git reflog expire --expire=now --all && git gc -q --prune=now';
    const { effects, exitCode } = await run(command);
    expect(exitCode).toBe(0);
    expect(existsSync(path.join(workspace, 'ignored.txt'))).toBe(false);
    await (await runner.history?.())?.undo(effects?.runId ?? '', { force: false });
    expect(snapshot(workspace)).toEqual(before);
  });

  it.each([
    ['a hook', 'echo x > .git/hooks/pre-commit'],
    ['a line that a rebase would run', 'mkdir -p .git/rebase-merge; echo "exec touch /tmp/x" > .git/rebase-merge/git-rebase-todo'],
    ['configuration of git', 'git config core.fsmonitor ./x'],
    ['an agent’s settings', 'mkdir -p .github/copilot; echo "{}" > .github/copilot/settings.json'],
    ['settings deep in a new tree', 'mkdir -p new/deep/.vscode; echo "{}" > new/deep/.vscode/tasks.json'],
    ['a link out', 'ln -s /etc/passwd link'],
    ['a link that leads whoever follows it elsewhere', 'ln -s /proc/self/cwd/.github link'],
    ['a link that leads there and back', 'ln -s "/proc/self/cwd/../..$PWD/a.txt" link'],
    ['a link out by way of another one', 'mkdir a; ln -s . a/x; ln -s a/x/../../../etc link'],
    ['a repository with a hook', 'git init -q sub; echo x > sub/.git/hooks/pre-commit'],
    ['a bare repository that runs something', 'git init -q --bare bare; git -C bare config core.fsmonitor ./x'],
    ['another address of a remote', 'git remote set-url origin https://example.org/other.git'],
    ['a pipe', 'mkfifo pipe'],
    ['a file with another group’s rights', 'cp /bin/true pipe; chmod g+s pipe'],
  ])('holds %s', async (_name, command) => {
    const { run, workspace, at } = bench({ 'a.txt': 'a' });
    git(workspace, 'init', '-q');
    git(workspace, 'remote', 'add', 'origin', 'https://example.org/a.git');
    const { effects } = await run(`${command}; echo free > free`);
    expect(effects?.leftOut.map(({ reason }) => reason)).toEqual(expect.arrayContaining(['held']));
    expect(effects?.leftOut.every(({ why }) => why.length > 10)).toBe(true);
    expect(readFileSync(at('free'), 'utf8')).toBe('free\n');
    for (const place of [
      '.git/hooks/pre-commit',
      '.git/rebase-merge',
      'bare',
      '.github/copilot/settings.json',
      'link',
      'sub/.git',
      'pipe',
      'new/deep/.vscode',
    ])
      expect(existsSync(at(place)), place).toBe(false);
    expect(readFileSync(at('.git/config'), 'utf8')).not.toMatch(/fsmonitor|other/);
  });

  it('a folder does not become a repository around settings that nobody looked at', async () => {
    const { run, at } = bench({ 'x/config': '[core]\n\tfsmonitor = ./x\n' });
    await run('mkdir -p x/objects x/refs');
    const { effects } = await run('echo "ref: refs/heads/main" > x/HEAD');
    expect(effects?.leftOut).toMatchObject([{ path: 'x/HEAD', rule: 'git.grown' }]);
    expect(existsSync(at('x/HEAD'))).toBe(false);
    expect((await run('git init -q --bare y; echo "[core]\n\tpager = x" > y/config')).effects?.leftOut).toMatchObject([{ path: 'y/' }]);
  });

  it('samples of hooks go with their directory, and a hook does not', async () => {
    const { run, workspace, at } = bench({ 'a.txt': 'a' });
    git(workspace, 'init', '-q');
    expect((await run('rm -rf .git/hooks .git/branches')).effects).toMatchObject({ leftOut: [] });
    mkdirSync(at('.git/hooks'));
    writeFileSync(at('.git/hooks/pre-push'), 'x');
    expect((await run('rm -rf .git/hooks')).effects?.leftOut).toMatchObject([{ path: '.git/hooks/', reason: 'held' }]);
    expect(readFileSync(at('.git/hooks/pre-push'), 'utf8')).toBe('x');
  });

  it('refuses a worktree outside of the workspace, and leaves nothing of it', async () => {
    const { run, workspace, at } = bench({ 'a.txt': 'a' });
    git(workspace, 'init', '-q');
    git(workspace, 'add', '-A');
    git(workspace, 'commit', '-qm', 'one');
    const { effects } = await run('git worktree add ../beside');
    expect(effects?.leftOut).toMatchObject([{ path: '.git/worktrees/beside/', reason: 'refused', why: expect.stringContaining('inside') }]);
    expect(existsSync(at('.git/worktrees/beside'))).toBe(false);
  });

  it('holds no control file of a directory that was made anew as it was, and all of it where one is another', async () => {
    const { run, at } = bench({ '.github/workflows/ci.yml': 'on: push\n', '.github/x.md': 'x' });
    const anew = (text: string) => `rm -r .github; mkdir -p .github/workflows; echo '${text}' > .github/workflows/ci.yml`;
    expect(await run(anew('on: push'))).toMatchObject({ effects: { changed: ['.github/'], leftOut: [] } });
    expect(existsSync(at('.github/x.md'))).toBe(false);
    const other = await run(anew('on: workflow_run'));
    expect(other.effects?.leftOut).toMatchObject([{ path: '.github/', reason: 'held' }]);
    expect(readFileSync(at('.github/workflows/ci.yml'), 'utf8')).toBe('on: push\n');
  });

  it('takes no control file away with the directory that another one replaces', async () => {
    const { run, at } = bench({ '.github/workflows/ci.yml': 'on: push\n', '.github/x.md': 'x' });
    const { effects } = await run('cp -r .github n; echo x > n/workflows/new.yml; rm -r .github; mv n .github');
    expect(effects?.leftOut).toMatchObject([{ path: '.github/', reason: 'held' }]);
    expect(readFileSync(at('.github/workflows/ci.yml'), 'utf8')).toBe('on: push\n');
  });

  it('holds no control file for new times alone; a mode is another matter', async () => {
    const { run, workspace, at } = bench({ '.github/workflows/ci.yml': 'on: push\n', 'a.txt': 'a' });
    git(workspace, 'init', '-q');
    git(workspace, 'add', '-A');
    git(workspace, 'commit', '-qm', 'one');
    const reset = await run('touch .github/workflows/ci.yml && echo b > a.txt && git reset -q --hard');
    expect(reset).toMatchObject({ exitCode: 0, effects: { leftOut: [] } });
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('a');
    const opened = await run('chmod 777 .github/workflows/ci.yml');
    expect(opened.effects?.leftOut).toMatchObject([{ path: '.github/workflows/ci.yml', reason: 'held' }]);
  });

  it('lets a link lead to a program that the person installed in their home, and to nothing else there', async () => {
    const home = temporaryDirectory('home-');
    for (const place of ['.pyenv/versions/3/bin', '.config']) mkdirSync(path.join(home, place), { recursive: true });
    for (const file of ['.pyenv/versions/3/bin/python3', '.config/token']) writeFileSync(path.join(home, file), 'x');
    execFileSync('ln', ['-s', '../../.config/token', path.join(home, '.pyenv/versions/token')]);
    const { run } = bench({ 'venv/pyvenv.cfg': 'x' }, { home });
    const links =
      'mkdir venv/bin; ln -s ~/.pyenv/versions/3/bin/python3 venv/bin/python; ln -s ~/.config/token a; ln -s ~/.pyenv/versions/token b';
    const { effects } = await run(links);
    expect(effects?.created).toEqual(['venv/bin/']);
    expect(effects?.leftOut).toMatchObject([
      { path: 'a', rule: 'link.out' },
      { path: 'b', rule: 'link.out' },
    ]);
  });

  it('takes along the links out that a moved or copied directory had, and holds new ones', async () => {
    const { run, at } = bench({ 'old/a': 'a' });
    symlinkSync('/srv/other', at('old/out'));
    const { effects } = await run('cp -a old copy; mkdir in; mv old in/new; ln -s /srv/more in/new/more');
    expect(effects?.leftOut).toMatchObject([{ path: 'in/new/more', rule: 'link.out' }]);
    for (const place of ['copy/out', 'in/new/out']) expect(readlinkSync(at(place))).toBe('/srv/other');
  });

  it('holds hooks at a place that the repository names', async () => {
    const { run, at, workspace } = bench({ 'scripts/hooks/pre-push': 'old' });
    git(workspace, 'init', '-q');
    git(workspace, 'config', 'core.hooksPath', 'scripts/hooks');
    const { effects } = await run('echo new > scripts/hooks/pre-push; echo x > scripts/hooks/pre-commit; echo x > scripts/x');
    expect(effects).toMatchObject({ created: ['scripts/x'], changed: [], leftOut: [{ rule: 'git.named' }, { rule: 'git.named' }] });
    expect(readFileSync(at('scripts/hooks/pre-push'), 'utf8')).toBe('old');
  });

  it('holds a checkout whole where it brings what a person decides about: half of one would read as deletions', async () => {
    const { run, runner, workspace } = benchWithSide();
    const before = snapshot(workspace, { times: false });
    const { effects, ...ended } = await run('git checkout -q side');
    expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
    expect(effects).toMatchObject({ created: [], changed: [], deleted: [], heldId: expect.any(String) });
    expect(effects?.leftOut.slice(0, 2).map(({ rule }) => rule)).toEqual(['control', 'control']);
    expect(effects?.leftOut).toContainEqual(expect.objectContaining({ path: '.git/HEAD', rule: 'git.together' }));
    expect(snapshot(workspace, { times: false })).toEqual(before);
    const { shown, undo } = await approve(runner, effects?.heldId);
    expect(shown.slice(0, 2).every((name) => /^(?:\.github|pkg)\//.test(name))).toBe(true);
    expect(git(workspace, '--no-optional-locks', 'status', '--short', '--branch')).toBe('## side\n');
    await undo();
    expect(snapshot(workspace, { times: false })).toEqual(before);
  });

  it('applies a checkout that was held, too, where git only looked at the index meanwhile, and not where it has other entries', async () => {
    const { run, runner, workspace, at } = benchWithSide();
    const held = await run('git checkout -q side');
    const old = lstatSync(at('.git/index')).ino;
    git(workspace, 'update-index', '--refresh', '--force-write-index');
    expect(lstatSync(at('.git/index')).ino).not.toBe(old);
    const { undo } = await approve(runner, held.effects?.heldId);
    expect(git(workspace, '--no-optional-locks', 'status', '--short', '--branch')).toBe('## side\n');
    await undo();
    const { effects } = await run('git checkout -q side');
    git(workspace, 'update-index', '--assume-unchanged', 'a');
    await expect(approve(runner, effects?.heldId)).rejects.toMatchObject({ code: 'held_conflict' });
  });

  it('holds all of a commit of what is held, and no more where the index is only written anew', async () => {
    const { run, workspace } = bench({ a: 'one\n' });
    git(workspace, 'init', '-q');
    // Not every home names a committer.
    git(workspace, 'config', 'user.name', 'a');
    git(workspace, 'config', 'user.email', 'a@b');
    git(workspace, 'add', '-A');
    git(workspace, 'commit', '-qm', 'one');
    expect((await run('touch a; git status; mkdir .vscode; echo n > n')).effects).toMatchObject({
      created: ['n'],
      leftOut: [{ path: '.vscode/' }],
    });
    const all = 'echo c > .envrc; echo b >> a; git add -A; git commit -qm all';
    for (const line of [
      all,
      `git checkout -q -b b; ${all}; git checkout -q -; git worktree add -q wt b`,
      `cp -r . /tmp/c; cd /tmp/c; ${all}; git clone -q . "$OLDPWD/c"`,
    ])
      expect((await run(line)).effects, line).toMatchObject({ created: [], changed: [], heldId: expect.any(String) });
  });

  it('does not show what git does not track of secrets, and shows what it does', async () => {
    const { run, workspace } = bench({ '.env': 'CANARY', 'old/id_rsa': 'CANARY', 'config/server.pem': 'tracked' });
    git(workspace, 'init', '-q');
    git(workspace, 'add', 'config');
    git(workspace, 'commit', '-qm', 'one');
    const { stdout, stderr, effects } = await run('cat .env old/id_rsa; cp .env x; git stash list; git diff; cat config/server.pem');
    expect(`${stdout}${stderr}`).not.toContain('CANARY');
    expect(stdout).toMatch(/^(?:# Hidden by Banksman.*\n){2}tracked$/);
    expect(effects).toMatchObject({ created: ['x'], changed: [], deleted: [] });
    const cleaned = await run('git clean -fdxq');
    expect(cleaned).toMatchObject({ exitCode: 0, stderr: '', effects: { deleted: ['.env', 'old/', 'x'] } });
  });

  it('does not show a secret by its other names', async () => {
    const { run, workspace, at } = bench({ '.env': 'KEY=CANARY\n', 'config/.env': 'TRACKED=1\n' });
    git(workspace, 'init', '-q');
    git(workspace, 'add', 'config');
    linkSync(at('.env'), at('settings'));
    linkSync(at('config/.env'), at('tracked'));
    const { stdout, effects } = await run('cat settings tracked; echo more >> settings; mv settings moved');
    expect(stdout).not.toContain('CANARY');
    expect(stdout).toContain('TRACKED=1');
    expect(effects?.leftOut.every(({ rule }) => rule === 'hidden_secret')).toBe(true);
    expect(readFileSync(at('settings'), 'utf8')).toBe('KEY=CANARY\n');
  });

  it('does not take the comment that lies over a secret, edited, for the secret', async () => {
    const { run, at } = bench({ '.env': 'KEY=1\n' });
    for (const edit of ['sed -i s/a/b/g .env', 'tr a-z A-Z < .env > n; mv n .env', 'sed -i "s/.*/&&/" .env']) {
      const { effects } = await run(edit);
      expect(effects?.leftOut, edit).toMatchObject([{ path: '.env', reason: 'refused', rule: 'hidden_secret' }]);
      expect(readFileSync(at('.env'), 'utf8')).toBe('KEY=1\n');
    }
    const denied = await run('echo KEY=3 > .env');
    expect(denied).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/Permission denied\n\[`\.env` holds secrets.*once a person agrees\]\n$/),
    });
    expect((await run('echo denied: permission denied >&2')).stderr).not.toContain('secrets');
    expect(await run('rm -f .env; echo KEY=2 > .env')).toMatchObject({ effects: { changed: ['.env'], leftOut: [] } });
    expect(readFileSync(at('.env'), 'utf8')).toBe('KEY=2\n');
  });

  it('leaves no mark of the overlay on what got another name', async () => {
    const { run, at } = bench({ a: 'a', c: 'c' });
    expect((await run('mv a b; echo x > a; mkdir d; mv c d/c; echo y > c; echo z > d/z')).effects).toMatchObject({ created: ['b', 'd/'] });
    const list = 'import os,sys; print([os.listxattr(name) for name in sys.argv[1:]])';
    expect(execFileSync('python3', ['-c', list, at('b'), at('d/c'), at('d/z'), at('a')], { encoding: 'utf8' })).toBe('[[], [], [], []]\n');
  });

  it('a look does not change anything', async () => {
    const { run, workspace, runner } = bench({ 'a.txt': 'a' });
    const before = snapshot(workspace, { inodes: true });
    const { effects } = await run('echo x > a.txt; touch new; cat a.txt', { surface: 'readonly_bash' });
    expect(effects).toMatchObject({ dropped: true, created: ['new'], changed: ['a.txt'] });
    expect(snapshot(workspace, { inodes: true })).toEqual(before);
    expect(await (await runner.history?.())?.list()).toEqual([]);
  });

  it('cannot see, move or replace our own places', async () => {
    const { run, at, workspace } = bench(
      { 'deep/er/token.txt': 'CANARY', 'deep/x': 'x' },
      { hidden: ['deep/er/token.txt', '.config/own.json'] },
    );
    const rename = `python3 -c "import os; os.rename('deep', 'd2')"`;
    const { stdout, stderr } = await run(
      `cat deep/er/token.txt; ${rename}; grep -r CANARY .; mkdir .config; echo x > .config/own.json; rm -rf deep`,
    );
    expect(`${stdout}${stderr}`).not.toContain('CANARY');
    expect(readdirSync(workspace)).toEqual(['deep']);
    expect(readFileSync(at('deep/er/token.txt'), 'utf8')).toBe('CANARY');
  });

  it('what fills the disk is stopped, said, and gone', async () => {
    const { run, workspace } = bench({ 'a.txt': 'a' }, { limits: { diskBytes: 200 * 2 ** 20 } });
    const { effects, exitCode } = await run(
      'python3 -c "import os; [os.posix_fallocate(os.open(str(i), os.O_CREAT | os.O_RDWR), 0, 2**29) for i in range(40)]"',
    );
    expect(exitCode).not.toBe(0);
    expect(effects?.nothingApplied).toMatch(/disk|MB/);
    expect(readdirSync(workspace)).toEqual(['a.txt']);
  });

  it('a workspace that cannot be looked through in time runs nothing', async () => {
    const { run, at } = bench({}, { limits: { wholeScanMs: 0 } });
    mkdirSync(at('a/b'), { recursive: true });
    await new Promise((resolve) => setTimeout(resolve, 150));
    await expect(run('touch x')).rejects.toMatchObject({ code: 'workspace_not_seen' });
    expect(existsSync(at('x'))).toBe(false);
  });

  it('directories deeper than a path can name are dropped, said, and gone', async () => {
    const { run, root, workspace } = bench({ 'a.txt': 'a' });
    const before = snapshot(workspace);
    const { effects } = await run(`echo b > a.txt; perl -e 'for (1..400) { mkdir "a"x40; chdir "a"x40 }'`);
    expect(effects).toMatchObject({ created: [], changed: [], nothingApplied: expect.stringContaining('too deep') });
    expect(snapshot(workspace)).toEqual(before);
    const left = execFileSync('find', [root, '-name', 'aaaaaaaaaa*'], { encoding: 'utf8' });
    expect(left).toBe('');
    expect((await run('echo c > a.txt')).effects).toMatchObject({ changed: ['a.txt'] });
  });

  it('a command that runs out of time keeps what it did until then', async () => {
    const { run, at } = bench();
    const { timedOut, effects } = await run('echo x > done; sleep 60', { timeoutMs: 1_500 });
    expect({ timedOut, created: effects?.created }).toEqual({ timedOut: true, created: ['done'] });
    expect(existsSync(at('done'))).toBe(true);
  });

  it('a cancelled one leaves nothing', async () => {
    const { runner, at, root } = bench();
    const stop = new AbortController();
    const request = {
      command: 'echo x > done; echo ready; sleep 60',
      surface: 'workspace_command',
      timeoutMs: 30_000,
      network: false,
      agentId: 'cli:test',
    } as const;
    await expect(runner.run(request, stop.signal, () => stop.abort())).rejects.toMatchObject({ code: 'cancelled' });
    expect(existsSync(at('done'))).toBe(false);
    const [journal = ''] = readdirSync(path.join(root, 'state/runs'));
    await expect.poll(() => readdirSync(path.join(root, 'state/runs', journal))).toEqual([]);
  });
});
