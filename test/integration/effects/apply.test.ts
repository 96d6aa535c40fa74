import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { programRunner } from '#execution/run-child';
import type { ProgramRunner } from '#kernel/ports/program-runner';
import { temporaryDirectory } from '../execution/support/temporary.ts';
import { openBench, snapshot, type Way } from './support/effects-bench.ts';
import { otherUser } from './support/run-as.ts';
import { runBeside } from './support/run-beside.ts';

const fixture = `mkdir -p a/b d m ro s "we ird,: name"; echo one > f; echo two > a/g; echo three > a/b/h; echo x > d/x; echo y > d/y; echo z > m/z
ln -s ../f a/link; echo same > hard; ln hard hard2; ln hard s/hard3; touch -d "2001-02-03 04:05:06.123456789" a/b/h d; echo q > "we ird,: name/q"; chmod 640 d/x; echo k > ro/k; chmod 555 ro; printf 'x' > run.sh; chmod 755 run.sh`;

function makeWorkspace(root: string): string {
  const workspace = path.join(root, 'ws');
  mkdirSync(workspace);
  execFileSync('bash', ['-c', fixture], { cwd: workspace });
  return workspace;
}

const commands: readonly (readonly [string, string])[] = [
  ['creates, changes, deletes', 'echo more >> f; echo new > n; rm a/g; mkdir nd nd/sub; echo q > nd/sub/q; chmod +x a/b/h'],
  ['nothing', 'cat f > /dev/null; ls -R > /dev/null'],
  ['renames', 'mv a/g moved; mv m mm; mv d/x d/z'],
  [
    'renames into a new directory',
    'mkdir in in/deep; mv d in/new; mv a in/deep/a; echo p > in/deep/a/p; rm in/deep/a/g; mv m in/deep/a/b/m',
  ],
  ['replaces a directory', 'rm -rf d; mkdir d; echo w > d/w'],
  ['another type', 'rm -rf d; echo file > d; rm f; mkdir f; echo in > f/in; rm a/link; echo l > a/link'],
  ['links', 'ln -sfn f a/link; ln -s nowhere dangling; ln a/g second; ln a/b/h nl'],
  ['links to what others may not look at', 'ln -s /root/a/b k; ln -s /root/../proc/1/root/etc kk'],
  ['times and modes', 'touch -d 1999-01-01 a/g; chmod 600 run.sh; chmod 700 a; touch -h -d 2002-02-02 a/link'],
  [
    'times of directories',
    'touch -d 1999-01-01 a; touch -d "2030-02-03 04:05:06.123456789" a/b; echo n > d/n; touch -d 2001-01-01 d; chmod 700 m; touch -d 1998-01-01 m',
  ],
  ['modes of a file of two names', 'chmod -R go-rwx *; chmod 600 hard hard2'],
  ['writes through one of several names', 'echo more >> hard2; rm hard'],
  ['puts another file in the place of one of several names', 'echo x > n; mv n hard2; touch -d 1999-01-01 s/hard3'],
  ['times of several names', 'touch -d 1999-01-01 hard; touch -d 2001-01-01 hard2; touch -d 2000-01-01 s/hard3'],
  ['times in a directory that closes', 'touch -d 2001-01-01 a/g; chmod 000 a'],
  ['times before 1970', 'touch -d @-1.5 a/g; touch -d @-0.25 run.sh'],
  ['odd names', 'echo 1 > "we ird,: name/new"; rm "we ird,: name/q"; mkdir ./-n; echo x > "./-n/*"; echo y > $\'tab\\tnl\\n\''],
  ['a closed directory', 'chmod 755 ro; echo z > ro/z; rm ro/k; chmod 555 ro'],
  ['a closed directory that goes', 'chmod 755 ro; rm -r ro'],
  ['a closed new directory', 'mkdir -p c/d; echo x > c/d/x; chmod 444 c/d/x; chmod 555 c/d c'],
  ['unreadable', 'mkdir u; echo x > u/x; chmod 000 u/x u; chmod 000 f'],
  ['closes what it changed', 'echo more >> a/g; echo more >> a/b/h; chmod 400 a/b/h; chmod 000 a/b; chmod 000 a'],
  ['closes whole trees', 'find a d m -depth -exec chmod 000 {} +'],
  ['another type, deep', 'rm -rf a; echo file > a; rm -rf d; ln -s m d'],
  ['deletes all', 'chmod 755 ro; rm -rf -- * '],
  [
    'a deep tree',
    'mkdir -p t/1/2/3/4; for i in 1 2 3; do for j in 1 2 3; do echo $i$j > t/$i-$j; echo x > t/1/2/$i$j; done; done; ln t/1-1 t/1/same',
  ],
  ['git', 'git init -q . && git -c user.name=a -c user.email=b add -A && git -c user.name=a -c user.email=b commit -qm x && git gc -q'],
];

