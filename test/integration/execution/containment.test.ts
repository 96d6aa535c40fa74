import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { homeDirectory } from '#execution/sandbox/home';
import { canSandbox } from './support/bubblewrap.ts';
import { openWorkbench } from './support/workbench.ts';

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', '-c', 'init.defaultBranch=main', ...args], {
    cwd,
    encoding: 'utf8',
    stdio: 'pipe',
  });

describe.skipIf(!canSandbox)('what a command sees', () => {
  it('is the workspace, where it is, and writable', async () => {
    const bench = openWorkbench();
    const result = await bench.run('pwd && echo made > new.txt && mkdir -p a/b && cat new.txt');
    expect(result).toMatchObject({ exitCode: 0, stdout: `${bench.workspace}\nmade\n`, sandbox: 'enforced', timedOut: false });
    expect(readFileSync(path.join(bench.workspace, 'new.txt'), 'utf8')).toBe('made\n');
  });

  it('is no neighbour of the workspace', async () => {
    const bench = openWorkbench();
    writeFileSync(path.join(bench.root, 'neighbour'), 'SECRET');
    const result = await bench.run(`cat ../neighbour; ls -A ..; echo evil > ../planted; cd .. && ls`);
    expect(result.stdout).not.toContain('SECRET');
    expect(existsSync(path.join(bench.root, 'planted'))).toBe(false);
    expect(readFileSync(path.join(bench.root, 'neighbour'), 'utf8')).toBe('SECRET');
  });

  it('is no home directory, no shadow, no host file through a link', async () => {
    const bench = openWorkbench();
    writeFileSync(path.join(bench.root, 'neighbour'), 'SECRET');
    symlinkSync(bench.root, path.join(bench.workspace, 'out'));
    symlinkSync('/etc', path.join(bench.workspace, 'etc'));
    const result = await bench.run(
      `cat out/neighbour etc/shadow /etc/shadow; ls ${os.homedir()}/.ssh /srv /mnt /sys /boot; cat /proc/1/root/etc/shadow`,
    );
    expect(result.stdout).toBe('');
    expect(result.exitCode).not.toBe(0);
  });

  it('is an environment of named variables', async () => {
    const bench = openWorkbench({
      environment: {
        ...process.env,
        AWS_SECRET_ACCESS_KEY: 'mark-1',
        SSH_AUTH_SOCK: '/run/mark-2',
        LD_PRELOAD: '/mark-3',
        BASH_ENV: '/mark-4',
      },
    });
    const result = await bench.run(`env; x=ü; echo "$\{#x} of LANG"; cat /proc/*/environ | tr '\\0' '\\n'`);
    expect(result.stdout).toContain(`HOME=${homeDirectory(os.homedir())}`);
    expect(result.stdout).toMatch(/^LANG=C\.UTF-8\n(?:.*\n)*1 of LANG$/m);
    expect(result.stdout).not.toMatch(/mark-|AWS_|SSH_|LD_PRELOAD|VSCODE/);
  });

  it('is a private /tmp that starts empty and is gone afterwards', async () => {
    const bench = openWorkbench();
    const name = `left-${randomUUID()}`;
    await bench.run(`echo one > /tmp/${name}; echo two > ~/${name}; echo three > /var/tmp/${name}`);
    const result = await bench.run(`cat /tmp/${name} ~/${name} /var/tmp/${name}`);
    expect(result.stdout).toBe('');
    for (const place of ['/tmp', '/var/tmp']) expect(existsSync(path.join(place, name))).toBe(false);
  });

  it('has the names of this user and machine, and no other user of the host', async () => {
    const bench = openWorkbench();
    const result = await bench.run('id -un; cut -d: -f1 /etc/passwd | sort | tr "\\n" " "; hostname; cat /etc/hostname');
    const name = process.getuid?.() === 0 ? 'banksman' : os.userInfo().username;
    const users = ['nobody', 'root', name].toSorted().join(' ');
    expect(result.stdout).toBe(`${name}\n${users} ${os.hostname()}\n${os.hostname()}\n`);
  });

  it('is never root’s own number, and knows its own name and host', async () => {
    const result = await openWorkbench().run('id -u; getent hosts localhost | wc -l; getent passwd "$(id -u)" | cut -d: -f6');
    const uid = process.getuid?.() || 1_000;
    expect(result.stdout).toBe(`${uid}\n1\n${homeDirectory(os.homedir())}\n`);
  });

  it('is no process of the host', async () => {
    const bench = openWorkbench();
    const result = await bench.run(`kill -0 ${process.pid} && echo reached; ls /proc | grep -c '^[0-9]'`);
    expect(result.stdout).not.toContain('reached');
    expect(Number(result.stdout)).toBeLessThan(8);
  });

  it('is no socket or directory of an agent, a desktop or Docker', async () => {
    const bench = openWorkbench();
    const result = await bench.run(
      'ls -d /run/docker.sock /var/run/docker.sock /run/user /tmp/.X11-unix /tmp/vscode-* /run/dbus 2>/dev/null; find / -xdev -type s 2>/dev/null',
    );
    expect(result.stdout).toBe('');
  });

  it('lets ordinary tools work: git, a compiler, node with a server of its own', async () => {
    const bench = openWorkbench();
    git(bench.workspace, 'init', '-q');
    bench.files({ 'a.txt': 'x', 'server.mjs': serverScript });
    const result = await bench.run(
      'git add a.txt && git -c user.name=t -c user.email=t@example.org commit -qm first && git log --oneline | wc -l && node server.mjs',
    );
    expect(result.stderr).toBe('');
    expect(result.stdout).toBe('1\nserved ok\n');
    expect(git(bench.workspace, 'log', '--format=%s').trim()).toBe('first');
  });
});

