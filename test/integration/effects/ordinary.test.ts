/** What is allowed works as in a plain bash, over a view, as root and as another user. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { CommandResult } from '#kernel/ports/command-runner';
import { canSandbox } from '../execution/support/bubblewrap.ts';
import { temporaryDirectory } from '../execution/support/temporary.ts';
import type { LinesJob } from './children/run-lines.ts';
import { otherUser } from './support/run-as.ts';

const child = path.join(import.meta.dirname, 'children/run-lines.ts');
const isRoot = process.getuid?.() === 0;
const users: readonly { readonly who: string; readonly user?: number }[] = isRoot
  ? [{ who: 'root' }, { who: 'another user', user: otherUser }]
  : [{ who: 'this user' }];
const has = (program: string) => spawnSync('which', [program], { stdio: 'ignore' }).status === 0;

function write(root: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
}

const secret = 'KEY=SECRETCANARY\n';

/** A repository with secrets that git tracks and one that it does not, and a person's home directory with tools and caches in it. */
function ground() {
  const root = temporaryDirectory('ordinary-');
  const [workspaceRoot, home, stateDir] = [path.join(root, 'ws'), path.join(root, 'home'), path.join(root, 'state')];
  write(workspaceRoot, {
    'a.txt': 'a\n',
    'config/.env': 'TRACKED=1\n',
    '.npmrc': 'fund=false\n',
    'src/a.js': '1\n',
    '.gitignore': '.venv\n',
  });
  const git = (...args: string[]) => execFileSync('git', ['-c', 'user.name=x', '-c', 'user.email=x@y', ...args], { cwd: workspaceRoot });
  git('init', '-q');
  git('add', '-A');
  git('commit', '-qm', 'one');
  write(workspaceRoot, { '.env': secret });
  write(home, { '.gitconfig': '[user]\n\tname = Ann\n\temail = ann@example.org\n' });
  const tool = '#!/bin/sh\necho "tool ran"\n';
  write(home, { '.local/bin/mytool': tool, '.local/share/uv/python/cpython/bin/python3': '#!/bin/sh\nexec /usr/bin/env python3 "$@"\n' });
  write(home, { 'miniconda3/bin/conda-tool': tool, '.ssh/id_rsa': 'SECRETCANARY' });
  for (const name of ['.local/bin/mytool', '.local/share/uv/python/cpython/bin/python3', 'miniconda3/bin/conda-tool'])
    chmodSync(path.join(home, name), 0o755);
  for (const cache of ['.cargo/registry', 'go/pkg', '.m2/repository']) write(home, { [`${cache}/marker`]: 'cached\n' });
  mkdirSync(path.join(workspaceRoot, '.venv/bin'), { recursive: true });
  symlinkSync(path.join(home, '.local/share/uv/python/cpython/bin/python3'), path.join(workspaceRoot, '.venv/bin/python'));
  return { root, workspaceRoot, home, stateDir };
}

/** @returns what came of the lines, one after the other in one workspace */
function run(
  lines: readonly string[],
  user: number | undefined,
  where: ReturnType<typeof ground> & Pick<LinesJob, 'env'> & { readonly owned?: () => void } = ground(),
): readonly CommandResult[] {
  const { workspaceRoot, stateDir, home, env } = where;
  const job: LinesJob = { workspaceRoot, stateDir, home, lines, ...(env === undefined ? {} : { env }) };
  if (user !== undefined) execFileSync('chown', ['-R', `${user}:${user}`, where.root]);
  where.owned?.();
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', child, JSON.stringify(job)];
  const as = user === undefined ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
  const [program = '', ...args] = [...as, ...node];
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', cwd: path.join(import.meta.dirname, '../../..') });
  if (status !== 0) throw new Error(stderr);
  expect(readFileSync(path.join(where.workspaceRoot, '.env'), 'utf8')).toBe(secret);
  expect(stdout).not.toContain('CANARY');
  return JSON.parse(stdout) as CommandResult[];
}

