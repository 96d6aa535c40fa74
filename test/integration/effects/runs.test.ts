import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { disk } from '#execution/effects/disk';
import { programRunner } from '#execution/run-child';
import { startOf } from '#files/process-life';
import type { EffectJudge, RunBegun, RunEffects } from '#kernel/effects';
import { temporaryDirectory } from '../execution/support/temporary.ts';
import { type BenchRequest, openBench, snapshot, type Way } from './support/effects-bench.ts';
import { otherUser, runApart } from './support/run-as.ts';

function bench(files: Readonly<Record<string, string>>, more: Partial<BenchRequest> = {}) {
  const made = openBench({ root: temporaryDirectory('runs-'), ...more });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(made.workspace, name)), { recursive: true });
    writeFileSync(path.join(made.workspace, name), text);
  }
  const at = (name: string) => path.join(made.workspace, name);
  return { ...made, at, read: (name: string) => readFileSync(at(name), 'utf8') };
}

const gitIdentity = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'b',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'b',
};

describe('changes from outside while a command runs', () => {
  it.each<[string, string, (at: (name: string) => string) => void]>([
    ['a file that it changes', 'echo ours > f', (at) => writeFileSync(at('f'), 'theirs')],
    ['a file that it deletes', 'rm f', (at) => writeFileSync(at('f'), 'theirs')],
    [
      'a file of the same length and times',
      'echo ours > f',
      (at) =>
        execFileSync('bash', ['-c', 'touch -r f /tmp/ref$$; printf theirs > f; touch -r /tmp/ref$$ f; rm /tmp/ref$$'], {
          cwd: path.dirname(at('f')),
        }),
    ],
    [
      'a file that is replaced',
      'echo ours > f',
      (at) => {
        writeFileSync(at('g'), 'theirs');
        renameSync(at('g'), at('f'));
      },
    ],
    [
      'a file that it creates',
      'rm f; echo ours > new',
      (at) => {
        writeFileSync(at('new'), '');
        writeFileSync(at('f'), 'theirs');
      },
    ],
    [
      'a directory that it replaces',
      'rm -r d; echo ours > d',
      (at) => {
        writeFileSync(at('d/in'), 'new');
        writeFileSync(at('f'), 'theirs');
      },
    ],
    [
      'modes',
      'chmod 600 f',
      (at) => {
        writeFileSync(at('f'), 'theirs');
        chmodSync(at('f'), 0o640);
      },
    ],
  ])('%s: theirs stays, and it is said', async (_name, command, change) => {
    const { run, at, read, workspace } = bench({ f: 'before', 'd/x': 'x' });
    const done = await run(`${command}; echo free > other`, { meanwhile: () => change(at) });
    expect(read('f')).toBe('theirs');
    expect(done.leftOut).not.toEqual([]);
    expect(done.leftOut.every(({ reason }) => reason === 'conflict')).toBe(true);
    expect(done.created).toContain('other');
    expect(readdirSync(workspace).sort()).toEqual(['d', 'f', 'other', ...(command.includes('new') ? ['new'] : [])].sort());
  });

  it('a file that it gave a second name, and that goes at the last moment: said, and the rest is applied', async () => {
    const { workspace, run } = bench(
      { f: 'x' },
      {
        programs: {
          ...programRunner,
          // Whatever is asked about new directories is asked when all else is known.
          run: (line, signal) => {
            if (line.input?.includes('./last') === true) rmSync(path.join(workspace, 'f'), { force: true });
            return programRunner.run(line, signal);
          },
        },
      },
    );
    const done = await run('ln f second; mkdir d last; ln f d/third; echo free > other');
    expect(existsSync(path.join(workspace, 'f'))).toBe(false);
    expect(done).toMatchObject({ exitCode: 0, created: ['last/', 'other'] });
    expect(done.leftOut.map(({ path: name, reason }) => `${name} ${reason}`).sort()).toEqual(['d conflict', 'second conflict']);
    expect(readdirSync(workspace).sort()).toEqual(['last', 'other']);
  });

  it.each<[string, Way, number | undefined]>([
    ['root', 'overlay', undefined],
    ['another user', 'overlay', otherUser],
    ['root', 'copy', undefined],
  ])('what it changed and somebody else took away stays away (%s, %s)', async (_who, way, user) => {
    const root = temporaryDirectory('runs-');
    const [workspace, go] = [path.join(root, 'ws'), path.join(root, 'go')];
    mkdirSync(path.join(workspace, 'd/in'), { recursive: true });
    for (const name of ['f', 'd/in/x', 'd/in/y']) writeFileSync(path.join(workspace, name), 'before');
    if (user !== undefined) execFileSync('chown', ['-R', `${user}:${user}`, root]);
    // The command itself has no cage here.
    const theirs = `cd ${workspace} && rm -r f d && touch ${go}`;
    const outside = spawn('bash', ['-c', `until [[ -e ${go}.now ]]; do sleep 0.02; done; ${theirs}`]);
    const ended = once(outside, 'close');
    const done = runApart(
      {
        root,
        way,
        commands: [`echo more >> f; echo more >> d/in/x; echo free > other; touch ${go}.now; until [[ -e ${go} ]]; do sleep 0.02; done`],
      },
      user,
    )?.done[0];
    await ended;
    expect(done).toMatchObject({ exitCode: 0, created: ['other'], changed: [], deleted: [] });
    expect(done?.leftOut.map(({ path: name, reason }) => `${name.split('/', 1)[0]} ${reason}`).sort()).toEqual([
      'd conflict',
      'f conflict',
    ]);
    expect(readdirSync(workspace)).toEqual(['other']);
  });

  it('in the repository: nothing of the run is applied', async () => {
    const { run, at, workspace } = bench({ f: 'x' });
    execFileSync('git', ['init', '-q'], { cwd: workspace });
    const before = snapshot(workspace);
    const index = at('.git/index');
    const done = await run('git add f; echo y > g', { meanwhile: () => writeFileSync(index, 'theirs') });
    expect(done).toMatchObject({ created: [], changed: [], nothingApplied: expect.stringContaining('repository') });
    rmSync(index);
    expect({ ...snapshot(workspace), '.git': 0 }).toEqual({ ...before, '.git': 0 });
  });

  it('two runs at once: each sees its own view, and the later one meets a conflict', async () => {
    const { run, read } = bench({ f: 'before', g: 'before' });
    const seconds: Awaited<ReturnType<typeof run>>[] = [];
    const first = await run('echo first > f; echo 1 > one; cat f', {
      meanwhile: async () => void seconds.push(await run('echo second > f; echo 2 > two; [[ ! -e one ]]')),
    });
    expect(seconds[0]).toMatchObject({ exitCode: 0, changed: ['f'], created: ['two'] });
    expect(first).toMatchObject({ changed: [], created: ['one'], leftOut: [{ path: 'f', reason: 'conflict' }] });
    expect(read('f')).toBe('second\n');
  });
});

