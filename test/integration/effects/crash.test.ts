import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { disk } from '#execution/effects/disk';
import type { Effects } from '#execution/effects/effects';
import { programRunner } from '#execution/run-child';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { temporaryDirectory } from '../execution/support/temporary.ts';
import { leftGone, openBench, snapshot, type Way } from './support/effects-bench.ts';
import { runApart } from './support/run-as.ts';

const fixture =
  'mkdir -p a/b d gone/sub; echo one > f; echo two > a/g; echo x > d/x; echo z > gone/sub/z; ln -s f l; chmod 555 gone; touch -d "2001-02-03 04:05:06.123456789" f a d gone/sub';
const command =
  'echo more >> f; echo new > n; rm a/g; mkdir -p t/u; echo t > t/u/t; chmod 755 gone; rm -rf gone; rm -rf d; echo d > d; ln -sfn n l; chmod 700 a/b; touch -d 1999-01-01 a/b';

function makeWorkspace(): { readonly root: string; readonly workspace: string } {
  const root = temporaryDirectory('crash-');
  const workspace = path.join(root, 'ws');
  mkdirSync(workspace);
  execFileSync('bash', ['-c', fixture], { cwd: workspace });
  return { root, workspace };
}

/** `before` the run or `after` it, with every time and link; a half is neither. */
function stateOf(workspace: string, before: unknown, after: unknown): string {
  const now = JSON.stringify(snapshot(workspace));
  if (now === JSON.stringify(before)) return 'before';
  return JSON.stringify(snapshot(workspace, { times: false })) === JSON.stringify(after) ? 'after' : `half: ${now}`;
}

/** On the other file system, once another run has begun and ended there. */
async function leavings(way: Way, effects: Effects, scratch: string): Promise<readonly string[]> {
  if (way !== 'scratch') return [];
  await (await effects.open([], { scratch })).discard();
  await leftGone(scratch);
  return readdirSync(scratch);
}

/** What differs between the ways lies before the first step and after the last: of the others each third one is met. */
function killedAt(way: Way, steps: number): readonly number[] {
  const all = Array.from({ length: steps }, (_none, index) => index + 1);
  return all.filter((step) => way === 'overlay' || step < 6 || step > steps - 6 || step % 3 === 0);
}

describe('a kill at each step of the disk', () => {
  it.each<Way>(['overlay', 'scratch', 'copy'])(
    'of applying (%s) leaves the workspace as before or as after',
    { timeout: 240_000 },
    async (way) => {
      const whole = makeWorkspace();
      const steps = runApart({ root: whole.root, way, commands: [command] })?.steps ?? 0;
      const after = snapshot(whole.workspace, { times: false });
      expect(steps).toBeGreaterThan(20);
      const ends: string[] = [];
      for (const killAt of killedAt(way, steps)) {
        const { root, workspace } = makeWorkspace();
        const before = snapshot(workspace);
        expect(runApart({ root, way, commands: [command], killAt })).toBeUndefined();
        const { effects, journal, scratch } = openBench({ root, way });
        const [record] = await effects.list();
        expect(await leavings(way, effects, scratch), `killed at ${killAt}`).toEqual([]);
        const end = stateOf(workspace, before, after);
        ends.push(end);
        expect(end, `killed at ${killAt}`).toBe(record === undefined ? 'before' : 'after');
        await leftGone(journal);
        expect(readdirSync(journal), `killed at ${killAt}`).toEqual(record === undefined ? [] : [record.id]);
        const kept = record === undefined ? [] : readdirSync(path.join(journal, record.id));
        expect(kept, `killed at ${killAt}`).not.toContain('work');
        if (record !== undefined) await effects.undo(record.id, { force: false });
        expect(snapshot(workspace), `undone after ${killAt}`).toEqual(before);
      }
      expect(new Set(ends)).toEqual(new Set(['before', 'after']));
    },
  );

  it('of undoing is finished by the next start, or never began', { timeout: 240_000 }, async () => {
    const whole = makeWorkspace();
    const apply = runApart({ root: whole.root, commands: [command] })?.steps ?? 0;
    const undone = makeWorkspace();
    const steps = runApart({ root: undone.root, commands: [command], undo: 'last' })?.steps ?? 0;
    const ends: string[] = [];
    for (let killAt = apply + 1; killAt <= steps; killAt += 1) {
      const { root, workspace } = makeWorkspace();
      const before = snapshot(workspace);
      expect(runApart({ root, commands: [command], undo: 'last', killAt })).toBeUndefined();
      const { effects } = openBench({ root });
      const [record] = await effects.list();
      ends.push(record?.state ?? 'none');
      if (record?.state === 'applied') await effects.undo(record.id, { force: false });
      expect(snapshot(workspace), `killed at ${killAt}`).toEqual(before);
    }
    expect(new Set(ends)).toEqual(new Set(['applied', 'undone']));
  });

  it('in the middle of a rollback is rolled back by the next start', { timeout: 240_000 }, async () => {
    const { steps = 0 } = runApart({ root: makeWorkspace().root, commands: [command] }) ?? {};
    // Late in applying, and then early in the rollback: twice is enough to meet each of its steps over the loop.
    for (let second = 1; second <= steps; second += 2) {
      const { root, workspace } = makeWorkspace();
      const before = snapshot(workspace);
      runApart({ root, commands: [command], killAt: steps - 12 });
      runApart({ root, commands: ['true'], killAt: second });
      await openBench({ root }).effects.list();
      expect(snapshot(workspace), `killed again at ${second}`).toEqual(before);
    }
  });
});

