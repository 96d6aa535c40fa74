/** What is held lies in the journal: shown, applied whole or not at all, dropped, and never more than its limits. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { disk } from '#execution/effects/disk';
import { heldMs } from '#execution/effects/held';
import { temporaryDirectory } from '../execution/support/temporary.ts';
import { type BenchRequest, holdMarked, openBench, snapshot } from './support/effects-bench.ts';
import { otherUser, runApart } from './support/run-as.ts';

function bench(files: Readonly<Record<string, string>>, more: Partial<BenchRequest> = {}) {
  const made = openBench({ root: temporaryDirectory('held-'), judge: holdMarked, ...more });
  fill(made.workspace, files);
  const at = (name: string) => path.join(made.workspace, name);
  const apply = async (id = '') => made.effects.applyHeld(id, (await made.effects.held(id))?.digest ?? '');
  return { ...made, at, apply };
}

function fill(workspace: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(workspace, name)), { recursive: true });
    writeFileSync(path.join(workspace, name), text);
  }
}

const files = { 'held-a': 'one\ntwo\n', 'held-b': 'gone', 'held-d/x': 'x', 'held-link-was': 'file' };
const command =
  'echo three >> held-a; rm held-b; rm -r held-d; mkdir -p held-new/sub; echo n > held-new/sub/n; ln -sfn /etc held-link-was; chmod 755 held-a; echo free > free';

describe('what a person is shown', () => {
  it('names each change with its reason, and has the difference of small texts alone', async () => {
    const { run, effects } = bench(files);
    const done = await run(`${command}; head -c 300 /dev/zero > held-zero; printf 'a\\0b' > held-binary`);
    const held = await effects.held(done.heldId ?? '');
    expect(held).toMatchObject({ more: 0, lost: false, digest: expect.stringMatching(/^[a-f0-9]{64}$/) });
    const shown = Object.fromEntries((held?.changes ?? []).map(({ path: name, ...change }) => [name, change]));
    expect(shown['held-a']).toEqual({
      kind: 'modify',
      facts: ['mode 644 to 755'],
      why: 'it is marked',
      diff: ['@@ -1,2 +1,3 @@', ' one', ' two', '+three'],
    });
    // What is taken away may be a secret: it is not on the card.
    expect(shown['held-b']).toEqual({ kind: 'delete', facts: ['4 bytes'], why: 'it is marked' });
    expect(shown['held-d/']).toMatchObject({ kind: 'delete', facts: ['1 entries go with it, 1 bytes'] });
    expect(shown['held-new/sub/n']).toEqual({ kind: 'create', facts: [], diff: ['@@ -0,0 +1 @@', '+n'] });
    expect(shown['held-link-was']).toMatchObject({ kind: 'replace', facts: ['link to /etc', 'was a file'] });
    expect(shown['held-zero']?.facts).toEqual(['300 bytes that are no text, or too much of it']);
    expect(shown['held-binary']?.diff).toBeUndefined();
  });

  it('is cut where it is too much, and says so', async () => {
    const { run, effects } = bench({});
    const done = await run(
      'mkdir held; for i in {1..150}; do echo $i > held/$i; done; seq 1000 > held/0-long; printf "%0400d" 1 > held/0-wide',
    );
    const held = await effects.held(done.heldId ?? '');
    expect(held?.changes).toHaveLength(100);
    expect(held?.more).toBe(53);
    const long = held?.changes.find(({ path: name }) => name === 'held/0-long')?.diff ?? [];
    expect([long.length, long.at(-1)]).toEqual([201, '… 801 lines more, not shown']);
    expect(held?.changes.find(({ path: name }) => name === 'held/0-wide')?.diff?.[1]).toHaveLength(301);
  });
});

describe('runs show', () => {
  it('has the differences of what was applied, and says what changed since', async () => {
    const { run, effects, at } = bench({ a: '1\n', b: 'old\n', c: 'c\n' });
    const { runId = '' } = await run('echo 2 >> a; rm b; echo n > n; echo d > c; chmod 600 c');
    writeFileSync(at('n'), 'theirs');
    const shown = await effects.show(runId);
    expect(shown.changes.map(({ path: name, facts, diff }) => [name, facts, diff])).toEqual([
      ['a', [], ['@@ -1 +1,2 @@', ' 1', '+2']],
      ['b', [], ['@@ -1 +0,0 @@', '-old']],
      ['c', ['mode 644 to 600'], ['@@ -1 +1 @@', '-c', '+d']],
      ['n', ['changed since, so not shown'], undefined],
    ]);
    rmSync(at('n'));
    await effects.undo(runId, { force: true });
    await expect(effects.show(runId)).rejects.toMatchObject({ code: 'not_kept' });
  });
});

describe('applying', () => {
  it('is whole, and undone', async () => {
    const { run, effects, apply, workspace, at } = bench(files);
    const before = snapshot(workspace);
    const done = await run(command);
    expect(await effects.heldIds()).toEqual([done.heldId]);
    const applied = await apply(done.heldId);
    expect(applied).toMatchObject({ created: ['held-new/'], deleted: ['held-b', 'held-d/'], leftOut: [] });
    expect(readFileSync(at('held-a'), 'utf8')).toBe('one\ntwo\nthree\n');
    expect([await effects.heldIds(), await effects.held(done.heldId ?? '')]).toEqual([[], undefined]);
    await expect(apply(done.heldId)).rejects.toMatchObject({ code: 'held_gone' });
    await effects.undo(applied.runId ?? '', { force: false });
    await effects.undo(done.runId ?? '', { force: false });
    expect(snapshot(workspace)).toEqual(before);
  });

  it.each([
    ['a', 'held-b'],
    ['held-b', 'a'],
  ])('keeps the old file under a name that waits: written through %s', async (one, other) => {
    const { run, at } = bench({ a: '1\n' });
    linkSync(at('a'), at('held-b'));
    const done = await run(`echo 2 >> ${one}`);
    expect([done.changed, done.heldId === undefined]).toEqual(one === 'a' ? [['a'], true] : [[], false]);
    expect(done.leftOut).toContainEqual(expect.objectContaining({ path: other, reason: 'refused', rule: 'other_name' }));
    expect(['a', 'held-b'].map((name) => readFileSync(at(name), 'utf8'))).toEqual(one === 'a' ? ['1\n2\n', '1\n'] : ['1\n', '1\n']);
  });

  it.each([1, 201])('a mode waits where another name of the file waits (%i files)', async (count) => {
    const { run, apply, at } = bench(Object.fromEntries(Array.from({ length: count }, (_, index) => [`a${index}`, '1\n'])));
    for (let index = 0; index < count; index += 1) linkSync(at(`a${index}`), at(`${index === 0 ? 'held-' : ''}b${index}`));
    const modeOf = (name: string) => (lstatSync(at(name)).mode & 0o777).toString(8);
    const before = modeOf('held-b0');
    const done = await run('chmod 755 a*');
    expect(done.leftOut).toMatchObject([{ path: 'a0', reason: 'held', rule: 'marked', why: expect.stringContaining('`held-b0`') }]);
    expect([modeOf('a0'), done.changed.length]).toEqual([before, count - 1]);
    await apply(done.heldId);
    expect([modeOf('a0'), modeOf('held-b0')]).toEqual(['755', '755']);
  });

  it.each<[string, (at: (name: string) => string) => void]>([
    ['changed', (at) => writeFileSync(at('held-a'), 'theirs')],
    ['made', (at) => mkdirSync(at('held-new'))],
    ['closed', (at) => chmodSync(at('held-b'), 0o600)],
    ['taken away', (at) => rmSync(at('held-d'), { recursive: true })],
    [
      'replaced',
      (at) => {
        rmSync(at('held-b'));
        symlinkSync('/', at('held-b'));
      },
    ],
  ])('is refused where one place is %s meanwhile, and nothing of it is done', async (_how, change) => {
    const { run, apply, workspace, at, journal } = bench(files);
    const { heldId, runId } = await run(command);
    change(at);
    const theirs = snapshot(workspace);
    await expect(apply(heldId)).rejects.toMatchObject({
      code: 'held_conflict',
      message: expect.stringContaining('nothing of it was applied'),
    });
    expect(snapshot(workspace)).toEqual(theirs);
    expect(readdirSync(journal)).toEqual([runId]);
  });

  it('holds and applies what the command closed for its owner, too', () => {
    const root = temporaryDirectory('held-closed-');
    mkdirSync(path.join(root, 'ws'));
    fill(path.join(root, 'ws'), files);
    execFileSync('chown', ['-R', `${otherUser}:${otherUser}`, root]);
    const before = snapshot(path.join(root, 'ws'));
    const close = 'chmod 000 held-a; mkdir -p held-new; echo x > held-new/x; chmod 000 held-new/x';
    const [, applied] = runApart({ root, commands: [close], hold: 'apply', undo: 'last' }, otherUser)?.done ?? [];
    expect(applied).toMatchObject({ created: ['held-new/'], changed: ['held-a'] });
    expect(snapshot(path.join(root, 'ws'))).toEqual(before);
  });

  it('is refused where the bytes or the digest are others', async () => {
    const { run, effects, journal } = bench(files);
    const { heldId = '' } = await run(command);
    const shown = await effects.held(heldId);
    const stage = path.join(journal, heldId, 'stage');
    const file =
      readdirSync(stage)
        .map((name) => path.join(stage, name))
        .find((name) => readFileSyncOrNothing(name).includes('three')) ?? '';
    writeFileSync(file, 'one\ntwo\nTHREE\n');
    expect((await effects.held(heldId))?.digest).not.toBe(shown?.digest);
    await expect(effects.applyHeld(heldId, shown?.digest ?? '')).rejects.toMatchObject({ code: 'held_changed' });
    expect(existsSync(path.join(journal, heldId))).toBe(false);
  });

  it('a change from outside during the run is a conflict, not something to approve', async () => {
    const { run, at, effects } = bench(files);
    const done = await run('echo ours > held-a; echo ours > held-b', { meanwhile: () => writeFileSync(at('held-a'), 'theirs') });
    expect(done.leftOut.map(({ path: name, reason }) => [name, reason])).toEqual([
      ['held-b', 'held'],
      ['held-a', 'conflict'],
    ]);
    expect((await effects.held(done.heldId ?? ''))?.changes.map(({ path: name }) => name)).toEqual(['held-b']);
  });

  it('killed at each step, it is done or not begun by the next start', { timeout: 300_000 }, async () => {
    const make = () => {
      const root = temporaryDirectory('held-crash-');
      mkdirSync(path.join(root, 'ws'));
      fill(path.join(root, 'ws'), files);
      return { root, workspace: path.join(root, 'ws') };
    };
    const whole = make();
    const before = snapshot(whole.workspace, { times: false });
    const steps = runApart({ root: whole.root, commands: [command.replace('; echo free > free', '')], hold: 'apply' })?.steps ?? 0;
    const after = snapshot(whole.workspace, { times: false });
    expect(steps).toBeGreaterThan(12);
    const ends = new Set<string>();
    for (let killAt = 1; killAt <= steps; killAt += 1) {
      const { root, workspace } = make();
      expect(runApart({ root, commands: [command.replace('; echo free > free', '')], hold: 'apply', killAt })).toBeUndefined();
      const { effects } = openBench({ root });
      const [record, ...more] = await effects.list();
      const state = record?.state ?? 'dropped';
      ends.add(state);
      expect(more).toEqual([]);
      expect(snapshot(workspace, { times: false }), `killed at ${killAt}`).toEqual(state === 'applied' ? after : before);
      if (state === 'applied') await effects.undo(record?.id ?? '', { force: false });
      expect(snapshot(workspace, { times: false }), `undone after ${killAt}`).toEqual(before);
    }
    expect([...ends].sort()).toEqual(['applied', 'dropped', 'held']);
  });
});

describe('limits', () => {
  it('more than may wait is refused, and says so', async () => {
    const { run, journal } = bench({}, { limits: { heldBytes: 2 ** 20 } });
    const first = await run('mkdir held; head -c 600000 /dev/urandom > held/1');
    expect(first.heldId).toBeDefined();
    const second = await run('head -c 600000 /dev/urandom > held-2');
    expect(second).toMatchObject({
      leftOut: [{ path: 'held-2', reason: 'refused', rule: 'marked', why: expect.stringMatching(/it was not kept: more than 1 MB/) }],
    });
    expect(second.heldId).toBeUndefined();
    expect(readdirSync(journal)).toEqual([first.heldId]);
  });

  it('a full disk is no failure of the run', async () => {
    const full = Object.assign(new Error('full'), { code: 'ENOSPC' });
    const writeSafely = (file: string, text: string) => {
      if (file.endsWith('/held')) throw full;
      disk.writeSafely(file, text);
    };
    const { run, at, journal } = bench({}, { disk: { ...disk, writeSafely } });
    const done = await run('echo x > held-x; echo free > free');
    expect(done).toMatchObject({ created: ['free'], leftOut: [{ reason: 'refused', why: expect.stringContaining('no room') }] });
    expect([existsSync(at('free')), existsSync(at('held-x'))]).toEqual([true, false]);
    expect(readdirSync(journal)).toEqual([done.runId]);
  });

  it('what nobody can answer any more goes with the next start, and what somebody can stays', async () => {
    const { run, journal, workspace } = bench({});
    const { heldId = '' } = await run('echo x > held-x');
    const reopen = () => openBench({ root: path.dirname(workspace) }).effects.list();
    await reopen();
    expect(readdirSync(journal)).toEqual([heldId]);
    const mark = path.join(journal, heldId, 'held');
    const plan = JSON.parse(readFileSync(mark, 'utf8')) as { at: number };
    writeFileSync(mark, JSON.stringify({ ...plan, at: plan.at - heldMs }));
    await reopen();
    expect(readdirSync(journal)).toEqual([]);
  });

  it('dropped, nothing is left; dropped again, nothing happens', async () => {
    const { run, effects, journal } = bench({});
    const { heldId = '' } = await run('echo x > held-x');
    await effects.dropHeld(heldId);
    await effects.dropHeld(heldId);
    expect(readdirSync(journal)).toEqual([]);
  });
});

function readFileSyncOrNothing(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