describe.skipIf(!canSandbox).each(users)('as $who', ({ user }) => {
  it.runIf(has('npm'))('packages can be linked, and installed for all projects until the run ends, which is said', () => {
    const where = ground();
    const prefix = path.join(where.home, '.nvm/versions/node/v24');
    mkdirSync(path.join(prefix, 'lib/node_modules'), { recursive: true });
    mkdirSync(path.join(prefix, 'bin'));
    const [npm = ''] = execFileSync('which', ['npm'], { encoding: 'utf8' }).split('\n');
    write(where.home, { '.nvm/versions/node/v24/bin/npm': `#!/bin/sh\nnpm_config_prefix=${prefix} exec ${npm} "$@"\n` });
    chmodSync(path.join(prefix, 'bin/npm'), 0o755);
    write(where.workspaceRoot, {
      'one/package.json': '{"name":"one","version":"1.0.0","bin":{"one-tool":"tool.js"}}',
      'one/tool.js': '#!/usr/bin/env node\nconsole.log("one ran")\n',
      'two/package.json': '{"name":"two","version":"1.0.0"}',
    });
    const lines = [
      'cd one && npm link && one-tool',
      'cd two && npm link ../one && npx one-tool && readlink node_modules/one',
      'npm install --global ./one && one-tool',
      'npm ls --global --parseable; node two/node_modules/one/tool.js',
    ];
    const [linked, used, installed, after] = run(lines, user, { ...where, env: { PATH: path.join(prefix, 'bin') } });
    const said = expect.stringContaining('went with this run');
    expect(linked).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('one ran'), stderr: said });
    expect(used).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/one ran\n\.\.\/\.\.\/one\n$/), effects: { leftOut: [] } });
    expect(installed).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('one ran'), stderr: said });
    expect(after).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/one ran\n$/) });
    expect(after?.stdout).not.toContain('node_modules/one\n');
    expect(after?.stderr).not.toContain('went with this run');
    expect(readdirSync(path.join(prefix, 'bin'))).toEqual(['npm']);
    expect(readdirSync(path.join(prefix, 'lib/node_modules'))).toEqual([]);
  });

  it('an npm that lies in the project is changed like the rest of it', () => {
    const where = ground();
    write(where.workspaceRoot, { 'tools/bin/npm': '#!/bin/sh\n', 'tools/lib/node_modules/x/a': 'a\n' });
    const env = { PATH: path.join(where.workspaceRoot, 'tools/bin') };
    const [done] = run(['echo b > tools/bin/b && rm tools/lib/node_modules/x/a'], user, { ...where, env });
    expect(done).toMatchObject({ stderr: '', effects: { created: ['tools/bin/b'], deleted: ['tools/lib/node_modules/x/a'] } });
  });

  it('caches of the home directory can be written, and are as before for the next run', () => {
    const where = ground();
    const caches = ['.cargo/registry', 'go/pkg', '.m2/repository'];
    const all = caches.map((cache) => `cat ~/${cache}/marker && echo new > ~/${cache}/new && rm ~/${cache}/marker`).join(' && ');
    const results = run([all, caches.map((cache) => `ls ~/${cache}`).join('; '), 'echo x > ~/.local/bin/mytool'], user, where);
    expect(results).toMatchObject([
      { exitCode: 0, stdout: 'cached\n'.repeat(3), stderr: '' },
      { exitCode: 0, stdout: 'marker\n'.repeat(3) },
      { exitCode: 1, stderr: expect.stringContaining('Read-only file system') },
    ]);
    for (const cache of caches) expect(readFileSync(path.join(where.home, cache, 'marker'), 'utf8')).toBe('cached\n');
  });

  it('tool chains of the home directory start as their own start files say, and what they keep secret beside stays unseen', () => {
    const where = ground();
    const tool = (name: string) => ({ [name]: '#!/bin/sh\necho "$0 ran"\n' });
    const onPath = (place: string) => `export PATH="$HOME/${place}:$PATH"\n`;
    write(where.home, {
      ...{ ...tool('.cargo/bin/cargo'), '.cargo/env': onPath('.cargo/bin'), '.cargo/credentials.toml': 'SECRETCANARY' },
      ...{ ...tool('.nvm/versions/node/v9/bin/node9'), '.nvm/nvm.sh': `nvm() { ${onPath('.nvm/versions/node/v9/bin').trim()}; }\n` },
      ...{
        ...tool('.sdkman/candidates/java/current/bin/java9'),
        '.sdkman/bin/sdkman-init.sh': onPath('.sdkman/candidates/java/current/bin'),
      },
      ...{ ...tool('.deno/bin/deno9'), '.deno/env': onPath('.deno/bin'), '.deno/credentials.json': 'SECRETCANARY' },
      ...{ ...tool('.gradle/wrapper/dists/g/bin/gradle9'), '.gradle/gradle.properties': 'token=SECRETCANARY' },
      ...{ ...tool('bin/own'), 'work/env/pyvenv.cfg': 'version = 3\n', ...tool('work/env/bin/py9'), 'work/notes': 'SECRETCANARY' },
      ...{ ...tool('jdk-9/bin/java'), '.m2/settings-security.xml': 'SECRETCANARY', '.netrc': 'SECRETCANARY' },
    });
    execFileSync('bash', ['-c', 'chmod 755 $(grep -rl "^#!/bin/sh" .)'], { cwd: where.home });
    const start = '. ~/.cargo/env; . ~/.nvm/nvm.sh; nvm use 9; . ~/.sdkman/bin/sdkman-init.sh; . ~/.deno/env';
    const env = {
      VIRTUAL_ENV: `${where.home}/work/env`,
      JAVA_HOME: `${where.home}/jdk-9`,
      GOROOT: where.home,
      PATH: `${where.home}/work/env/bin`,
    };
    const [started, more, seen] = run(
      [
        `${start} && cargo && node9 && java9 && deno9`,
        'py9 && $JAVA_HOME/bin/java && ~/bin/own && ~/.gradle/wrapper/dists/g/bin/gradle9 && touch ~/.gradle/wrapper/dists/g.lck; echo "$VIRTUAL_ENV $GOROOT"',
        'find ~ -type f ! -path "*/bin/*" | xargs cat; echo x >> ~/.cargo/env || echo x > ~/.nvm/new || echo read-only',
      ],
      user,
      { ...where, env },
    );
    const ran = (...names: string[]) => names.map((name) => `${where.home}/${name} ran\n`).join('');
    expect(started).toMatchObject({
      stderr: '',
      stdout: ran('.cargo/bin/cargo', '.nvm/versions/node/v9/bin/node9', '.sdkman/candidates/java/current/bin/java9', '.deno/bin/deno9'),
    });
    expect(more).toMatchObject({
      stderr: '',
      stdout: `${ran('work/env/bin/py9', 'jdk-9/bin/java', 'bin/own', '.gradle/wrapper/dists/g/bin/gradle9')}${where.home}/work/env \n`,
    });
    expect(seen?.stdout).toMatch(/read-only\n$/);
    expect(seen?.stdout).not.toContain('CANARY');
  });

  const name = user === undefined && !isRoot ? os.userInfo().username : 'banksman';
  const sanitized = (kind: string) =>
    `printf 'int main(){int *p=new int;delete p;}' > s.cpp && g++ -fsanitize=${kind} s.cpp -o s && ./s && rm s s.cpp`;
  const serve =
    'python3 -m http.server 8123 >/dev/null 2>&1 & for i in $(seq 50); do curl -sf localhost:8123/a.txt && break; sleep 0.1; done; kill %1';
  const socket = `import socket as s; a=s.socket(s.AF_UNIX); a.bind("/tmp/s"); a.listen(); s.socket(s.AF_UNIX).connect("/tmp/s"); print("ok")`;
  const rows: readonly (readonly [line: string, stdout: unknown, needs?: string])[] = [
    ['git commit -q --allow-empty -m x && git log -1 --format="%an <%ae>"', 'Ann <ann@example.org>\n'],
    ['mytool && ~/miniconda3/bin/conda-tool', 'tool ran\ntool ran\n'],
    ['.venv/bin/python -c "print(6*7)"', '42\n', 'python3'],
    ['python3 -m venv --without-pip /tmp/v && /tmp/v/bin/python -c "print(1)"', '1\n', 'python3'],
    ['mkdir n && python3 -m venv --without-pip n/v && echo >n/v/lib/d.pth && n/v/bin/python -c "print(2)"', '2\n', 'python3'],
    [
      'rm -rf n; echo B=2 >> config/.env && git diff --stat | tail -1 && git commit -qam t && git add -A src && cat config/.env .npmrc',
      expect.stringMatching(/1 file changed.*\nTRACKED=1\nB=2\nfund=false/),
    ],
    ['echo C=3 >> config/.env && git stash -q && git stash pop -q && git diff --name-only', 'config/.env\n'],
    [`cat > long.txt <<'EOF'\n${'0123456789 $x `y`\n'.repeat(1_500)}EOF\nwc -c < long.txt`, `${18 * 1_500}\n`],
    [serve, 'a\n', 'curl'],
    [`mkdir -p e/f && touch e/g && git clean -fdq && find . -not -path './.git/*' -type d -empty -delete && ls`, 'a.txt\nconfig\nsrc\n'],
    [
      'cp -r . /tmp/copy && tar cf /tmp/all.tar . && tar xOf /tmp/all.tar ./.env | cut -c1-18; cut -c1-18 /tmp/copy/.env',
      '# Hidden by Banksm\n# Hidden by Banksm\n',
    ],
    [
      'echo n > new.txt; git add -A && git commit -qm all && git ls-files .env new.txt && git rm -q new.txt && git commit -qm less',
      'new.txt\n',
    ],
    [
      'echo u > untracked; echo d >> a.txt; git stash -uq && git stash pop -q && cat untracked && rm untracked && git checkout -q a.txt',
      'u\n',
    ],
    ['git config user.name Bot && git remote add up https://example.org/b.git && git config user.name', 'Bot\n'],
    ['git clone -q . inside && git -C inside log --format=%s -1 && rm -rf inside', expect.stringMatching(/^\w+\n$/)],
    ['git worktree add -q wt -b wt && git -C wt branch --show-current && git worktree remove wt && git branch -qD wt', 'wt\n'],
    ['git init -q --bare r.git && git push -q ./r.git HEAD:main && git -C r.git branch && rm -rf r.git', '  main\n'],
    ['git init -q sub && cd sub && git commit -q --allow-empty -m s && git log --format=%s && cd .. && rm -rf sub', 's\n'],
    ['mkdir -m 2775 team && mkdir team/inner && stat -c %a team team/inner', '2775\n2755\n'],
    ['stat -c %a team; rm -r team', '2775\n'],
    ['dpkg -l bash | tail -1 | cut -c1-8', 'ii  bash\n', 'dpkg'],
    ['git branch old && git branch -m old new && git branch --list new', '  new\n'],
    ['sed -i s/KEY/X/ .env; mv .env e && mv e .env; cp .env e && mv -f e .env; grep -c Hidden .env', '1\n'],
    ['echo more >> .env || echo refused', 'refused\n'],
    ['hostname', `${os.hostname()}\n`],
    ['whoami; id -un', `${name}\n${name}\n`],
    ['echo $HOME | grep -c home; echo $SHELL; umask', `1\n/bin/bash\n${process.umask().toString(8).padStart(4, '0')}\n`],
    ['tty; ps -o comm= -p $$; locale | head -1', 'not a tty\nbash\nLANG=C.UTF-8\n', 'ps'],
    ['ulimit -v; ulimit -d', 'unlimited\nunlimited\n'],
    ['diff <(echo a) <(echo a) && set -m && sleep 0.1 & wait && echo done', 'done\n'],
    ['d=$(mktemp -d) && echo x > $d/f && cat $d/f && rm -r $d', 'x\n'],
    [`python3 -c '${socket}'`, 'ok\n', 'python3'],
    ['ssh-keygen -q -t ed25519 -N "" -f /tmp/k && cut -d" " -f1 /tmp/k.pub', 'ssh-ed25519\n', 'ssh-keygen'],
    ["printf 'all: a b\\na b:\\n\\t@echo made\\n' | make -j4 -f -", 'made\nmade\n', 'make'],
    [sanitized('address'), '', 'g++'],
    [sanitized('thread'), '', 'g++'],
    ["echo 'class A{public static void main(String[] a){System.out.println(1);}}' > A.java && java A.java && rm A.java", '1\n', 'java'],
    ['mvn -v | grep -c Maven', expect.stringMatching(/^[1-9]/), 'mvn'],
  ];
  const usable = rows.filter(([, , needs]) => needs === undefined || has(needs));
  // In one workspace, one after the other, as an agent would.
  let results: readonly CommandResult[] = [];
  beforeAll(() => {
    const lines = usable.map(([line]) => line);
    results = run(lines, user);
  }, 240_000);

  it.each(usable.map(([line, stdout], index) => [line.slice(0, 60), stdout, index] as const))('%s', (_line, stdout, index) => {
    const { stdout: said, stderr, effects } = results[index] ?? {};
    expect(said, stderr).toEqual(stdout);
    expect(effects?.leftOut).toEqual([]);
  });

  it('who only reads sees nothing change: an archive of hidden secrets, and git, which sees other owners and groups, or a copy', () => {
    const where = ground();
    const cwd = where.workspaceRoot;
    write(cwd, { 'deep/er/.env': secret });
    const owned = () => {
      if (isRoot) execFileSync('chgrp', ['-R', 'users', cwd]);
      execFileSync('git', ['-c', 'safe.directory=*', 'update-index', '--refresh'], { cwd });
      execFileSync('chown', ['--reference=HEAD', 'index'], { cwd: path.join(cwd, '.git') });
    };
    const [archived, shared, copied] = run(
      [
        'tar cf /tmp/all.tar . && tar tf /tmp/all.tar ./deep/er/.env',
        'git diff-files --name-only',
        `python3 -c 'import os; os.rename("src", "lib")'; git diff-files --name-only -- a.txt config`,
      ],
      user,
      { ...where, owned },
    );
    expect(archived).toMatchObject({ exitCode: 0, stdout: './deep/er/.env\n', stderr: '' });
    expect([shared, copied]).toMatchObject([{ exitCode: 0, stdout: '' }, { stdout: '' }]);
  });

  it.skipIf(!has('setfacl'))('a file keeps its access list, also where that names other people', () => {
    const where = ground();
    const lists = ['a.txt', '.gitignore'].map((file) => path.join(where.workspaceRoot, file));
    execFileSync('setfacl', ['-m', 'u:nobody:rw', ...lists]);
    const [changed] = run(['echo b >> a.txt; chmod 000 .gitignore; echo c > new'], user, where);
    expect(changed).toMatchObject({ exitCode: 0, effects: { created: ['new'], changed: ['.gitignore', 'a.txt'] } });
    expect(execFileSync('getfacl', ['-cp', lists[0] ?? ''], { encoding: 'utf8' })).toContain('user:nobody:rw-');
    expect(lists.map((file) => lstatSync(file).mode & 0o777)).toEqual([0o664, 0]);
  });

  it.skipIf(user === undefined)('a folder of somebody else, which the view lets be written: nothing is applied, and it is said', () => {
    const where = ground();
    const shut = temporaryDirectory('shut-');
    chmodSync(shut, 0o755);
    writeFileSync(path.join(shut, '.env'), secret);
    const [tried] = run(['echo y > y; echo ran'], user, { ...where, workspaceRoot: shut });
    expect(tried).toMatchObject({ stdout: 'ran\n', effects: { created: [], nothingApplied: expect.stringContaining('may not write') } });
    expect(readdirSync(shut)).toEqual(['.env']);
  });

  it('a workspace that a command closed is looked at all the same', () => {
    const [closed] = run(['echo fresh > fresh; git add -A; chmod 000 .git .'], user);
    expect(closed?.effects).toMatchObject({
      leftOut: [{ path: '.', rule: 'root_mode' }],
      changed: expect.arrayContaining(['.git', '.git/index']),
    });
  });

  it('git is not made to track what is hidden, with whatever content, and so it stays hidden', () => {
    const other = 'git update-index --add --cacheinfo 100644,$(echo x | git hash-object -w --stdin),.env';
    const [forced, trick, ...later] = run(['git add -f .env', other, 'cat .env', 'rm .git/index; git add -f .env; echo $?'], user);
    for (const tried of [forced, trick, later[1]])
      expect(tried?.effects).toMatchObject({
        created: [],
        changed: [],
        nothingApplied: expect.stringContaining('made git track a secret'),
      });
    expect(later[0]?.stdout).toMatch(/^# Hidden/);
  });
});