describe('power that fails', () => {
  it.each([
    ['few new files: each is on the disk before it takes its name', 'for i in 1 2 3; do echo $i > n$i; done', 'flush'],
    ['many: one flush of the file system comes before the first of them', 'for i in {1..30}; do echo $i > n$i; done', 'flush all'],
    ['a new directory: what is in it is flushed before it moves', 'mkdir n; echo 1 > n/1', 'flush all'],
  ])('%s', async (_name, script, flush) => {
    const root = temporaryDirectory('power-');
    const acts: string[] = [];
    const workspace = path.join(root, 'ws');
    const note = (act: string, isMeant: boolean) => {
      if (isMeant) acts.push(act);
    };
    // A place is a name in a directory that is held open.
    const isNew = (to: string) => path.join(realpathSync(path.dirname(to)), path.basename(to)).startsWith(`${workspace}/n`);
    const watched = {
      ...disk,
      link: (from: string, to: string) => {
        note('put', isNew(to));
        disk.link(from, to);
      },
      rename: (from: string, to: string) => {
        note('put', isNew(to));
        disk.rename(from, to);
      },
      sync: (entry: string) => {
        note('flush', entry.includes('/stage/'));
        disk.sync(entry);
      },
    };
    const programs: ProgramRunner = {
      ...programRunner,
      run: (line, signal) => {
        note('flush all', line.program === 'sync');
        return programRunner.run(line, signal);
      },
    };
    const { run } = openBench({ root, disk: watched, programs });
    const { created } = await run(script);
    expect(created.length).toBeGreaterThan(0);
    const first = acts.indexOf('put');
    expect(acts.slice(0, first)).toEqual(flush === 'flush' ? created.map(() => 'flush') : ['flush all']);
    expect(acts.slice(first)).toEqual(created.map(() => 'put'));
  });
});