describe('undo', () => {
  it('goes back run by run, and is refused where later changes are in the way', async () => {
    const { run, effects, read, at, workspace } = bench({ f: '0' });
    const states = [snapshot(workspace, { inodes: true })];
    const ids: string[] = [];
    for (const command of ['echo 1 > f; mkdir t; echo 1 > t/x', 'echo 2 >> f; echo 2 > t/y', 'rm -r t f']) {
      ids.push((await run(command)).runId ?? '');
      states.push(snapshot(workspace, { inodes: true }));
    }
    await expect(effects.undo(ids[0] ?? '', { force: false })).rejects.toMatchObject({
      code: 'undo_in_the_way',
      message: 'changed since the run: `f`, `t`',
    });
    expect(snapshot(workspace, { inodes: true })).toEqual(states[3]);
    for (const index of [2, 1, 0]) {
      await effects.undo(ids[index] ?? '', { force: false });
      expect(snapshot(workspace, { inodes: true }), `undo ${index}`).toEqual(states[index]);
    }
    await expect(effects.undo(ids[0] ?? '', { force: false })).rejects.toMatchObject({ code: 'not_undoable' });
    await expect(effects.undo('0-00000000', { force: false })).rejects.toMatchObject({ code: 'no_such_run' });
    await expect(effects.undo('../ws', { force: false })).rejects.toMatchObject({ code: 'no_such_run' });
    expect(existsSync(at('t'))).toBe(false);
    expect(read('f')).toBe('0');
  });

  it.each(['.', 'tree', 'sub'])(
    'takes an index that git wrote anew with the same entries (`git status`) for the one that the run left: %s',
    async (place) => {
      const { run, effects, at, workspace } = bench({ f: 'x', g: 'x' });
      const git = (line: string) =>
        execFileSync('bash', ['-ec', `cd ${place}; ${line}`], {
          cwd: workspace,
          encoding: 'utf8',
          env: { ...process.env, ...gitIdentity },
        });
      execFileSync(
        'bash',
        [
          '-ec',
          `git init -q . && git add -A && git commit -qm one && git worktree add -q tree
git -c protocol.file.allow=always submodule --quiet add ./ sub 2> /dev/null && git commit -qm two`,
        ],
        { cwd: workspace, env: { ...process.env, ...gitIdentity } },
      );
      const [head, status] = [git('git rev-parse HEAD'), git('git status --short -- f g')];
      const done = await run(`cd ${place}; echo more >> f; git add f; git commit -qm three; echo again >> f`, { env: gitIdentity });
      expect(done).toMatchObject({ exitCode: 0, leftOut: [] });
      const index = git('git rev-parse --path-format=absolute --git-path index').trim();
      const before = readFileSync(index);
      // Times that are not those of the index: it is written anew.
      git('touch -d 2001-01-01 g; git status');
      expect(readFileSync(index).equals(before)).toBe(false);
      await effects.undo(done.runId ?? '', { force: false });
      expect(git('git rev-parse HEAD')).toBe(head);
      expect(git('git status --short -- f g')).toBe(status);
      expect(readFileSync(at(`${place}/f`), 'utf8')).toBe('x');
    },
  );

  it('of a repository that the run made, too', async () => {
    const { run, effects, at, workspace } = bench({ f: 'x' });
    const done = await run('git init -q new; cd new; echo x > f; git add f; git commit -qm one', { env: gitIdentity });
    const index = at('new/.git/index');
    const { ino } = statSync(index);
    execFileSync('git', ['update-index', '--force-write-index'], { cwd: at('new') });
    expect(statSync(index).ino).not.toBe(ino);
    await effects.undo(done.runId ?? '', { force: false });
    expect(readdirSync(workspace)).toEqual(['f']);
  });

  it('is refused where others gave the index other entries since', async () => {
    const { run, effects, workspace } = bench({ f: 'x', g: 'x' });
    const git = (line: string) => execFileSync('bash', ['-ec', line], { cwd: workspace, env: { ...process.env, ...gitIdentity } });
    git('git init -q . && git add f && git commit -qm one');
    const done = await run('echo more >> f; git add f');
    git('git add g');
    await expect(effects.undo(done.runId ?? '', { force: false })).rejects.toMatchObject({
      code: 'undo_in_the_way',
      message: 'changed since the run: `.git/index`',
    });
  });

  it('leaves what a later commit of somebody else is made of', async () => {
    const { run, effects, workspace } = bench({ f: 'x', g: 'x' });
    const git = (line: string) =>
      execFileSync('bash', ['-ec', line], { cwd: workspace, encoding: 'utf8', env: { ...process.env, ...gitIdentity } });
    git('git init -q . && git add -A && git commit -qm one');
    const added = await run('echo more >> f; git add f');
    git('git commit -qm theirs');
    const undo = (force: boolean) => effects.undo(added.runId ?? '', { force });
    await expect(undo(false)).rejects.toMatchObject({ code: 'undo_in_the_way', message: 'changed since the run: `.git/index`' });
    await undo(true);
    const done = await run('git add f; git commit -qm ours', { env: gitIdentity });
    git('git branch theirs');
    await effects.undo(done.runId ?? '', { force: false });
    git('git fsck --no-dangling');
    expect(git('git log --format=%s theirs')).toBe('ours\ntheirs\none\n');
  });

  it('forced: what is in the way is set aside, never lost', async () => {
    const { run, effects, read, at, journal } = bench({ f: '0', g: '0' });
    const { runId = '' } = await run('echo 1 > f; mkdir t; echo 1 > t/x; rm g');
    for (const name of ['f', 'g', 't/mine']) writeFileSync(at(name), `a person's ${name}`);
    await expect(effects.undo(runId, { force: false })).rejects.toMatchObject({ code: 'undo_in_the_way' });
    await effects.undo(runId, { force: true });
    expect([read('f'), read('g'), existsSync(at('t'))]).toEqual(['0', '0', false]);
    const aside = execFileSync('grep', ['-rl', "a person's", journal], { encoding: 'utf8' }).trim().split('\n');
    expect(aside).toHaveLength(3);
  });

  it('2,400 changes', async () => {
    const { run, effects, workspace } = bench({});
    execFileSync('bash', ['-c', 'for d in {1..20}; do mkdir d$d; for i in {1..120}; do echo $i > d$d/$i; done; done'], { cwd: workspace });
    const before = snapshot(workspace);
    const { runId = '' } = await run('for d in {1..20}; do for i in {1..60}; do echo x >> d$d/$i; done; rm d$d/{61..120}; done');
    await effects.undo(runId, { force: false });
    expect(snapshot(workspace)).toEqual(before);
  });
});