const serverScript = `import http from 'node:http';
const server = http.createServer((_q, r) => r.end('ok')).listen(0, '127.0.0.1', async () => {
  const answer = await fetch('http://127.0.0.1:' + server.address().port);
  console.log('served', await answer.text());
  server.close();
});`;

describe.skipIf(!canSandbox)('what a command cannot change', () => {
  it('are hooks and configuration of the repository, nor by another directory in its place', async () => {
    const bench = openWorkbench();
    git(bench.workspace, 'init', '-q');
    const config = readFileSync(path.join(bench.workspace, '.git/config'), 'utf8');
    const result = await bench.run(
      [
        'echo evil > .git/hooks/pre-commit',
        'git config core.fsmonitor ./evil',
        'echo evil >> .git/config',
        'rm -rf .git/config .git/hooks',
        'mv .git other && mkdir .git && echo evil > .git/config',
        'mv .git/config .git/c2',
        'ln -f package.json .git/config',
        'mv .git/hooks .git/h2',
        'echo done',
      ].join('\n'),
    );
    expect(result.stdout).toContain('done');
    expect(readFileSync(path.join(bench.workspace, '.git/config'), 'utf8')).toBe(config);
    expect(existsSync(path.join(bench.workspace, '.git/hooks/pre-commit'))).toBe(false);
    expect(existsSync(path.join(bench.workspace, 'other'))).toBe(false);
  });

  it('are hooks where the repository has no directory for them, and the one made for that is gone afterwards', async () => {
    const bench = openWorkbench();
    git(bench.workspace, 'init', '-q', '--template=');
    expect(existsSync(path.join(bench.workspace, '.git/hooks'))).toBe(false);
    const result = await bench.run('mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; true');
    expect(result.planted).toEqual([]);
    expect(existsSync(path.join(bench.workspace, '.git/hooks'))).toBe(false);
  });

  it('are nested repositories and submodules that are there', async () => {
    const bench = openWorkbench();
    git(bench.workspace, 'init', '-q');
    mkdirSync(path.join(bench.workspace, 'packages/deep/inner'), { recursive: true });
    git(path.join(bench.workspace, 'packages/deep/inner'), 'init', '-q');
    bench.files({
      '.git/modules/lib/x/HEAD': 'ref: x',
      '.git/modules/lib/x/config': 'own',
      '.git/modules/lib/x/objects/a': '',
      '.git/modules/lib/x/refs/a': '',
    });
    await bench.run(
      'echo evil > packages/deep/inner/.git/hooks/post-checkout; echo evil > packages/deep/inner/.git/config; mv packages/deep/inner/.git p; echo evil > .git/modules/lib/x/config',
    );
    expect(existsSync(path.join(bench.workspace, 'packages/deep/inner/.git/hooks/post-checkout'))).toBe(false);
    expect(readFileSync(path.join(bench.workspace, '.git/modules/lib/x/config'), 'utf8')).toBe('own');
    expect(existsSync(path.join(bench.workspace, 'p'))).toBe(false);
  });

  it('are hooks and included configuration that the repository keeps among its files', async () => {
    const bench = openWorkbench();
    git(bench.workspace, 'init', '-q');
    bench.files({ 'tools/hooks/pre-commit': 'mine', 'team.gitconfig': '[alias]\n' });
    git(bench.workspace, 'config', 'core.hooksPath', 'tools/hooks');
    git(bench.workspace, 'config', 'include.path', '../team.gitconfig');
    await bench.run('echo evil > tools/hooks/pre-commit; echo evil > team.gitconfig; echo evil > tools/hooks/pre-push');
    expect(readFileSync(path.join(bench.workspace, 'tools/hooks/pre-commit'), 'utf8')).toBe('mine');
    expect(readFileSync(path.join(bench.workspace, 'team.gitconfig'), 'utf8')).toBe('[alias]\n');
    expect(readdirSync(path.join(bench.workspace, 'tools/hooks'))).toEqual(['pre-commit']);
  });

  it('are settings of editors and containers, there or not yet', async () => {
    const bench = openWorkbench();
    bench.files({ '.vscode/settings.json': '{}', '.envrc': 'mine', '.mcp.json': '{}', 'packages/a/.vscode/tasks.json': '{}' });
    const result = await bench.run(
      'for f in .vscode/settings.json .vscode/tasks.json .envrc .mcp.json packages/a/.vscode/tasks.json .idea/x .devcontainer/devcontainer.json .claude/settings.json .cursor/mcp.json; do mkdir -p "$(dirname $f)"; echo evil > $f; done; mv .vscode v; rm -rf .envrc .mcp.json; true',
    );
    expect(result.planted).toEqual([]);
    expect(readFileSync(path.join(bench.workspace, '.vscode/settings.json'), 'utf8')).toBe('{}');
    expect(readFileSync(path.join(bench.workspace, '.envrc'), 'utf8')).toBe('mine');
    expect(readFileSync(path.join(bench.workspace, 'packages/a/.vscode/tasks.json'), 'utf8')).toBe('{}');
    // Nothing of the placeholders is left.
    expect(readdirSync(bench.workspace).sort()).toEqual(['.envrc', '.mcp.json', '.vscode', 'packages']);
  });

  it('are settings that are not there, though the command opens their place for itself', async () => {
    const bench = openWorkbench();
    git(bench.workspace, 'init', '-q', '--template=');
    const places = '.vscode .idea .devcontainer .claude .cursor .git/hooks';
    const result = await bench.run(
      `for d in ${places}; do mv $d $d.old; rmdir $d; chmod 777 $d; echo evil > $d/x; mkdir $d/y; head -c 1M /dev/zero > $d/z; done; du -cs ${places} | tail -1`,
    );
    expect(result.planted).toEqual([]);
    expect(Number.parseInt(result.stdout, 10)).toBeLessThanOrEqual(6 * 64);
    expect(readdirSync(bench.workspace)).toEqual(['.git']);
    expect(existsSync(path.join(bench.workspace, '.git/hooks'))).toBe(false);
  });

  it('keeps the placeholders until the last of two runs has ended', async () => {
    const bench = openWorkbench();
    const first = bench.run('touch started; until [ -e go ]; do sleep 0.02; done; mkdir -p .vscode && echo evil > .vscode/settings.json');
    while (!existsSync(path.join(bench.workspace, 'started'))) await new Promise((resolve) => setImmediate(resolve));
    await expect(bench.run('echo evil > .vscode/settings.json')).resolves.toMatchObject({ exitCode: 1 });
    bench.files({ go: '' });
    await expect(first).resolves.toMatchObject({ exitCode: 1, planted: [] });
    expect(readdirSync(bench.workspace).sort()).toEqual(['go', 'started']);
  });

  it('is a file outside by a hard link or a device', async () => {
    const bench = openWorkbench();
    const result = await bench.run('ln /usr/bin/env env; mknod d c 1 5; mknod b b 8 0; ls env d b');
    expect(result.stdout).toBe('');
  });

  it('is who owns a file when it runs: no set-user-id, by no way', async () => {
    const bench = openWorkbench();
    await bench.run(
      'cp /usr/bin/env a; chmod 4755 a; chmod u+s a; install -m 4755 /usr/bin/env b; perl -e \'sysopen(F,"c",0101,04755); mkdir "d", 02755; syscall(133,"e",0104755,0); chmod 02755, "a"\'; true',
    );
    for (const name of readdirSync(bench.workspace)) expect(statSync(path.join(bench.workspace, name)).mode & 0o6000).toBe(0);
    expect(readdirSync(bench.workspace)).toContain('a');
  });

  it('are the host’s device nodes; those that it has work', async () => {
    const names = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];
    const hosts = names.map((name) => statSync(`/dev/${name}`)).map(({ dev, ino }) => `${dev}:${ino}`);
    const bench = openWorkbench();
    // The mode and times that they have: where the host's are changed it does no harm.
    const change = 'chmod --reference=/dev/$d /dev/$d || touch -r /dev/$d /dev/$d';
    const { stdout } = await bench.run(`for d in ${names.join(' ')}; do (${change}) && stat -c %d:%i /dev/$d; done; echo tried`);
    const changed = stdout.trim().split('\n');
    expect(changed.at(-1)).toBe('tried');
    expect(changed.filter((node) => hosts.includes(node))).toEqual([]);
    // What one command does to its nodes is gone for the next.
    writeFileSync(path.join(bench.workspace, 'host'), `${statSync('/dev/null').dev}:${statSync('/dev/null').ino}`);
    await bench.run('[ "$(stat -c %d:%i /dev/null)" != "$(cat host)" ] && chmod 000 /dev/zero /dev/urandom');
    const result = await bench.run(
      'echo x > /dev/null && head -c 3 /dev/zero | wc -c; head -c 5 /dev/urandom | wc -c; echo x > /dev/full || echo full',
    );
    expect(result.stdout).toBe('3\n5\nfull\n');
  });

  it('is the kernel: settings, mounts, namespaces, tracing', async () => {
    const bench = openWorkbench();
    const pattern = readFileSync('/proc/sys/kernel/core_pattern', 'utf8');
    // Opened to append and not written: where that works the test fails without harm.
    const result = await bench.run(
      'exec 8>>/proc/sys/kernel/core_pattern && echo open; mount -o remount,rw,bind /usr && echo mounted; mount -t tmpfs none /tmp && echo mounted; umount /tmp && echo unmounted; unshare -U true && echo nested; unshare -m true && echo nested; chroot . /bin/true && echo changed',
    );
    expect(result.stdout).toBe('');
    expect(readFileSync('/proc/sys/kernel/core_pattern', 'utf8')).toBe(pattern);
  });
});