describe.each<[string, number | undefined, Way]>([
  ['root', undefined, 'overlay'],
  ['another user', otherUser, 'overlay'],
  ['root', undefined, 'scratch'],
  ['another user', otherUser, 'scratch'],
  ['root', undefined, 'copy'],
  ['another user', otherUser, 'copy'],
])('as %s (%s, %s)', (_who, user, way) => {
  it.each(commands)('applies what plain bash leaves, and undo is the identity: %s', async (_name, command) => {
    const root = temporaryDirectory('effects-');
    const workspace = makeWorkspace(root);
    const other = path.join(temporaryDirectory('plain-'), 'ws');
    execFileSync('cp', ['-a', workspace, other]);
    if (user !== undefined) execFileSync('chown', ['-R', `${user}:${user}`, root]);
    const before = snapshot(workspace, { inodes: true });
    execFileSync('bash', ['-c', command], { cwd: other, stdio: 'ignore' });
    const done = await runBeside({ root, way, command }, user);
    expect(done).toMatchObject({ stderr: '', leftOut: [] });
    expect(done?.nothingApplied).toBeUndefined();
    const [ours, plain] = [workspace, other].map((place) => snapshot(place, { times: false }));
    // Each commit has its own time, and so its own names.
    expect(command.startsWith('git') ? {} : ours).toEqual(command.startsWith('git') ? {} : plain);
    expect(marksIn(workspace)).toBe('');
    expect(done?.runId === undefined).toBe(command.endsWith('/dev/null'));
    if (done?.runId === undefined) return;
    await runBeside({ root, way, undo: done.runId }, user);
    expect(snapshot(workspace, { inodes: true })).toEqual(before);
    const { effects, scratch } = openBench({ root });
    expect(await effects.list()).toMatchObject([{ id: done.runId, state: 'undone' }]);
    expect(existsSync(scratch) ? readdirSync(scratch) : []).toEqual([]);
  });
});

