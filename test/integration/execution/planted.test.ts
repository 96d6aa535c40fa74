import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, utimesSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { canSandbox } from './support/bubblewrap.ts';
import { openWorkbench, type Workbench } from './support/workbench.ts';

const paths = (planted: readonly string[]) => planted.map((line) => line.replace(/ \(.*$/, ''));
const plantedBy = async (bench: Workbench, command: string) => {
  const result = await bench.run(command);
  expect(result.scanIncomplete).toBe(false);
  return paths(result.planted);
};

describe.skipIf(!canSandbox)('what a command planted', () => {
  it.each([
    ['a repository of its own', 'git init -q sub/new', ['sub/new/.git', 'sub/new/.git/config']],
    ['a repository by hand', 'mkdir -p a/.git/hooks; echo x > a/.git/hooks/post-checkout', ['a/.git', 'a/.git/hooks/post-checkout']],
    ['a bare repository in disguise', 'mkdir -p b/objects b/refs b/hooks; echo ref: x > b/HEAD; echo x > b/config', ['b', 'b/config']],
    ['a file that sends git elsewhere', 'mkdir c; echo "gitdir: ../evil" > c/.git', ['c/.git']],
    ['editor settings further down', 'mkdir -p p/.vscode; echo {} > p/.vscode/tasks.json', ['p/.vscode/tasks.json']],
    ['start-up files', 'echo x > .envrc; echo {} > .mcp.json; echo x > .npmrc', ['.envrc', '.mcp.json', '.npmrc']],
    ['links out, dangling ones included', 'ln -s /etc out; ln -s ../../nothing up; ln -s out chain', ['chain', 'out', 'up']],
    ['a FIFO and a socket', `mkfifo f; perl -MSocket -e 'socket(S,AF_UNIX,SOCK_STREAM,0); bind(S,pack_sockaddr_un("s"))'`, ['f', 's']],
    ['a repository below installed packages', 'git init -q node_modules/x', ['node_modules/x/.git', 'node_modules/x/.git/config']],
    ['a workspace file for the editor', 'echo {} > evil.code-workspace', ['evil.code-workspace']],
  ])('is found: %s', async (_name, command, expected) => {
    expect(await plantedBy(openWorkbench(), command)).toEqual(expected);
  });

  it('is found where old files are moved into place', async () => {
    const bench = openWorkbench();
    bench.files({ 'fixtures/dot-git/hooks/pre-commit': 'evil', 'fixtures/dot-git/config': 'evil', 'fixtures/vs/tasks.json': '{}' });
    const old = new Date('2001-01-01');
    utimesSync(path.join(bench.workspace, 'fixtures/dot-git/config'), old, old);
    expect(await plantedBy(bench, 'mv fixtures/dot-git fixtures/.git; mkdir p; mv fixtures/vs p/.vscode')).toEqual([
      'fixtures/.git',
      'fixtures/.git/config',
      'fixtures/.git/hooks/pre-commit',
      'p/.vscode/tasks.json',
    ]);
  });

  it('is found with its times set back', async () => {
    expect(
      await plantedBy(openWorkbench(), 'echo x > .envrc; touch -d 2001-01-01 .envrc; ln -s /etc out; touch -h -d 2001-01-01 out'),
    ).toEqual(['.envrc', 'out']);
  });

  it('in a repository that was there: new configuration beside the protected one', async () => {
    const bench = openWorkbench();
    execFileSync('git', ['init', '-q'], { cwd: bench.workspace });
    expect(await plantedBy(bench, 'echo ../evil > .git/commondir; echo x > .git/config.worktree')).toEqual([
      '.git/commondir',
      '.git/config.worktree',
    ]);
  });

  it('is nothing where a command only worked', async () => {
    const bench = openWorkbench();
    execFileSync('git', ['init', '-q'], { cwd: bench.workspace });
    bench.files({ '.vscode/settings.json': '{}', 'package.json': '{}', 'src/a.ts': 'x', '.envrc': 'x' });
    symlinkSync('src', path.join(bench.workspace, 'inside'));
    symlinkSync('/etc', path.join(bench.workspace, 'out-before'));
    mkdirSync(path.join(bench.workspace, 'node_modules/x/.vscode'), { recursive: true });
    const command =
      'echo y > src/b.ts; ln -s a.ts src/c.ts; git add src; git -c user.name=t -c user.email=t@e.org commit -qm one; mkdir -p node_modules/y/.vscode; echo {} > node_modules/y/.vscode/x.json; echo \'{"scripts":{"test":"x"}}\' > package.json; git checkout -q -b other; git tag v1; git gc -q';
    expect(await plantedBy(bench, command)).toEqual([]);
  });

  it('is shown on one line with nothing hidden, and not without end', async () => {
    const bench = openWorkbench();
    const result = await bench.run(`mkfifo "$(printf 'a\\nb\\u202e\\e[31m')"; for i in {100..199}; do mkfifo f$i; done`);
    expect(result.planted).toHaveLength(51);
    expect(result.planted[0]).toBe('a\\nb\\u{202e}\\u{1b}[31m (a FIFO)');
    expect(result.planted[50]).toBe('and 51 more');
  });

  it('may be missed in a tree too large for the time, which is said', async () => {
    const bench = openWorkbench({ limits: { scanMs: 0 } });
    await expect(bench.run('true')).resolves.toMatchObject({ scanIncomplete: true });
  });
});