describe.skipIf(!canSandbox)('what is hidden in the workspace', () => {
  it('are secrets: neither read, nor moved, nor overwritten', async () => {
    const bench = openWorkbench();
    bench.files({ '.env': 'KEY=SECRET', 'config/id_rsa': 'SECRET', 'deep/er/.env.local': 'SECRET', '.env.example': 'KEY=' });
    const result = await bench.run(
      'cat .env config/id_rsa deep/er/.env.local; mv .env e; cp .env e; chmod 644 .env; echo x > .env; ln .env e; rm -f .env; mv config c2 && cat c2/id_rsa; cat .env.example',
    );
    expect(result.stdout).toBe('KEY=');
    expect(readFileSync(path.join(bench.workspace, '.env'), 'utf8')).toBe('KEY=SECRET');
    expect(readFileSync(path.join(bench.workspace, 'c2/id_rsa'), 'utf8')).toBe('SECRET');
    // Also in the run that finds it under its new name.
    await expect(bench.run('cat c2/id_rsa')).resolves.toMatchObject({ stdout: '' });
  });

  it('is not committed away by git, which cannot read it', async () => {
    const bench = openWorkbench();
    git(bench.workspace, 'init', '-q');
    bench.files({ '.env': 'KEY=1' });
    git(bench.workspace, 'add', '.env');
    git(bench.workspace, 'commit', '-qm', 'first');
    const result = await bench.run('git -c user.name=t -c user.email=t@example.org commit -qam second');
    expect(result.exitCode).not.toBe(0);
    expect(git(bench.workspace, 'show', 'HEAD:.env')).toBe('KEY=1');
  });

  it("is the layer's own state where it lies in the workspace", async () => {
    const bench = openWorkbench({
      state: 'ws/.state',
      hidden: (root) => [path.join(root, 'ws/private.json'), path.join(root, 'ws/missing')],
    });
    bench.files({ '.state/banksman.db': 'SECRET', 'private.json': 'SECRET' });
    const result = await bench.run(
      'cat .state/banksman.db private.json; ls .state; mv .state s; rm -rf private.json .state; echo x > .state/y',
    );
    expect(result.stdout).toBe('');
    expect(readFileSync(path.join(bench.workspace, '.state/banksman.db'), 'utf8')).toBe('SECRET');
    expect(readFileSync(path.join(bench.workspace, 'private.json'), 'utf8')).toBe('SECRET');
    expect(existsSync(path.join(bench.workspace, '.state/y'))).toBe(false);
  });

  it('is a socket on which somebody outside listens', async () => {
    const bench = openWorkbench();
    const server = net.createServer((socket) => socket.end('REACHED')).listen(path.join(bench.workspace, 'ipc'));
    try {
      const result = await bench.run(
        `perl -MSocket -e 'socket(S,AF_UNIX,SOCK_STREAM,0); connect(S,pack_sockaddr_un("ipc")) or die "no: $!"; print <S>'`,
      );
      expect(result.stdout).toBe('');
      expect(result.stderr).toContain('no:');
    } finally {
      server.close();
    }
  });

  it('shows nothing of the outside that a link with a protected name points to', async () => {
    const bench = openWorkbench();
    writeFileSync(path.join(bench.root, 'secret'), 'SECRET');
    symlinkSync(bench.root, path.join(bench.workspace, '.vscode'));
    symlinkSync(path.join(bench.root, 'secret'), path.join(bench.workspace, '.env'));
    const result = await bench.run('cat .vscode/secret .env .vscode/state/*; ls .vscode/; true');
    expect(result.stdout).not.toMatch(/SECRET|secret|state/);
    expect(readlinkSync(path.join(bench.workspace, '.vscode'))).toBe(bench.root);
  });
});