describe.each<Way>(['overlay', 'scratch', 'copy'])('of directories that were there (%s)', (way) => {
  it('the times that a command sets are applied, and those that follow from its changes are not its own', async () => {
    const root = temporaryDirectory('effects-');
    const workspace = makeWorkspace(root);
    const { run } = openBench({ root, way });
    const done = await run('touch -d @1000.000000001 a; touch -d @4000000000.5 a/b; echo n > d/n; touch -d @2000 d; echo n > m/n', {
      hide: ['d/x'],
    });
    expect(done).toMatchObject({ created: ['d/n', 'm/n'], deleted: [], leftOut: [] });
    expect([...done.changed].sort()).toEqual(['a', 'a/b', 'd']);
    const timeOf = (name: string) => lstatSync(path.join(workspace, name), { bigint: true }).mtimeNs;
    expect(['a', 'a/b', 'd'].map(timeOf)).toEqual([1_000_000_000_001n, 4_000_000_000_500_000_000n, 2_000_000_000_000n]);
  });

  it('that of a plain `touch` is applied, and none follows from what came and went in them', async () => {
    const root = temporaryDirectory('effects-');
    const workspace = makeWorkspace(root);
    const before = snapshot(workspace);
    const { run, effects } = openBench({ root, way });
    const timeOf = (name: string) => lstatSync(path.join(workspace, name), { bigint: true }).mtimeNs;
    const begun = timeOf('..');
    const done = await run('touch d a/b; sleep 0.01; echo x > m/gone; rm m/gone; echo > a/new');
    expect(done).toMatchObject({ created: ['a/new'], deleted: [], leftOut: [] });
    expect([...done.changed].sort()).toEqual(['a/b', 'd']);
    for (const name of ['d', 'a/b']) expect(timeOf(name)).toBeGreaterThan(begun);
    await effects.undo(done.runId ?? '', { force: false });
    expect(snapshot(workspace)).toEqual(before);
  });

  it('the workspace itself has no time of a command’s where one looks and writes in it at one moment', async () => {
    const root = temporaryDirectory('effects-');
    makeWorkspace(root);
    const { run } = openBench({ root, way });
    // Both times are the same then, as after a plain `touch`.
    expect(await run('echo > new; touch .')).toMatchObject({ created: ['new'], changed: [], leftOut: [] });
  });

  it('their times are set back though their attributes cannot be, and the next undo brings those', async () => {
    const root = temporaryDirectory('effects-');
    const workspace = makeWorkspace(root);
    const before = [marksIn(workspace), snapshot(workspace)];
    let hasPython = true;
    const run: ProgramRunner['run'] = (line, signal) =>
      hasPython || line.program !== 'python3' ? programRunner.run(line, signal) : Promise.reject(new Error('no such program'));
    const bench = openBench({ root, way, programs: { ...programRunner, run } });
    const done = await bench.run(`touch -d @1000 d; chmod 700 a; python3 -c "import os; os.setxattr('a', 'user.note', b'x')"`);
    expect(done).toMatchObject({ changed: expect.arrayContaining(['a', 'd']), leftOut: [] });
    hasPython = false;
    await expect(bench.effects.undo(done.runId ?? '', { force: false })).rejects.toThrow('no such program');
    expect(snapshot(workspace)).toEqual(before[1]);
    hasPython = true;
    await bench.effects.undo(done.runId ?? '', { force: false });
    expect([marksIn(workspace), snapshot(workspace)]).toEqual(before);
  });

  it.each([
    ['is closed to others', 'chmod 700 .; echo n > n', { created: ['n'], changed: ['.'] }],
    ['is touched', 'touch -d @1000.000000001 .', { created: [], changed: ['.'] }],
  ])('the workspace’s own %s, and undo opens it again', async (_name, command, lists) => {
    const root = temporaryDirectory('effects-');
    const workspace = makeWorkspace(root);
    execFileSync('chmod', ['750', workspace]);
    const before = snapshot(workspace, { inodes: true });
    const { run, effects } = openBench({ root, way });
    const done = await run(command);
    expect(done).toMatchObject({ ...lists, leftOut: [] });
    const { mode, mtimeNs } = lstatSync(workspace, { bigint: true });
    expect(command.startsWith('chmod') ? mode & 0o777n : mtimeNs).toBe(command.startsWith('chmod') ? 0o700n : 1_000_000_000_001n);
    await effects.undo(done.runId ?? '', { force: false });
    expect(snapshot(workspace, { inodes: true })).toEqual(before);
  });

  it.each([
    ['opened to others', 'chmod 777 .; echo n > n'],
    ['closed to its owner', 'chmod 500 .; chmod 700 .; echo n > n; chmod 0 .'],
  ])('the workspace’s own is not %s, and that is said', async (_name, command) => {
    const root = temporaryDirectory('effects-');
    const workspace = makeWorkspace(root);
    const before = lstatSync(workspace).mode;
    const done = await openBench({ root, way }).run(command);
    expect(done).toMatchObject({ created: ['n'], leftOut: [{ path: '.', reason: 'refused', rule: 'root_mode' }] });
    expect(lstatSync(workspace).mode).toBe(before);
  });
});