describe('limits', () => {
  it('more directories than allowed: nothing is kept, and no next look has to go through them', async () => {
    const { run, workspace, journal } = bench({ f: 'x' }, { limits: { entries: 1_000 } });
    const done = await run('mkdir -p d/{1..40}/{1..30}; chmod 000 d/*');
    expect(done).toMatchObject({ created: [], nothingApplied: expect.stringContaining('more than 1000 files and directories') });
    expect(readdirSync(workspace)).toEqual(['f']);
    expect(readdirSync(journal)).toEqual([]);
  });

  it('more bytes than allowed: nothing is kept, and the disk has its room back', async () => {
    const { run, workspace } = bench({ f: 'x' }, { limits: { bytes: 2 ** 30 } });
    const free = () => statfsSync(workspace).bavail * statfsSync(workspace).bsize;
    const before = free();
    const done = await run('for i in 1 2; do fallocate -l 1G big$i; done');
    expect(done).toMatchObject({ created: [], nothingApplied: expect.stringContaining('more than 1024 MB') });
    expect(readdirSync(workspace)).toEqual(['f']);
    expect(before - free()).toBeLessThan(2 ** 30);
  });

  it('the journal keeps to its size: the oldest go first, and a run that alone is larger is held', async () => {
    const { run, effects, workspace } = bench(
      { a: 'a'.repeat(600), b: 'b'.repeat(600), c: 'c'.repeat(1_100) },
      { limits: { journalBytes: 1_000 } },
    );
    const first = await run('rm a; echo x > new');
    const second = await run('rm b');
    expect((await effects.list()).map(({ id }) => id)).toEqual([second.runId]);
    await expect(effects.undo(first.runId ?? '', { force: false })).rejects.toMatchObject({ code: 'no_such_run' });
    const third = await run('rm c; echo y > newer');
    expect(third).toMatchObject({ created: ['newer'], deleted: [], leftOut: [{ path: 'c', reason: 'held', rule: 'loss' }] });
    expect(readdirSync(workspace).sort()).toEqual(['c', 'new', 'newer']);
  });

  it('old runs go', async () => {
    const { run, effects } = bench({ a: 'a', b: 'b' }, { limits: { journalMs: 300 } });
    await run('rm a');
    await new Promise((resolve) => setTimeout(resolve, 350));
    const { runId } = await run('rm b');
    expect((await effects.list()).map(({ id }) => id)).toEqual([runId]);
  });
});