describe.skipIf(!canSandbox)('a command of the read-only surface', () => {
  it('reads the workspace and writes nothing', async () => {
    const bench = openWorkbench();
    bench.files({ 'a.txt': 'two\none\n', '.env': 'SECRET' });
    const result = await bench.run("'cat' 'a.txt' | 'sort'", { surface: 'readonly_bash' });
    expect(result).toMatchObject({ exitCode: 0, stdout: 'one\ntwo\n', planted: [], sandbox: 'enforced' });
    const attempt = await bench.run('echo x > b.txt; rm a.txt; mkdir d; cat .env', { surface: 'readonly_bash' });
    expect(attempt.stdout).toBe('');
    expect(readdirSync(bench.workspace).sort()).toEqual(['.env', 'a.txt']);
  });
});

describe.skipIf(!canSandbox)('a workspace', () => {
  it('may lie below a directory that the sandbox makes itself', async () => {
    const bench = openWorkbench({ workspace: 'with space/ünï/ws' });
    await expect(bench.run('echo ok > f; cat f')).resolves.toMatchObject({ stdout: 'ok\n' });
  });

  it.each(['/', os.homedir(), '/usr/share', '/tmp'])('%s leaves nothing to keep out of', async (workspaceRoot) => {
    const bench = openWorkbench();
    const { createCommandRunner } = await import('#execution/command-runner');
    const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
    const runner = createCommandRunner({
      workspaceRoot,
      stateDir: bench.state,
      hiddenPaths: [],
      requireSandbox: false,
      rules: { isControl: () => false, isSecret: () => false },
      log: quiet,
    });
    await expect(runner.status()).resolves.toMatchObject({ state: 'unavailable', reason: expect.stringContaining('open a project') });
  });
});