describe('access lists', () => {
  /** `user::rwx, user:1:rwx, group::r-x, mask::rwx, other::---` (`acl(5)`, as the kernel stores it). */
  const list = '0200000001000700ffffffff020007000100000004000500ffffffff10000700ffffffff20000000ffffffff';
  const give = `python3 -c "import os; [os.setxattr('shared', 'system.posix_acl_' + kind, bytes.fromhex('${list}')) for kind in ('default', 'access')]"`;
  const lines = [
    ['new directories inherit one', 'mkdir -p shared/new/deep; echo > shared/new/deep/f; echo > shared/f'],
    ['one that is closed', 'mkdir -p shared/new; echo > shared/new/f; chmod 500 shared/new'],
    ['beside one without', 'mkdir other shared/new; echo > other/f'],
    ['a directory gets another name', 'mv shared moved'],
    ['a directory is made anew', 'rm -r shared/old; mkdir shared/old; echo > shared/old/f'],
    ['a file changes', 'echo more >> shared/old/f'],
  ] as const;

  // Without root `mv` copies a directory, and the list names somebody who has no number in the view.
  const users = (command: string) => (command.startsWith('mv') ? [undefined] : [undefined, otherUser]);

  it.each(lines.flatMap(([name, command]) => users(command).map((user) => [name, user ?? 'root', command, user] as const)))(
    'are as plain bash leaves them, and undo brings them back: %s (%s)',
    async (_name, _who, command, user) => {
      const root = temporaryDirectory('effects-');
      const [workspace, other] = [path.join(root, 'ws'), path.join(temporaryDirectory('plain-'), 'ws')];
      for (const place of [workspace, other]) {
        mkdirSync(path.join(place, 'shared'), { recursive: true });
        execFileSync('bash', ['-c', `${give}; mkdir shared/old; echo > shared/old/f`], { cwd: place });
      }
      if (user !== undefined) execFileSync('chown', ['-R', `${user}:${user}`, root]);
      const before = marksIn(workspace);
      expect(before).toContain('shared/old system.posix_acl_default');
      execFileSync('bash', ['-c', command], { cwd: other });
      const done = await runBeside({ root, command }, user);
      expect(done).toMatchObject({ stderr: '', leftOut: [] });
      expect(marksIn(workspace).replaceAll(workspace, '')).toBe(marksIn(other).replaceAll(other, ''));
      const modes = { times: false };
      expect(snapshot(workspace, modes)).toEqual(snapshot(other, modes));
      await runBeside({ root, undo: done?.runId ?? '' }, user);
      expect(marksIn(workspace)).toBe(before);
    },
  );
});

describe('extended attributes, holes and second names', () => {
  const attr = (name: string, value: string) => `python3 -c "import os; os.setxattr('${name}', 'user.note', b'${value}')"`;
  const before = `mkdir -p d/in; echo f > f; echo g > d/g; echo h > d/in/h; echo i > d/in/i; ${attr('f', 'one')}; ${attr('d/in', 'two')}; ${attr('d/in/h', 'three')}; echo l > l; ln l l2
    mkdir z; ${attr('z', 'four')}; chmod 000 z`;
  const lines: readonly (readonly [string, string])[] = [
    ['of a file that changes stay', 'echo more >> f; echo more >> d/in/h; touch d/g'],
    ['are given to a file that was there', `${attr('d/g', 'new')}; ${attr('d/in/h', 'other')}; chmod 600 d/in/h`],
    ['are given in directories that close', `${attr('d/in/h', 'other')}; ${attr('d/in/i', 'new')}; chmod 500 d/in d`],
    ['are taken from one', `python3 -c "import os; os.removexattr('d/in/h', 'user.note')"`],
    ['are given to directories that were there', `${attr('d', 'new')}; ${attr('d/in', 'other')}; chmod 700 d; chmod 555 d/in`],
    ['are given to a directory in which something changes', `${attr('d', 'new')}; echo n > d/n; rm d/g; echo more >> d/in/h`],
    [
      'an access list that gives a directory another mode',
      `python3 -c "import os,struct; os.setxattr('d', 'system.posix_acl_access', struct.pack('<I', 2) + b''.join(struct.pack('<HHi', tag, may, -1) for tag, may in ((1, 7), (4, 5), (16, 7), (32, 5))))"`,
    ],
    ['are taken from a directory', `python3 -c "import os; os.removexattr('d/in', 'user.note')"; rm d/in/i`],
    ['of one that is closed, and of another one', `chmod 700 z; ${attr('z', 'new')}; chmod 000 z; ${attr('d', 'other')}`],
    ['of new files and directories', `mkdir -p n/m; echo x > n/m/x; ${attr('n/m', 'dir')}; ${attr('n', 'top')}; ${attr('n/m/x', 'file')}`],
    ['of a new directory that is closed', `mkdir -p n/m; ${attr('n/m', 'dir')}; chmod 500 n/m n`],
    ['of copies', 'cp -a d copy; cp -a f f3'],
    ['of files whose places others take', 'mv d/g d/old; echo new > d/g; sed -i.bak s/h/H/ d/in/h'],
    ['of a directory that gets another name', 'mv d e'],
    [
      'a file with holes',
      'truncate -s 4M sparse; echo end >> sparse; fallocate -l 1M full; fallocate -p -o 4096 -l 8192 full; cp --sparse=always full holes',
    ],
    ['a hole in a file that was there', 'truncate -s 8M d/g; fallocate -l 2M f'],
    ['second names', 'ln f f3; ln d/g g2; echo x > new; ln new new2; mkdir n; ln new n/three; rm l2; ln l l3'],
  ];
  const wholes = [undefined, otherUser].flatMap((user) => lines.map(([name, command]) => [name, user ?? 'root', command, user] as const));

  it.each(wholes)('%s, as plain bash leaves them, and undo brings back what was there (%s)', async (_name, _who, command, user) => {
    const root = temporaryDirectory('effects-');
    const [workspace, other] = [path.join(root, 'ws'), path.join(temporaryDirectory('plain-'), 'ws')];
    for (const place of [workspace, other]) {
      mkdirSync(place);
      execFileSync('bash', ['-ec', before], { cwd: place });
    }
    if (user !== undefined) execFileSync('chown', ['-R', `${user}:${user}`, root]);
    const was = [marksIn(workspace), snapshot(workspace, { inodes: true })];
    execFileSync('bash', ['-ec', command], { cwd: other });
    const done = await runBeside({ root, command }, user);
    expect(done).toMatchObject({ stderr: '', leftOut: [] });
    expect(marksIn(workspace).replaceAll(workspace, '')).toBe(marksIn(other).replaceAll(other, ''));
    expect(snapshot(workspace, { times: false })).toEqual(snapshot(other, { times: false }));
    expect(blocksIn(workspace)).toEqual(blocksIn(other));
    await runBeside({ root, undo: done?.runId ?? '' }, user);
    expect([marksIn(workspace), snapshot(workspace, { inodes: true })]).toEqual(was);
  });
});