describe('a read-only run', () => {
  it('says what would have changed, and drops it', async () => {
    const { run, workspace, journal, effects } = bench({ f: 'x', 'd/y': 'y' });
    const before = snapshot(workspace, { inodes: true });
    const done = await run('echo z > f; rm -r d; echo n > n', { apply: false });
    expect(done).toMatchObject({ dropped: true, created: ['n'], changed: ['f'], deleted: ['d/'] });
    expect(done.runId).toBeUndefined();
    expect(snapshot(workspace, { inodes: true })).toEqual(before);
    expect(readdirSync(journal)).toEqual([]);
    expect(await effects.list()).toEqual([]);
  });
});

const holdVscode: EffectJudge = ({ path: at }) =>
  at.split('/').includes('.vscode')
    ? { action: 'hold', rule: 'editor', why: 'the editor obeys it' }
    : { action: 'apply', rule: 'rest', why: '' };

describe('what the judge holds', () => {
  it('waits in the journal while the rest is applied, and is applied, undone or dropped later', async () => {
    const { run, effects, read, at, workspace, journal } = bench({ 'a/.vscode/old': 'old' }, { judge: holdVscode });
    const before = snapshot(workspace);
    const done = await run('mkdir -p t/u/.vscode .vscode; echo s > t/u/.vscode/s; echo s > .vscode/s; echo x > t/u/x; rm -r a');
    expect(done).toMatchObject({ created: ['t/'], deleted: [] });
    expect(done.leftOut.map(({ path: name, reason, rule }) => [name, reason, rule])).toEqual([
      ['.vscode/', 'held', 'editor'],
      ['a/', 'held', 'editor'],
      ['t/u/.vscode/', 'held', 'editor'],
    ]);
    expect([existsSync(at('.vscode')), existsSync(at('a')), existsSync(at('t/u/x')), existsSync(at('t/u/.vscode'))]).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect((await effects.list()).map(({ state }) => state).sort()).toEqual(['applied', 'held']);
    const released = await effects.applyHeld(done.heldId ?? '', (await effects.held(done.heldId ?? ''))?.digest ?? '');
    expect(released).toMatchObject({ created: ['.vscode/', 't/u/.vscode/'], deleted: ['a/'], leftOut: [] });
    expect([read('.vscode/s'), existsSync(at('a'))]).toEqual(['s\n', false]);
    await effects.undo(released.runId ?? '', { force: false });
    await effects.undo(done.runId ?? '', { force: false });
    expect(snapshot(workspace)).toEqual(before);
    const again = await run('mkdir .vscode');
    await effects.dropHeld(again.heldId ?? '');
    expect(readdirSync(journal).some((name) => name.endsWith('-held') && name.startsWith((again.heldId ?? '').slice(0, 8)))).toBe(false);
  });
});

