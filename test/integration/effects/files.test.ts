/** `write_file` and `edit_file` through the journal: what is there, at every moment, and what undo brings back. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startOf } from '#files/process-life';
import { temporaryDirectory } from '../execution/support/temporary.ts';
import { codeOf } from '../workspace/support.ts';
import type { WriteJobOfChild } from './children/write-as.ts';
import { bundledChild } from './support/bundled-child.ts';
import { snapshot } from './support/effects-bench.ts';
import { openFilesBench } from './support/files-bench.ts';

const scope = { agentId: 'cli:test' };
const asRoot = process.getuid?.() === 0;
const hasPython = spawnSync('python3', ['-c', 'import os; os.setxattr']).status === 0;

function bench(base = temporaryDirectory('files-')) {
  const opened = openFilesBench(base);
  const { files, effects, workspace } = opened;
  return {
    ...opened,
    base,
    at: (name: string) => path.join(workspace, name),
    write: (name: string, content: string) => files.write(name, content, { createDirs: true }, scope),
    edit: (name: string, oldText: string, newText: string) => files.edit(name, [{ old_text: oldText, new_text: newText }], {}, scope),
    undo: (id: string | undefined) => effects.undo(id ?? 'none', { force: false }),
  };
}

describe('a caller who gives up before it is written', () => {
  it('gets nothing written, however long the journal is in use', async () => {
    const { files, at, journal, effects, workspace } = bench();
    writeFileSync(at('a.txt'), 'one\n');
    const before = snapshot(workspace, { inodes: true });
    await effects.list();
    writeFileSync(path.join(journal, 'lock'), `${process.pid} ${startOf(process.pid)}`);
    const ended = AbortSignal.timeout(200);
    const edits = [{ old_text: 'one', new_text: 'two' }];
    const tries = [
      files.write('a.txt', 'two\n', { createDirs: true, signal: ended }, scope),
      files.write('d/new.txt', 'two\n', { createDirs: true, signal: ended }, scope),
      files.edit('a.txt', edits, { signal: ended }, scope),
    ];
    for (const done of await Promise.allSettled(tries))
      expect(done).toMatchObject({ status: 'rejected', reason: { name: 'TimeoutError' } });
    rmSync(path.join(journal, 'lock'));
    expect(readdirSync(journal)).toEqual([]);
    expect(snapshot(workspace, { inodes: true })).toEqual(before);
    await files.edit('a.txt', edits, {}, scope);
    expect(readFileSync(at('a.txt'), 'utf8')).toBe('two\n');
  });
});

describe('a written file', () => {
  it('is a run: listed with the tool and its path, and undone with its times', async () => {
    const { at, write, edit, undo, effects, workspace } = bench();
    writeFileSync(at('a.txt'), 'one\n');
    chmodSync(at('a.txt'), 0o640);
    execFileSync('touch', ['-d', '2001-02-03 04:05:06.123456789', at('a.txt'), workspace]);
    const before = snapshot(workspace, { inodes: true });
    const written = await write('a.txt', 'two\n');
    const edited = await edit('a.txt', 'two', 'three');
    const created = await write('b.txt', 'new\n');
    expect(await effects.list()).toMatchObject(
      [
        { id: created.runId, title: 'write_file b.txt', created: ['b.txt'], changed: [] },
        { id: edited.runId, title: 'edit_file a.txt', created: [], changed: ['a.txt'] },
        { id: written.runId, title: 'write_file a.txt', agentId: 'cli:test', state: 'applied', changed: ['a.txt'] },
      ].map((record) => expect.objectContaining(record)),
    );
    expect(statSync(at('a.txt')).mode & 0o777).toBe(0o640);
    for (const { runId } of [created, edited, written]) await undo(runId);
    expect(snapshot(workspace, { inodes: true })).toEqual(before);
  });

  it('in new directories: undo takes those that are empty then, and leaves what others put there', async () => {
    const { at, write, undo, workspace } = bench();
    const before = snapshot(workspace);
    const first = await write('new/deep/a.txt', 'a');
    expect(snapshot(workspace)).toHaveProperty('new/deep/a.txt');
    await undo(first.runId);
    expect(snapshot(workspace)).toEqual(before);
    const again = await write('new/deep/a.txt', 'a');
    writeFileSync(at('new/b.txt'), 'a person’s');
    await undo(again.runId);
    expect(Object.keys(snapshot(workspace))).toEqual(['.', 'new', 'new/b.txt']);
    const third = await write('x/y/z/1', '1');
    const fourth = await write('x/y/z/2', '2');
    await undo(third.runId);
    expect(Object.keys(snapshot(workspace))).toEqual(['.', 'new', 'new/b.txt', 'x', 'x/y', 'x/y/z', 'x/y/z/2']);
    await undo(fourth.runId);
    expect(existsSync(at('x/y/z/2'))).toBe(false);
  });

  it('that was changed since is not undone, and nothing is lost', async () => {
    const { at, write, effects } = bench();
    writeFileSync(at('a'), 'old');
    const { runId } = await write('a', 'new');
    writeFileSync(at('a'), 'a person’s');
    await expect(effects.undo(runId ?? '', { force: false })).rejects.toMatchObject({ code: 'undo_in_the_way' });
    expect(readFileSync(at('a'), 'utf8')).toBe('a person’s');
    const inDirectory = await write('d/e/f', 'new');
    writeFileSync(at('d/e/f'), 'a person’s');
    writeFileSync(at('d/other'), '');
    await expect(effects.undo(inDirectory.runId ?? '', { force: false })).rejects.toMatchObject({ code: 'undo_in_the_way' });
    expect(readFileSync(at('d/e/f'), 'utf8')).toBe('a person’s');
  });

  it('is refused where somebody wrote there meanwhile, and theirs stays', async () => {
    const { at, base, workspace, effects } = bench();
    const other = bench(base);
    writeFileSync(at('a'), 'old');
    // Both have looked before either writes.
    const ends = await Promise.all([codeOf(bench(base).write('a', 'one')), codeOf(other.write('a', 'two'))]);
    expect(ends.toSorted()).toEqual(['FILE_CHANGED', 'none']);
    expect(readFileSync(at('a'), 'utf8')).toBe(ends[0] === 'none' ? 'one' : 'two');
    const fresh = await Promise.all([codeOf(bench(base).write('b', 'one')), codeOf(other.write('b', 'two'))]);
    expect(fresh.toSorted()).toEqual(['FILE_CHANGED', 'none']);
    expect(readdirSync(workspace).toSorted()).toEqual(['a', 'b']);
    expect(await effects.list()).toHaveLength(2);
  });

  it('many at once in the same new directories are all there', async () => {
    const { write, at, effects } = bench();
    const names = Array.from({ length: 20 }, (_, number) => `new/deep/${number}`);
    await Promise.all(names.map((name) => write(name, name)));
    expect(readdirSync(at('new/deep'))).toHaveLength(20);
    expect(await effects.list()).toHaveLength(20);
  });

  it('says how many hard links keep the old content', async () => {
    const { at, write, base } = bench();
    writeFileSync(at('a'), 'old');
    linkSync(at('a'), path.join(base, 'neighbour'));
    expect(await write('a', 'new')).toMatchObject({ otherNames: 1 });
    expect(readFileSync(path.join(base, 'neighbour'), 'utf8')).toBe('old');
    expect(await write('a', 'newer')).not.toHaveProperty('otherNames');
  });

  it('through a link inside is the file that the link names, in the list, too', async () => {
    const { at, write, undo, effects } = bench();
    writeFileSync(at('real'), 'old');
    symlinkSync('real', at('link'));
    const { runId } = await write('link', 'new');
    expect(await effects.list()).toMatchObject([{ title: 'write_file real', changed: ['real'] }]);
    await undo(runId);
    expect([lstatSync(at('link')).isSymbolicLink(), readFileSync(at('real'), 'utf8')]).toEqual([true, 'old']);
  });

  it('leaves nothing but the files after five hundred in a row', { timeout: 120_000 }, async () => {
    const { write, workspace, journal, effects, base } = bench();
    for (let number = 0; number < 500; number += 1) await write(`f${number % 250}`, `content ${number}`);
    expect(readdirSync(workspace)).toHaveLength(250);
    expect(await effects.list()).toHaveLength(500);
    expect(readdirSync(journal).filter((name) => name.startsWith('lock'))).toEqual([]);
    rmSync(base, { recursive: true });
  });

  it('has a name of 255 bytes', async () => {
    const { write, undo, workspace } = bench();
    const name = 'n'.repeat(255);
    const { runId } = await write(name, 'x');
    expect(readdirSync(workspace)).toEqual([name]);
    await undo(runId);
    expect(readdirSync(workspace)).toEqual([]);
  });

  it.runIf(asRoot)('keeps the owner, and a new one gets the group of a directory that passes it on', async () => {
    const { at, write } = bench();
    writeFileSync(at('theirs'), 'old');
    execFileSync('chown', ['1234:2345', at('theirs')]);
    mkdirSync(at('shared'));
    execFileSync('chown', ['0:2345', at('shared')]);
    chmodSync(at('shared'), 0o2775);
    await write('theirs', 'new');
    await write('shared/new/a', 'x');
    expect(statSync(at('theirs'))).toMatchObject({ uid: 1234, gid: 2345 });
    expect([statSync(at('shared/new')).mode & 0o2000, statSync(at('shared/new')).gid, statSync(at('shared/new/a')).gid]).toEqual([
      0o2000, 2345, 2345,
    ]);
  });

  it.runIf(hasPython)('keeps extended attributes and access lists, and undo brings them back', async () => {
    const { at, write, edit, undo } = bench();
    writeFileSync(at('a'), 'old');
    const list = '0200000001000600ffffffff02000400d204000004000400ffffffff10000600ffffffff20000400ffffffff';
    const set = `import os,sys; os.setxattr(sys.argv[1], 'user.who', b'a person'); os.setxattr(sys.argv[1], 'system.posix_acl_access', bytes.fromhex('${list}'))`;
    const get = 'import os,sys; print({name: os.getxattr(sys.argv[1], name).hex() for name in sorted(os.listxattr(sys.argv[1]))})';
    const attributes = () => execFileSync('python3', ['-c', get, at('a')], { encoding: 'utf8' });
    execFileSync('python3', ['-c', set, at('a')]);
    const before = attributes();
    expect(before).toContain('user.who');
    expect(before).toContain('posix_acl_access');
    const written = await write('a', 'new');
    expect(attributes()).toBe(before);
    await edit('a', 'new', 'newer');
    expect([attributes(), readFileSync(at('a'), 'utf8')]).toEqual([before, 'newer']);
    rmSync(at('a'));
    expect(await codeOf(undo(written.runId))).toBe('undo_in_the_way');
  });
});

describe('what stands in the way', () => {
  it.runIf(asRoot)('an immutable file and directory: refused, and all is as before', async () => {
    const { at, write, workspace, effects } = bench();
    mkdirSync(at('fixed'));
    writeFileSync(at('a'), 'old');
    execFileSync('chattr', ['+i', at('a'), at('fixed')]);
    try {
      const before = snapshot(workspace, { inodes: true });
      expect(await codeOf(write('a', 'new'))).toBe('PERMISSION_DENIED');
      expect(await codeOf(write('fixed/a', 'new'))).toBe('PERMISSION_DENIED');
      expect(await codeOf(write('fixed/b/c', 'new'))).toBe('PERMISSION_DENIED');
      expect(snapshot(workspace, { inodes: true })).toEqual(before);
      expect(await effects.list()).toEqual([]);
    } finally {
      execFileSync('chattr', ['-i', at('a'), at('fixed')]);
    }
  });

  it('a directory that this user may not write is not opened for a moment', () => {
    const base = temporaryDirectory('files-');
    const job = { base, path: 'closed/a', content: 'x' };
    mkdirSync(path.join(base, 'ws/closed'), { recursive: true });
    chmodSync(path.join(base, 'ws/closed'), 0o555);
    if (asRoot) execFileSync('chown', ['-R', '12345:12345', base]);
    const { status, stderr } = asChild(job, asRoot ? 12_345 : undefined);
    expect(status).toBe(1);
    expect(stderr).toContain('PERMISSION_DENIED');
    expect(readdirSync(path.join(base, 'ws/closed'))).toEqual([]);
  });

  it.runIf(asRoot).each([
    ['0:0', 0o644],
    ['0:0', 0o666],
    ['12345:2345', 0o664],
  ] as const)('an owner that cannot be kept (%s, %o): nobody takes a file by writing it', (owner, mode) => {
    for (const journal of [undefined, 'there is none']) {
      const base = temporaryDirectory('files-');
      mkdirSync(path.join(base, 'ws'));
      writeFileSync(path.join(base, 'ws/a'), 'old');
      execFileSync('chown', ['-R', '12345:12345', base]);
      execFileSync('chown', [owner, path.join(base, 'ws/a')]);
      chmodSync(path.join(base, 'ws/a'), mode);
      // Without a journal the unfinished file is made beside its place.
      const look = () => snapshot(path.join(base, 'ws'), { inodes: true, times: journal === undefined });
      const before = look();
      const { status, stderr } = asChild({ base, path: 'a', content: 'x', ...(journal === undefined ? {} : { journal }) }, 12_345);
      expect([status, stderr]).toEqual([1, expect.stringContaining('PERMISSION_DENIED')]);
      expect(look()).toEqual(before);
      expect(statSync(path.join(base, 'ws/a'))).toMatchObject({ uid: Number(owner.split(':')[0]), gid: Number(owner.split(':')[1]) });
    }
  });

  it.runIf(asRoot)('a full disk: the old file stays, nothing is left over, and there is room again', async () => {
    const base = temporaryDirectory('files-');
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', base]);
    try {
      const { at, write, workspace, journal, effects } = bench(base);
      await write('a', 'old');
      const before = snapshot(workspace, { inodes: true });
      expect(await codeOf(write('a', 'x'.repeat(1_000_000)))).toBe('DISK_FULL');
      expect(await codeOf(write('new/b', 'x'.repeat(1_000_000)))).toBe('DISK_FULL');
      expect(snapshot(workspace, { inodes: true })).toEqual(before);
      expect(readdirSync(journal)).toEqual((await effects.list()).map(({ id }) => id));
      await write('a', 'new');
      expect(readFileSync(at('a'), 'utf8')).toBe('new');
    } finally {
      execFileSync('umount', [base]);
    }
  });

  it('a journal that somebody took away is made again', async () => {
    const { write, journal, effects } = bench();
    await write('a', '1');
    rmSync(journal, { recursive: true });
    await write('a', '2');
    expect(await effects.list()).toMatchObject([{ title: 'write_file a' }]);
  });
});

const child = bundledChild('write-as');

function asChild(job: WriteJobOfChild, user?: number) {
  const as = user === undefined ? [] : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'];
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', child, JSON.stringify(job)];
  const [program = '', ...args] = [...as, ...node];
  return spawnSync(program, args, { encoding: 'utf8', cwd: path.join(import.meta.dirname, '../../..') });
}

/** A second name in the journal does not matter. */
const plainly = (found: Readonly<Record<string, string>>) => JSON.stringify(found).replaceAll('linked', '');