describe('what plain bash leaves of directories, to the nanosecond', () => {
  const make = `mkdir -p d/in/deep other; echo g > d/g; echo h > d/in/h; echo i > d/in/deep/i; echo o > other/o
    python3 -c "import os; os.setxattr('d/in/deep', 'user.note', b'x')"
    find . -exec touch -h -d '2021-03-04 05:06:07.123456789' {} +`;
  const set = 1_614_834_367_123_456_789n;

  it.each([
    ['one that gets its own name back, in another one', 'mv d t; mkdir d; mv t/* d/; rmdir t'],
    ['one that gets its own name back, and a new one below', 'mv d t; mkdir -p d/new; mv t/in d/in; rm -r t; echo n > d/new/n'],
    ['copies with their times', 'cp -a d copy; mkdir new; cp -a d/in new/in; chmod 500 copy/in/deep'],
    ['a new one in the place of another', 'cp -a d new; rm -r d; mv new d'],
    ['files that are written in place', 'echo more >> d/g; echo more > other/o; chmod 700 d/in'],
    ['files that are replaced', 'sed -i s/g/G/ d/g; echo more >> d/in/h'],
  ])('%s', async (_name, command) => {
    const root = temporaryDirectory('effects-');
    const [workspace, other] = [path.join(root, 'ws'), path.join(temporaryDirectory('plain-'), 'ws')];
    for (const place of [workspace, other]) {
      mkdirSync(place);
      execFileSync('bash', ['-ec', make], { cwd: place });
    }
    const was = [marksIn(workspace), snapshot(workspace, { inodes: true })];
    execFileSync('bash', ['-ec', command], { cwd: other });
    const { run, effects } = openBench({ root });
    const done = await run(command);
    expect(done).toMatchObject({ stderr: '', leftOut: [] });
    expect(timesBut(snapshot(workspace), set)).toEqual(timesBut(snapshot(other), set));
    expect(marksIn(workspace).replaceAll(workspace, '')).toBe(marksIn(other).replaceAll(other, ''));
    await effects.undo(done.runId ?? '', { force: false });
    expect([marksIn(workspace), snapshot(workspace, { inodes: true })]).toEqual(was);
  });
});

/** Two runs have no time of their own in common: every other one is `now`. */
function timesBut(tree: Readonly<Record<string, string>>, set: bigint): Readonly<Record<string, string>> {
  const entries = Object.entries(tree).map(([name, state]) => [
    name,
    state.replace(/ \d{19} /, (time) => (time === ` ${set} ` ? time : ' now ')),
  ]);
  return Object.fromEntries(entries);
}