describe('a caller who gives up', () => {
  const command = 'echo new > f; mkdir .vscode; echo s > .vscode/s; echo n > n';

  it('before anything is applied: nothing is, and nothing waits for a person', async () => {
    const { run, workspace, journal, effects } = bench({ f: 'x' }, { judge: holdVscode });
    const before = snapshot(workspace, { inodes: true });
    const ended = new AbortController();
    const begun: RunBegun[] = [];
    const meanwhile = () => {
      writeFileSync(path.join(journal, 'lock'), `${process.pid} ${startOf(process.pid)}`);
      setTimeout(() => ended.abort(new Error('over')), 200);
    };
    await expect(run(command, { meanwhile, signal: ended.signal, onApply: (known) => void begun.push(known) })).rejects.toThrow('over');
    rmSync(path.join(journal, 'lock'));
    expect(begun).toEqual([]);
    expect(readdirSync(journal)).toEqual([]);
    expect(await effects.list()).toEqual([]);
    expect(snapshot(workspace, { inodes: true })).toEqual(before);
  });

  it('while it is applied: all of it is, under the name that was told before', async () => {
    const ended = new AbortController();
    const told: RunBegun[] = [];
    const rename = (from: string, to: string) => {
      if (told.length > 0) ended.abort(new Error('over'));
      disk.rename(from, to);
    };
    const { run, workspace, effects, read } = bench({ f: 'x' }, { judge: holdVscode, disk: { ...disk, rename } });
    const before = snapshot(workspace, { inodes: true });
    const done = await run(command, { signal: ended.signal, onApply: (known) => void told.push(known) });
    expect(ended.signal.aborted).toBe(true);
    expect(read('f')).toBe('new\n');
    const { runId = '', heldId = '' } = done;
    expect(told).toEqual([{ runId, heldId, leftOut: done.leftOut }]);
    expect(await effects.heldIds()).toEqual([heldId]);
    await effects.undo(runId, { force: false });
    expect(snapshot(workspace, { inodes: true })).toEqual(before);
  });
});