/** A run that says nothing of its process is given two seconds to do so. */
async function claimed(base: string): Promise<void> {
  const journal = path.join(base, 'journal');
  const silent = readdirSync(journal).filter((name) => name.includes('-') && !existsSync(path.join(journal, name, 'owner')));
  await delay(silent.length * 2_100);
}

describe('a kill before each call that changes the disk', () => {
  const fixture = (base: string) => {
    mkdirSync(path.join(base, 'ws/d'), { recursive: true });
    writeFileSync(path.join(base, 'ws/d/old'), 'old');
    execFileSync('touch', ['-d', '2001-02-03 04:05:06.123456789', path.join(base, 'ws/d/old'), path.join(base, 'ws/d')]);
  };

  it.each(['d/old', 'd/new', 'd/x/y/new'])('of %s leaves the old or the new, and nothing else', { timeout: 240_000 }, async (name) => {
    const whole = temporaryDirectory('files-');
    fixture(whole);
    const job = { path: name, content: 'content' };
    const steps = Number(asChild({ base: whole, ...job }).stdout);
    expect(steps).toBeGreaterThan(10);
    const after = plainly(snapshot(path.join(whole, 'ws'), { times: false }));
    const ends = new Set<string>();
    for (let killAt = 1; killAt <= steps; killAt += 1) {
      const base = temporaryDirectory('files-');
      fixture(base);
      const workspace = path.join(base, 'ws');
      const before = snapshot(workspace);
      expect(asChild({ base, ...job, killAt }).signal).toBe('SIGKILL');
      // Before anybody starts again: nothing but the old or the new.
      const [then, now] = [before, snapshot(workspace)].map(plainly);
      expect(now === then ? after : plainly(snapshot(workspace, { times: false })), `killed at ${killAt}`).toBe(after);
      await claimed(base);
      const { effects, journal } = openFilesBench(base);
      const [record] = await effects.list();
      ends.add(record === undefined ? 'before' : 'after');
      expect(readdirSync(journal), `killed at ${killAt}`).toEqual(record === undefined ? [] : [record.id]);
      if (record !== undefined) await effects.undo(record.id, { force: false });
      expect(snapshot(workspace), `killed at ${killAt}, undone where it was done`).toEqual(before);
      rmSync(base, { recursive: true });
    }
    expect([...ends].toSorted()).toEqual(['after', 'before']);
  });

  it('without a journal leaves at most one file, which the next start takes away', { timeout: 240_000 }, async () => {
    const whole = temporaryDirectory('files-');
    fixture(whole);
    const job = { path: 'd/old', content: 'content', journal: 'none here' };
    const steps = Number(asChild({ base: whole, ...job }).stdout);
    let left = 0;
    for (let killAt = 1; killAt <= steps; killAt += 1) {
      const base = temporaryDirectory('files-');
      fixture(base);
      expect(asChild({ base, ...job, killAt }).signal).toBe('SIGKILL');
      const directory = path.join(base, 'ws/d');
      left += readdirSync(directory).length - 1;
      expect(['old', 'content']).toContain(readFileSync(path.join(directory, 'old'), 'utf8'));
      const { files } = openFilesBench(base, 'none here');
      expect(readdirSync(directory), `killed at ${killAt}`).toEqual(['old']);
      expect(existsSync(path.join(base, 'writing')) ? readdirSync(path.join(base, 'writing')) : []).toEqual([]);
      expect(await files.write('other', 'x', { createDirs: true }, scope)).toMatchObject({ notKept: 'none here' });
      rmSync(base, { recursive: true });
    }
    expect(left).toBeGreaterThan(0);
  });

  it('without a journal is told from a later process of the same number, and from one that writes just now', async () => {
    const base = temporaryDirectory('files-');
    fixture(base);
    const [directory, notes] = [path.join(base, 'ws/d'), path.join(base, 'writing')];
    mkdirSync(notes, { mode: 0o700 });
    const leave = (name: string, started: string) => {
      writeFileSync(path.join(directory, `.banksman-write-${name}`), 'half');
      writeFileSync(path.join(notes, `${process.pid}-${name}`), `${directory}/.banksman-write-${name}\n${started}`);
    };
    leave('other', '1');
    leave('own', readFileSync(`/proc/${process.pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[19] ?? '');
    openFilesBench(base, 'none here');
    expect(readdirSync(directory).toSorted()).toEqual(['.banksman-write-own', 'old']);
    expect(readdirSync(notes)).toEqual([`${process.pid}-own`]);
  });
});