/** What files take on the disk. */
function blocksIn(workspace: string): readonly string[] {
  return execFileSync('find', ['.', '-type', 'f', '-printf', '%p %b\n'], { cwd: workspace, encoding: 'utf8' }).split('\n').sort();
}

/** Extended attributes: of the overlay's, should they have come along, and others. */
function marksIn(workspace: string): string {
  const script = `import os,sys
for top,dirs,files in sorted(os.walk(sys.argv[1])):
  for name in [top]+[os.path.join(top,f) for f in sorted(files)]:
    for mark in sorted(os.listxattr(name,follow_symlinks=False)): print(name,mark,os.getxattr(name,mark,follow_symlinks=False).hex())`;
  return execFileSync('python3', ['-c', script, workspace], { encoding: 'utf8' });
}

describe('files of several names are one file where plain bash leaves one', () => {
  // Of one size and one time, and two of them with the same content: only their names tell which is which.
  const make = `mkdir -p s/in d; echo same > one; ln one two; ln one s/three; echo pair > d/p; ln d/p s/in/q
    echo same > twin; ln twin s/twin; touch -d @1700000000.5 one d/p twin
    mkdir many; for i in {1..250}; do echo $i > many/$i; ln many/$i many/of-$i; done
    git init -q r; git -C r -c user.name=a -c user.email=b commit -q --allow-empty -m x; git clone -q --bare r bare`;
  const both: readonly (readonly [string, string])[] = [
    ['a directory gets another place', 'mv s d/'],
    ['a directory gets another name, and so does one with another name in it', 'mv s/in in; mv s t'],
    ['one of its names moves', 'mv one d/'],
    ['a directory gets another name, and a copy', 'mv s t; cp -a t u'],
    ['many are written through one name each', 'for i in {1..250}; do echo more >> many/$i; done'],
    ['many move away from their other names', 'mkdir far; mv many/of-* far/'],
  ];
  const onCopy: readonly (readonly [string, string])[] = [
    ['a directory gets another name by rename(2), on a copy', "python3 -c \"import os; os.rename('s','t')\""],
  ];
  const alone: readonly (readonly [string, string])[] = [
    ['a clone of a repository that shares its objects', 'git clone -q ./bare new'],
    ['written through two of its names', 'echo a >> one; echo b >> s/three'],
    ['written through a name that moves', 'echo a >> one; mv one d/; ln two four'],
  ];
  // Without root the kernel keeps no note of which copies belong together; the runner does a clone again, on a copy.
  const lines = [undefined, otherUser].flatMap((user) => [
    ...[...both, ...(user === undefined ? alone : [])].map(([name, command]) => [name, user ?? 'root', command, { user }] as const),
    ...onCopy.map(([name, command]) => [name, user ?? 'root', command, { user, way: 'copy' }] as const),
  ]);

  it.each(lines)('%s (%s)', async (_name, _who, command, { user, ...way }) => {
    const root = temporaryDirectory('effects-');
    const [workspace, other] = [path.join(root, 'ws'), path.join(temporaryDirectory('plain-'), 'ws')];
    mkdirSync(workspace);
    execFileSync('bash', ['-ec', make], { cwd: workspace });
    execFileSync('cp', ['-a', workspace, other]);
    if (user !== undefined) execFileSync('chown', ['-R', `${user}:${user}`, root]);
    const was = [snapshot(workspace, { inodes: true }), namesIn(workspace)];
    execFileSync('bash', ['-ec', command], { cwd: other });
    const done = await runBeside({ root, command, ...way }, user);
    expect(done).toMatchObject({ exitCode: 0, stderr: '', leftOut: [] });
    expect(namesIn(workspace)).toEqual(namesIn(other));
    await runBeside({ root, undo: done?.runId ?? '' }, user);
    expect([snapshot(workspace, { inodes: true }), namesIn(workspace)]).toEqual(was);
  });

  it.each([
    ['root', undefined],
    ['another user', otherUser],
  ])('in a new directory in the place of another: what was there is none of them (%s)', async (_who, user) => {
    const root = temporaryDirectory('effects-');
    const workspace = path.join(root, 'ws');
    mkdirSync(workspace);
    execFileSync('bash', ['-ec', 'mkdir -p lib/in d; echo old > lib/in/m; ln lib/in/m d/h; echo old > lib/y; sleep 0.01'], {
      cwd: workspace,
    });
    if (user !== undefined) execFileSync('chown', ['-R', `${user}:${user}`, root]);
    const was = [snapshot(workspace, { inodes: true }), namesIn(workspace)];
    const command = 'tar cf a.tar lib d; rm -r lib; tar xf a.tar; echo new > lib/y; ln lib/y lib/z; ln lib/y four';
    const done = await runBeside({ root, command }, user);
    expect(done).toMatchObject({ exitCode: 0, stderr: '', leftOut: [] });
    for (const name of ['lib/y', 'lib/z', 'four']) expect(readFileSync(path.join(workspace, name), 'utf8')).toBe('new\n');
    expect(namesIn(workspace)).toContain('./four ./lib/y ./lib/z');
    await runBeside({ root, undo: done?.runId ?? '' }, user);
    expect([snapshot(workspace, { inodes: true }), namesIn(workspace)]).toEqual(was);
  });
});