describe('secrets that the command must not see', () => {
  const files = { '.env': 'CANARY', 'sub/.env': 'CANARY', 'sub/x': 'x' };
  const hide = ['.env', 'sub/.env'];

  it.each([
    ['root', undefined],
    ['another user', otherUser],
  ])('as %s: cannot be read, and can be deleted, replaced and given a mode like any file', (_who, user) => {
    const root = temporaryDirectory('secrets-');
    const { workspace } = openBench({ root });
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(path.dirname(path.join(workspace, name)), { recursive: true });
      writeFileSync(path.join(workspace, name), text);
    }
    if (user !== undefined) execFileSync('chown', ['-R', `${user}:${user}`, root]);
    const run = (command: string) => runApart({ root, commands: [command], hide }, user)?.done[0];
    const at = (name: string) => path.join(workspace, name);
    expect(run('grep -r CANARY . >&2; chmod 644 .env; cat .env >&2; true')?.stderr).not.toContain('CANARY');
    expect(readFileSync(at('.env'), 'utf8')).toBe('CANARY');
    expect(statSync(at('.env')).mode & 0o777).toBe(0o644);
    expect(run('mv .env elsewhere; echo x > free')).toMatchObject({
      created: ['free'],
      deleted: [],
      leftOut: [{ path: '.env' }, { path: 'elsewhere' }],
    });
    expect(run('chmod 600 sub/.env; echo added >> sub/.env')).toMatchObject({
      changed: [],
      leftOut: [{ path: 'sub/.env', rule: 'hidden_secret' }],
    });
    expect([readFileSync(at('.env'), 'utf8'), readFileSync(at('sub/.env'), 'utf8')]).toEqual(['CANARY', 'CANARY']);
    expect(run('rm .env; rm -f sub/.env; echo new > sub/.env')).toMatchObject({ stderr: '', deleted: ['.env'], changed: ['sub/.env'] });
    expect(readFileSync(at('sub/.env'), 'utf8')).toBe('new\n');
    expect(run('rm -r sub')).toMatchObject({ stderr: '', deleted: ['sub/'] });
  });

  it.each([
    ['root', undefined],
    ['another user', otherUser],
  ])('as %s: the directories above are seen as they are, and what replaces them is', (_who, user) => {
    const root = temporaryDirectory('secrets-');
    const { workspace } = openBench({ root });
    execFileSync(
      'bash',
      [
        '-c',
        'mkdir -p a/b shut; echo CANARY | tee a/b/.env a/.env shut/.env > a/b/x; chmod 400 shut/.env; chmod 555 shut; chmod 750 a/b; touch -d 2001-02-03 a/b',
      ],
      { cwd: workspace },
    );
    if (user !== undefined) execFileSync('chown', ['-R', `${user}:${user}`, root]);
    const secrets = ['a/.env', 'a/b/.env', 'shut/.env', 'gone/.env'];
    const run = (command: string) => runApart({ root, commands: [command], hide: secrets }, user)?.done[0];
    const before = snapshot(workspace);
    const looked = run('stat -c "%A %Y %n" a/b shut >&2; cat */.env >&2; true');
    expect(looked).toMatchObject({ created: [], changed: [], deleted: [] });
    expect(looked?.stderr).toMatch(/^drwxr-x--- 981\d+ a\/b\ndr-xr-xr-x \d+ shut\n/);
    expect(looked?.stderr).not.toContain('CANARY');
    expect(snapshot(workspace)).toEqual(before);
    expect(run('chmod 700 a/b')).toMatchObject({ changed: ['a/b'], leftOut: [] });
    // The new directory may get the inode number of the one that is gone.
    expect(run('rm -r a/b; mkdir a/b; echo new > a/b/new')).toMatchObject({ stderr: '', changed: ['a/b/'], leftOut: [] });
    expect(readdirSync(path.join(workspace, 'a/b'))).toEqual(['new']);
    expect(run('rm -r a; mkdir a')).toMatchObject({ stderr: '', changed: ['a/'], leftOut: [] });
    expect(readdirSync(path.join(workspace, 'a'))).toEqual([]);
  });
});

