/** What a build needs beyond the workspace: who commits, installed tools and their settings, and none of the person's secrets. */

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { programRunner } from '#execution/run-child';
import { fallbackHome, findHome, followGitSettings, homeDirectory, noGitSettings } from '#execution/sandbox/home';
import { canSandbox } from './support/bubblewrap.ts';
import { temporaryDirectory } from './support/temporary.ts';
import { openWorkbench } from './support/workbench.ts';

const idle = () => new AbortController().signal;

function homeWith(files: Readonly<Record<string, string>>): string {
  const home = temporaryDirectory('home-');
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(home, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return home;
}

/** A bench whose commands have `home` as the person's own. */
function benchAt(home: string, more: NodeJS.ProcessEnv = {}) {
  return openWorkbench({ environment: { ...process.env, HOME: home, XDG_CONFIG_HOME: undefined, ...more } });
}

const has = (program: string, ...args: string[]) => spawnSync(program, args, { stdio: 'ignore' }).status === 0;

describe('the home directory of a command', () => {
  it('shows what is installed, never what is secret', () => {
    const home = homeWith({
      '.nvm/versions/x': '',
      '.cargo/bin/cargo': '',
      '.cargo/credentials.toml': 'token = 1',
      '.m2/repository/a.jar': '',
      '.m2/settings.xml': '<settings><mirrors/></settings>',
      '.ssh/id': '',
      '.local/bin/tool': '',
      '.bash_history': '',
    });
    const found = findHome({ home, environment: { PATH: `/opt/no-such-thing/bin:${home}/bin` }, git: noGitSettings });
    expect(found.directory).toBe(home);
    const names = ['.cargo/bin', '.local/bin', '.m2/repository', '.nvm'];
    expect([...found.visible].sort()).toEqual(names.map((name) => path.join(home, name)));
    expect([...found.files.keys()]).toEqual([path.join(home, '.m2/settings.xml')]);
  });

  it.each([
    ['.npmrc', '//registry.example.org/:_authToken=abc'],
    ['.npmrc', 'registry=https://me:pw@registry.example.org/'],
    ['.m2/settings.xml', '<server><password>x</password></server>'],
    ['.cargo/config.toml', '[registries.x]\ntoken = "y"'],
  ])('leaves out %s where it holds %s', (name, text) => {
    expect(findHome({ home: homeWith({ [name]: text }), environment: {}, git: noGitSettings }).files.size).toBe(0);
    expect(
      findHome({ home: homeWith({ [name]: 'registry=https://registry.example.org/' }), environment: {}, git: noGitSettings }).files.size,
    ).toBe(1);
  });

  it('passes on where a tool is only while the command sees that place', () => {
    const environment = { JAVA_HOME: '/usr/lib/jvm/x', CARGO_HOME: '/srv/cargo', GOROOT: '/usr/../root/go', NVM_DIR: 'relative' };
    expect(findHome({ home: homeWith({}), environment, git: noGitSettings }).env).toEqual({ JAVA_HOME: '/usr/lib/jvm/x' });
  });

  it.each(['/', '/etc', '/usr/local', '/proc/self', 'relative', '', '/no/such/home'])('is not laid over %s', (home) => {
    expect(homeDirectory(home)).toBe(fallbackHome);
  });
});

describe('git settings', () => {
  const read = (home: string, root = temporaryDirectory('ws-')) =>
    followGitSettings(root, { PATH: process.env['PATH'], HOME: home }, programRunner)(idle());

  it('are who commits and how git shows, and nothing that signs, fetches credentials or knows a token', async () => {
    const home = homeWith({
      '.gitconfig': [
        '[user]\n\tname = "A \\"B\\" C"\n\temail = a@example.org\n\tsigningkey = ABC',
        '[credential]\n\thelper = store',
        '[commit]\n\tgpgsign = true',
        '[url "https://x:tok@example.org/"]\n\tinsteadOf = ex:',
        '[alias]\n\tst = status\n\tup = "!curl -H \'Private-Token: abc\'"',
        '[core]\n\texcludesFile = ~/ignored\n\tsshCommand = ssh -i key\n\thooksPath = /evil',
        '[http]\n\tproxy = http://u:p@proxy',
      ].join('\n'),
      ignored: '*.log\n',
    });
    const { files } = await read(home);
    expect([...files.keys()]).toEqual(['.gitconfig', '.config/git/ignore']);
    expect(files.get('.config/git/ignore')).toBe('*.log\n');
    const file = path.join(homeWith({ '.gitconfig': files.get('.gitconfig') ?? '' }), '.gitconfig');
    expect(execFileSync('git', ['config', '--file', file, '--list'], { encoding: 'utf8' })).toBe(
      'user.name=A "B" C\nuser.email=a@example.org\nalias.st=status\n',
    );
  });

  it('follow what is included for this place alone', async () => {
    const home = homeWith({ '.gitconfig': '', work: '[user]\n\temail = me@work.example.org\n' });
    const root = temporaryDirectory('ws-');
    execFileSync('git', ['init', '-q', root]);
    writeFileSync(path.join(home, '.gitconfig'), `[user]\n\temail = me@home.example.org\n[includeIf "gitdir:${root}/"]\n\tpath = work\n`);
    expect((await read(home, root)).files.get('.gitconfig')).toContain('me@work.example.org');
    expect((await read(home)).files.get('.gitconfig')).not.toContain('work.example');
  });

  it('are none where git cannot be started or its configuration is broken', async () => {
    const none = followGitSettings('/nonexistent', { PATH: '/nonexistent', HOME: '/nonexistent' }, programRunner);
    expect((await none(idle())).files.size).toBe(0);
    expect((await read(homeWith({ '.gitconfig': '[user' }))).files.size).toBe(0);
  });
});

describe.skipIf(!canSandbox)('a command at home', () => {
  it('commits as the person, and a change of the settings is its own', async () => {
    const home = homeWith({ '.gitconfig': '[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = trunk\n' });
    const bench = benchAt(home);
    const line =
      'git init -q sub && cd sub && git commit -q --allow-empty -m one && git log -1 --format="%an %ae %D" && git config --global user.name Eve';
    await expect(bench.run(line)).resolves.toMatchObject({ exitCode: 0, stdout: 'Ada ada@example.org HEAD -> trunk\n' });
    expect(readFileSync(path.join(home, '.gitconfig'), 'utf8')).toContain('name = Ada');
    await expect(bench.run('git config user.name; echo $HOME; whoami')).resolves.toMatchObject({ stdout: `Ada\n${home}\nbanksman\n` });
  });

  it('runs what the person installed there, cannot change it, and sees nothing else', async () => {
    const home = homeWith({
      '.local/bin/hello': '#!/bin/sh\necho hello from $0\n',
      '.ssh/id_rsa': 'SECRET',
      '.netrc': 'SECRET',
      'notes.txt': 'SECRET',
    });
    chmodSync(path.join(home, '.local/bin/hello'), 0o755);
    const bench = benchAt(home, { PATH: `${home}/.local/bin:${process.env['PATH']}` });
    await expect(bench.run('hello')).resolves.toMatchObject({ exitCode: 0, stdout: `hello from ${home}/.local/bin/hello\n` });
    const seen = await bench.run(
      'find ~ -type f; cat ~/.ssh/id_rsa ~/.netrc ~/notes.txt; echo x > ~/.local/bin/hello; echo mine > ~/new && cat ~/new',
    );
    expect(seen.stdout).toBe(`${home}/.local/bin/hello\nmine\n`);
    expect(existsSync(path.join(home, 'new'))).toBe(false);
    expect(readFileSync(path.join(home, '.local/bin/hello'), 'utf8')).toContain('hello from');
  });

  it.skipIf(!has('javac', '-version'))('compiles and runs with the distribution’s JDK, its security settings included', async () => {
    const bench = openWorkbench();
    bench.files({
      'T.java':
        'public class T { public static void main(String[] a) throws Exception { System.out.println(java.security.MessageDigest.getInstance("SHA-256").getDigestLength() + java.security.SecureRandom.getInstanceStrong().getAlgorithm().replaceAll(".*", "")); } }',
    });
    await expect(bench.run('javac T.java && java T')).resolves.toMatchObject({ exitCode: 0, stdout: '32\n' });
  });

  it.skipIf(!has('mvn', '--version'))('starts the distribution’s Maven', async () => {
    const result = await openWorkbench().run('mvn --version');
    expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Apache Maven') });
  });

  it.skipIf(!has('gcc', '--version'))('runs programs that sanitizers watch over', async () => {
    const bench = openWorkbench();
    bench.files({
      'ok.c': 'int main(void) { return 0; }',
      'bad.c': '#include <stdlib.h>\nint main(void) { char *p = malloc(4); return p[4]; }',
    });
    for (const sanitizer of ['address', 'thread']) {
      const built = await bench.run(`gcc -fsanitize=${sanitizer} ok.c -o ok && ./ok`);
      expect(built, sanitizer).toMatchObject({ exitCode: 0 });
    }
    const bad = await bench.run('gcc -fsanitize=address bad.c -o bad && ./bad');
    expect(bad.stderr).toContain('heap-buffer-overflow');
  });

  it('hears at once that there is no network', async () => {
    const result = await openWorkbench().run('npx --yes no-such-package-of-ours', { timeoutMs: 30_000 });
    expect(result).toMatchObject({ timedOut: false, exitCode: 1, stderr: expect.stringContaining('EAI_AGAIN') });
    expect(result.networkTries).toBeGreaterThan(0);
  });

  it('talks to a server that it started itself', async () => {
    const bench = openWorkbench();
    bench.files({
      'server.mjs':
        "import http from 'node:http';\nhttp.createServer((_, res) => res.end('served')).listen(8123, '127.0.0.1', () => console.log('up'));",
      'client.mjs': "for (;;) { try { console.log(await (await fetch('http://127.0.0.1:8123/')).text()); process.exit(0); } catch {} }",
    });
    const result = await bench.run('node server.mjs > log & node client.mjs; kill %1');
    expect(result).toMatchObject({ exitCode: 0, stdout: 'served\n' });
  });

  it('takes room in advance by writing, and gives it back', async () => {
    const bench = openWorkbench();
    const size = 'stat -c "%s $(($(stat -c %b f) > 0))" f';
    const run = (command: string) => bench.run(`${command} && ${size}`);
    expect(await run('fallocate -l 1M f')).toMatchObject({ exitCode: 0, stderr: '', stdout: '1048576 1\n' });
    expect(await run('rm f; /usr/bin/fallocate -v -o 512KiB --length 512KiB -- f; fallocate -l1MiB f')).toMatchObject({
      stdout: '1048576 1\n',
    });
    expect(await run('sh -c "fallocate --offset 0 -l 10k f"')).toMatchObject({ exitCode: 0, stdout: '1048576 1\n' });
    expect(await run('fallocate -p -o 0 -l 1M f')).toMatchObject({ exitCode: 0, stdout: '1048576 0\n' });
    expect(await run('head -c 64K /dev/zero > f && fallocate --dig-holes f')).toMatchObject({ exitCode: 0, stdout: '65536 0\n' });
    expect(await bench.run('fallocate -l')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/^fallocate: option requires an argument/),
    });
    expect(await bench.run('fallocate --help; type -a fallocate')).toMatchObject({
      stdout: expect.stringMatching(/^\nUsage:\n fallocate \[[\s\S]*fallocate is \/usr\/bin\/fallocate/),
    });
  });

  it('cannot take the disk in an instant', async () => {
    const bench = openWorkbench({ limits: { fileBytes: 2 ** 20 } });
    const result = await bench.run(
      `perl -e 'my $n = (\`uname -m\` =~ /x86/) ? 285 : 47; open(F, ">", "big"); my $r = syscall($n, fileno(F), 0, 0, 2 ** 19); print "$r ", $! + 0, " ", -s "big", "\\n"'`,
    );
    expect(result.stdout).toBe('-1 95 0\n');
    await expect(bench.run('truncate -s 500K a && fallocate -l 100K b && stat -c %s a')).resolves.toMatchObject({ stdout: '512000\n' });
    expect(await bench.run('fallocate -l 2M c; stat -c %s c')).toMatchObject({
      stdout: '1048576\n',
      stderr: expect.stringContaining('File size limit exceeded'),
    });
  });
});