describe('after a crash', () => {
  it('what somebody else did meanwhile stays', async () => {
    const { root, workspace } = makeWorkspace();
    const { steps = 0 } = runApart({ root: makeWorkspace().root, commands: ['echo 1 >> f; echo 2 > n; echo 3 >> a/g'] }) ?? {};
    runApart({ root, commands: ['echo 1 >> f; echo 2 > n; echo 3 >> a/g'], killAt: steps - 12 });
    writeFileSync(path.join(workspace, 'f'), 'a person');
    const { effects } = openBench({ root });
    await effects.list();
    expect(execFileSync('cat', ['f'], { cwd: workspace, encoding: 'utf8' })).toBe('a person');
  });

  it('what somebody else put into a new directory stays, whenever the run was killed', { timeout: 240_000 }, async () => {
    const commands = ['mkdir -p t/u; echo 1 > t/u/1; echo more >> f; echo z > z'];
    const { steps = 0 } = runApart({ root: makeWorkspace().root, commands }) ?? {};
    let met = 0;
    for (let killAt = 1; killAt <= steps; killAt += 1) {
      const { root, workspace } = makeWorkspace();
      runApart({ root, commands, killAt });
      if (!existsSync(path.join(workspace, 't'))) continue;
      met += 1;
      writeFileSync(path.join(workspace, 't/u/theirs'), 'a person');
      await openBench({ root }).effects.list();
      expect(readFileSync(path.join(workspace, 't/u/theirs'), 'utf8'), `killed at ${killAt} of ${steps}`).toBe('a person');
    }
    expect(met).toBeGreaterThan(3);
  });

  it('and where an undo was killed, it stays or is set aside', { timeout: 240_000 }, async () => {
    const commands = ['mkdir -p t/u; echo 1 > t/u/1; echo more >> f; echo z > z'];
    const { steps: apply = 0 } = runApart({ root: makeWorkspace().root, commands }) ?? {};
    const { steps = 0 } = runApart({ root: makeWorkspace().root, commands, undo: 'last' }) ?? {};
    for (let killAt = apply + 1; killAt <= steps; killAt += 1) {
      const { root, workspace } = makeWorkspace();
      runApart({ root, commands, undo: 'last', killAt });
      if (!existsSync(path.join(workspace, 't'))) continue;
      writeFileSync(path.join(workspace, 't/u/theirs'), 'a person');
      await openBench({ root }).effects.list();
      const found = execFileSync('find', ['.', '-name', 'theirs'], { cwd: root, encoding: 'utf8' });
      expect(found, `killed at ${killAt} of ${steps}`).not.toBe('');
    }
  });

  it('what was there before stays in the journal where a disk that fails and a person meet', async () => {
    const { root, workspace } = makeWorkspace();
    const failing = { ...disk };
    for (const act of ['link', 'rename'] as const)
      failing[act] = (from, to) => {
        if (path.basename(to) !== 'zz') return disk[act](from, to);
        writeFileSync(path.join(workspace, 'f'), 'a person');
        throw Object.assign(new Error(`EIO: i/o error, ${act}`), { code: 'EIO' });
      };
    const { run, log, journal } = openBench({ root, disk: failing });
    await expect(run('echo more >> f; echo z > zz')).rejects.toThrow('EIO');
    expect(log.join()).toContain('but for f, changed by others; what was there is in');
    expect(readFileSync(path.join(workspace, 'f'), 'utf8')).toBe('a person');
    expect(execFileSync('grep', ['-rlx', 'one', journal], { encoding: 'utf8' })).toContain('/kept/');
  });

  const git = (cwd: string, line: string) => {
    const who = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'b', GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'b' };
    return execFileSync('bash', ['-ec', line], { cwd, encoding: 'utf8', env: { ...process.env, ...who, GIT_CONFIG_GLOBAL: '/dev/null' } });
  };
  const commit = 'echo more >> f; git add f; git -c user.name=a -c user.email=b commit -qm ours';

  it('a repository is whole at each step, and keeps the commits that others made on top', { timeout: 240_000 }, async () => {
    const make = () => {
      const made = makeWorkspace();
      git(made.workspace, 'git init -q . && git add f && git commit -qm one');
      return made;
    };
    const { steps = 0 } = runApart({ root: make().root, commands: [commit] }) ?? {};
    for (let killAt = 4; killAt <= steps; killAt += 1) {
      const { root, workspace } = make();
      runApart({ root, commands: [commit], killAt });
      git(workspace, 'git fsck --no-dangling --no-progress');
      git(workspace, 'git commit -q --allow-empty -m theirs');
      const head = git(workspace, 'git rev-parse HEAD');
      await openBench({ root }).effects.list();
      git(workspace, 'git fsck --no-dangling --no-progress');
      expect(git(workspace, 'git rev-parse HEAD'), `killed at ${killAt} of ${steps}`).toBe(head);
    }
  });

  it('a lock without an owner, as power that fails leaves one, is nobody’s', async () => {
    const { effects, journal } = openBench({ root: temporaryDirectory('crash-') });
    writeFileSync(path.join(journal, 'lock'), '');
    expect(await effects.list()).toEqual([]);
    expect(readdirSync(journal)).toEqual([]);
  });

  it('a run whose process lives is left alone', async () => {
    const root = temporaryDirectory('crash-');
    const one = openBench({ root });
    const run = await one.effects.open([]);
    const script = `const [bench] = await Promise.all([import('./test/integration/effects/support/effects-bench.ts')]); await bench.openBench({root: ${JSON.stringify(root)}}).effects.list()`;
    execFileSync(process.execPath, ['--input-type=module', '-e', script], { cwd: path.join(import.meta.dirname, '../../..') });
    expect(readdirSync(one.journal)).toEqual([path.basename(path.dirname(run.upper))]);
    await run.discard();
    await leftGone(one.journal);
    expect(readdirSync(one.journal)).toEqual([]);
  });

  it('the next start takes away what a run had left for after its answer, and goes through no link in it', async () => {
    const { root, workspace } = makeWorkspace();
    const { effects, journal } = openBench({ root });
    const outside = path.join(root, 'outside');
    const script = `mkdir -p "$0/o" "$1/upper" "$2/work/work" "$2/upper/c"; echo 1 > "$0/o/1"
      for at in "$1" "$2/upper" "$2/work/work"; do ln -s "$0" "$at/l"; touch "$at/f" "$at/$(printf '\\377')"; done
      cd "$1/upper"; for i in {1..40}; do n=$(printf 'd%.0s' {1..200}); mkdir $n; cd -P $n; done; touch deep; chmod 0 "$1/upper" "$2/upper/c"`;
    const kept = path.join(journal, 'mabc-01234567');
    execFileSync('bash', ['-ec', script, outside, path.join(journal, 'gone-mabc-76543210'), kept]);
    const plan = { id: 'mabc-01234567', title: 't', agentId: 'a', workspaceRoot: workspace, at: Date.now(), steps: [], parents: [] };
    writeFileSync(path.join(kept, 'plan'), JSON.stringify({ ...plan, lists: { created: [], changed: [], deleted: [] }, keptBytes: 0 }));
    for (const [name, text] of [
      ['applied', '{}'],
      ['owner', '999999 1'],
    ] as const)
      writeFileSync(path.join(kept, name), text);
    expect((await effects.list()).map(({ id }) => id)).toEqual(['mabc-01234567']);
    expect(readdirSync(journal)).toEqual(['mabc-01234567']);
    expect(readdirSync(kept)).toEqual(['applied', 'owner', 'plan']);
    expect(readFileSync(path.join(outside, 'o/1'), 'utf8')).toBe('1\n');
  });
});