/** `said`: it says that the disk is full, and nothing of it was done; ENOSPC is of mounting, which the sandbox makes a fault of. */
function cameOf(done: unknown): string {
  const { runId, nothingApplied = '', created = [], code = '' } = done as Partial<RunEffects> & { readonly code?: string };
  if (runId !== undefined) return 'applied';
  const isSaid = /^(?:disk_full|ENOSPC)$/.test(code) || nothingApplied.includes('disk is full');
  return isSaid && created.length === 0 ? 'said' : `unsaid: ${String(done)} ${JSON.stringify(done)}`;
}

describe.runIf(process.getuid?.() === 0)('a full disk', () => {
  it('is said at each step, locks nobody out, and what is undone is as it was', { timeout: 120_000 }, async () => {
    const root = temporaryDirectory('full-');
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', root]);
    try {
      const { run, effects, workspace, journal } = openBench({ root });
      writeFileSync(path.join(workspace, 'a'), 'one\n');
      const before = snapshot(workspace);
      const first = await run('echo two >> a; mkdir d; echo n > d/n');
      const whole = snapshot(workspace);
      const filler = path.join(root, 'filler');
      const fill = (left: number) =>
        execFileSync('bash', ['-c', 'cat /dev/zero > "$0" 2> /dev/null; truncate -s -$1 "$0"', filler, String(left)]);
      const undo = async (id = '') => {
        const [failed] = (await Promise.allSettled([effects.undo(id, { force: false })])).map((end) => end.status === 'rejected' && end);
        rmSync(filler);
        // With room again it goes on, or is done.
        await openBench({ root }).effects.list();
        const record = (await effects.list()).find((one) => one.id === id);
        if (record?.state === 'applied') await effects.undo(id, { force: false });
        return failed === false ? 'said' : cameOf((failed as PromiseRejectedResult).reason);
      };
      const ends: string[] = [];
      // From no room for a byte to room for all of it: each step fails once.
      for (const left of [0, 4_096, 8_192, 12_288, 16_384, 20_480, 24_576, 28_672, 32_768, 65_536]) {
        fill(left);
        const done = await run('echo c >> a; for i in 1 2 3 4 5; do echo $i > f$i; done').catch((thrown: unknown) => thrown);
        ends.push(cameOf(done));
        const { runId } = done as { readonly runId?: string };
        ends.push(runId === undefined ? 'said' : await undo(runId));
        rmSync(filler, { force: true });
        expect(snapshot(workspace), String(left)).toEqual(whole);
      }
      fill(0);
      ends.push(await undo(first.runId));
      expect(new Set(ends)).toEqual(new Set(['said', 'applied']));
      expect(snapshot(workspace)).toEqual(before);
      expect(readdirSync(journal).every((name) => name.includes('-'))).toBe(true);
    } finally {
      execFileSync('umount', ['-l', root]);
    }
  });
});