/** Of each file with several names all of them, but for those that git calls by the time. */
function namesIn(workspace: string): readonly string[] {
  const found = execFileSync('find', ['.', '-type', 'f', '-links', '+1', '-printf', '%i %p\n'], { cwd: workspace, encoding: 'utf8' });
  const named = found.split('\n').map((line) => line.split(' '));
  const files = Map.groupBy(named, ([inode]) => inode).values();
  const together = [...files].map((names) => names.map(([, name = '']) => name).toSorted((one, other) => one.localeCompare(other)));
  return together.map((names) => names.join(' ')).toSorted((one, other) => one.localeCompare(other));
}

describe('another user’s files, on a copy', () => {
  it.each([
    ['written to', 'echo more >> theirs'],
    ['given another name', 'mv theirs mine'],
    ['in a directory that gets another name', 'mv d e'],
  ])('%s: they do not become one’s own', async (_name, command) => {
    const root = temporaryDirectory('effects-');
    execFileSync('bash', ['-ec', 'mkdir -p ws/d; cd ws; for f in theirs d/theirs; do echo theirs > $f; chmod 666 $f; done; echo > own'], {
      cwd: root,
    });
    execFileSync('chown', [`${otherUser}:${otherUser}`, root, ...['', 'd', 'own'].map((name) => path.join(root, 'ws', name))]);
    const was = snapshot(path.join(root, 'ws'), { inodes: true });
    const done = await runBeside({ root, command, way: 'copy' }, otherUser);
    expect(done?.nothingApplied).toMatch(/^nothing of it was applied: `[a-z/]+` is another user’s/);
    expect(snapshot(path.join(root, 'ws'), { inodes: true })).toEqual(was);
    const other = await runBeside({ root, command: 'echo more >> own; sed -i s/t/T/ theirs', way: 'copy' }, otherUser);
    expect(other).toMatchObject({ changed: ['own', 'theirs'], leftOut: [] });
  });
});

describe('renames of directories by rename(2)', () => {
  it('work as root', async () => {
    const root = temporaryDirectory('effects-');
    const workspace = makeWorkspace(root);
    const { run, effects } = openBench({ root });
    const before = snapshot(workspace, { inodes: true });
    const done = await run(
      "python3 -c \"import os; os.rename('a','aa'); os.rename('d','aa/d'); os.remove('aa/g'); open('aa/b/h','a').write('x')\"",
    );
    expect(done).toMatchObject({ stderr: '', created: ['aa/'], deleted: ['a/', 'd/'] });
    expect(Object.keys(snapshot(path.join(workspace, 'aa'))).sort()).toEqual(['.', 'b', 'b/h', 'd', 'd/x', 'd/y', 'link']);
    expect(marksIn(workspace)).toBe('');
    await effects.undo(done.runId ?? '', { force: false });
    expect(snapshot(workspace, { inodes: true })).toEqual(before);
  });

  it('fail as another user, as the note of the way says', async () => {
    const root = temporaryDirectory('effects-');
    makeWorkspace(root);
    execFileSync('chown', ['-R', `${otherUser}:${otherUser}`, root]);
    const outcome = await runBeside({ root, command: "python3 -c \"import os; os.rename('a','aa')\"" }, otherUser);
    expect(outcome?.stderr).toContain('Invalid cross-device link');
    expect(outcome).toMatchObject({ created: [], changed: [], deleted: [] });
  });
});
