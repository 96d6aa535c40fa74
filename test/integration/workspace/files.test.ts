/** Reading, writing and listing on a real disk, with both ways of pinning directories. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Pinning } from '#files/directory-pin';
import { codeOf, never, openTestWorkspace, scope, type TestWorkspace } from './support.ts';

const pinnings: readonly Pinning[] = process.platform === 'linux' ? ['descriptors', 'identity'] : ['identity'];
const asRoot = process.getuid?.() === 0;

const read = (workspace: TestWorkspace, name: string, lines = {}) => workspace.files.read(name, lines, scope, never);
const write = (workspace: TestWorkspace, name: string, content: string, createDirs = true) =>
  workspace.files.write(name, content, { createDirs }, scope);
const list = (workspace: TestWorkspace, name: string, options: { recursive?: boolean; pattern?: string } = {}) =>
  workspace.files.list(name, { recursive: false, ...options }, scope, never);

/** What this process holds open there; its other descriptors come and go. */
function descriptorsBelow(directory: string): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const held = readlinkSync(`/proc/self/fd/${descriptor}`);
      return held.startsWith(directory) ? [held] : [];
    } catch {
      return [];
    }
  });
}

describe.each(pinnings)('with %s', (pinning) => {
  const open = (options = {}) => openTestWorkspace({ pinning, ...options });

  describe('reading', () => {
    it('gives the lines that were asked for, and says which they are', async () => {
      const workspace = await open();
      workspace.put({ 'src/a.ts': 'one\ntwo\nthree\n' });
      expect(await read(workspace, 'src/a.ts')).toEqual({
        path: 'src/a.ts',
        text: 'one\ntwo\nthree',
        startLine: 1,
        endLine: 3,
        totalLines: 3,
        bytes: 14,
        encoding: 'utf-8',
        hash: expect.stringMatching(/^[0-9a-f]{16}$/),
      });
      expect(await read(workspace, './src/../src/a.ts', { start: 2, end: 2 })).toMatchObject({
        path: 'src/a.ts',
        text: 'two',
        startLine: 2,
        endLine: 2,
      });
      expect(await read(workspace, workspace.absolute('src/a.ts'), { start: 2, end: 99 })).toMatchObject({
        text: 'two\nthree',
        endLine: 3,
      });
      expect(await codeOf(read(workspace, 'src/a.ts', { start: 4 }))).toBe('LINE_OUT_OF_RANGE');
    });

    it('knows encodings by their mark, and binary files', async () => {
      const workspace = await open();
      workspace.put({
        bom: Buffer.from('\ufeffhé\n'),
        utf16le: Buffer.from('\ufeffhé\nx', 'utf16le'),
        utf16be: Buffer.from('\ufeffhé', 'utf16le').swap16(),
        latin1: Buffer.from('caf\u00e9', 'latin1'),
        empty: '',
        binary: Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 1]),
        utf32: Buffer.from([0xff, 0xfe, 0, 0, 0x68, 0, 0, 0]),
      });
      expect(await read(workspace, 'bom')).toMatchObject({ text: 'hé', encoding: 'utf-8' });
      expect(await read(workspace, 'utf16le')).toMatchObject({ text: 'hé\nx', encoding: 'utf-16le', totalLines: 2 });
      expect(await read(workspace, 'utf16be')).toMatchObject({ text: 'hé', encoding: 'utf-16be' });
      expect(await read(workspace, 'latin1')).toMatchObject({ text: 'café', encoding: 'latin1' });
      expect(await read(workspace, 'empty')).toMatchObject({ text: '', totalLines: 0, startLine: 1, endLine: 0 });
      expect(await codeOf(read(workspace, 'binary'))).toBe('BINARY_FILE');
      expect(await codeOf(read(workspace, 'utf32'))).toBe('BINARY_FILE');
    });

    it('opens no pipe, socket or device, and reads nothing that is too large', async () => {
      const workspace = await open({ mostBytes: 1_000 });
      execFileSync('mkfifo', [workspace.absolute('pipe')]);
      const socket = createServer().listen(workspace.absolute('sock'));
      onTestFinished(() => void socket.close());
      workspace.put({ sparse: '', large: 'x'.repeat(1_001) });
      truncateSync(workspace.absolute('sparse'), 2 ** 40);
      expect(await codeOf(read(workspace, 'pipe'))).toBe('NOT_A_REGULAR_FILE');
      expect(await codeOf(read(workspace, 'sock'))).toBe('NOT_A_REGULAR_FILE');
      expect(await codeOf(read(workspace, '.'))).toBe('NOT_A_REGULAR_FILE');
      expect(await codeOf(read(workspace, 'sparse'))).toBe('FILE_TOO_LARGE');
      expect(await codeOf(read(workspace, 'large'))).toBe('FILE_TOO_LARGE');
      expect(await codeOf(read(workspace, 'missing'))).toBe('FILE_NOT_FOUND');
      expect(await codeOf(read(workspace, 'large/x'))).toBe('PATH_UNREADABLE');
    });

    it.runIf(asRoot)('opens no device node', async () => {
      const workspace = await open();
      execFileSync('mknod', [workspace.absolute('zero'), 'c', '1', '5']);
      expect(await codeOf(read(workspace, 'zero'))).toBe('NOT_A_REGULAR_FILE');
      expect(await codeOf(write(workspace, 'zero', 'x'))).toBe('NOT_A_REGULAR_FILE');
      expect(lstatSync(workspace.absolute('zero')).isCharacterDevice()).toBe(true);
    });

    it('reads hard links, which package managers use', async () => {
      const workspace = await open();
      workspace.put({ 'store/x.js': 'x' });
      linkSync(workspace.absolute('store/x.js'), workspace.absolute('x.js'));
      expect(await read(workspace, 'x.js')).toMatchObject({ text: 'x' });
    });

    it('stops when it is cancelled', async () => {
      const workspace = await open();
      workspace.put({ a: 'x' });
      await expect(workspace.files.read('a', {}, scope, AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
    });

    it('leaves no descriptor open, whatever happened', async () => {
      const workspace = await open();
      workspace.put({ 'a/b/c.txt': 'x', 'a/.env': 'SECRET=1' });
      symlinkSync('/etc', workspace.absolute('out'));
      for (const name of ['a/b/c.txt', 'a/.env', 'out/passwd', 'a/b', 'nope/x', 'a/b/../b/c.txt']) await codeOf(read(workspace, name));
      for (const name of ['a/b/d.txt', 'a/.env', 'out/x', 'a/b', 'new/deep/x']) await codeOf(write(workspace, name, 'x'));
      await codeOf(list(workspace, '.', { recursive: true }));
      expect(descriptorsBelow(workspace.absolute('.'))).toEqual([]);
    });
  });

  describe('secrets and control files', () => {
    it('are opened only for exactly what a person agreed to', async () => {
      const workspace = await open();
      workspace.put({ '.env': 'KEY=1', 'other/.env': 'KEY=2' });
      symlinkSync('.env', workspace.absolute('notes.txt'));
      const readAs = (name: string, agreed?: string) =>
        codeOf(workspace.files.read(name, {}, { ...scope, ...(agreed === undefined ? {} : { agreed }) }, never));
      expect(await readAs('.env')).toBe('SECRET_FILE');
      expect(await readAs('notes.txt')).toBe('SECRET_FILE');
      expect(await readAs('notes.txt', 'notes.txt')).toBe('SECRET_FILE');
      expect(await readAs('other/.env', '.env')).toBe('SECRET_FILE');
      expect(await readAs('.env', '.env')).toBe('none');
      expect(await readAs('notes.txt', '.env')).toBe('none');
      expect(await codeOf(write(workspace, '.git/hooks/pre-commit', '#!/bin/sh'))).toBe('CONTROL_FILE');
      expect(existsSync(workspace.absolute('.git'))).toBe(false);
      await workspace.files.write('.vscode/tasks.json', '{}', { createDirs: true }, { ...scope, agreed: '.vscode/tasks.json' });
      expect(readFileSync(workspace.absolute('.vscode/tasks.json'), 'utf8')).toBe('{}');
    });
  });

  describe('editing', () => {
    const edit = (workspace: TestWorkspace, name: string, [oldText, newText]: readonly [string, string], options = {}) =>
      workspace.files.edit(name, [{ old_text: oldText, new_text: newText }], options, scope);

    it('changes what was named and nothing else: mark, encoding, line ends and mode stay', async () => {
      const workspace = await open();
      const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16();
      workspace.put({
        bom: '\ufeffa\r\nb\r\n',
        utf16le: Buffer.from('\ufeffhé\nx', 'utf16le'),
        utf16be: utf16be('\ufeffhé'),
        latin1: Buffer.from('caf\u00e9 x', 'latin1'),
      });
      chmodSync(workspace.absolute('bom'), 0o750);
      await edit(workspace, 'bom', ['a\nb', 'c\nd']);
      await edit(workspace, 'utf16le', ['x', 'ÿ€']);
      await edit(workspace, 'utf16be', ['h', 'j']);
      await edit(workspace, 'latin1', ['x', 'ü']);
      expect(readFileSync(workspace.absolute('bom'), 'utf8')).toBe('\ufeffc\r\nd\r\n');
      expect(statSync(workspace.absolute('bom')).mode & 0o777).toBe(0o750);
      expect(readFileSync(workspace.absolute('utf16le'))).toEqual(Buffer.from('\ufeffhé\nÿ€', 'utf16le'));
      expect(readFileSync(workspace.absolute('utf16be'))).toEqual(utf16be('\ufeffjé'));
      expect(readFileSync(workspace.absolute('latin1'))).toEqual(Buffer.from('caf\u00e9 ü', 'latin1'));
      expect(readdirSync(workspace.absolute('.')).filter((name) => name.startsWith('.banksman'))).toEqual([]);
    });

    it.each([
      ['OLD_TEXT_NOT_FOUND', 'nowhere', 'x'],
      ['OLD_TEXT_NOT_UNIQUE', 'é', 'x'],
      ['NOTHING_TO_CHANGE', 'one', 'one'],
      ['ENCODING_CANNOT_HOLD', 'one', '€'],
    ])('is refused with %s, and nothing is changed', async (code, oldText, newText) => {
      const workspace = await open();
      const bytes = Buffer.from('one é\ntwo é\n', 'latin1');
      workspace.put({ file: bytes });
      expect(await codeOf(edit(workspace, 'file', [oldText, newText]))).toBe(code);
      expect(readFileSync(workspace.absolute('file'))).toEqual(bytes);
    });

    it('is refused where the file is not the one that was read', async () => {
      const workspace = await open();
      workspace.put({ file: 'one\n' });
      const { hash } = await read(workspace, 'file');
      const after = await edit(workspace, 'file', ['one', 'two'], { ifUnchanged: hash });
      expect(after.hash).toBe((await read(workspace, 'file')).hash);
      expect(await codeOf(edit(workspace, 'file', ['two', 'three'], { ifUnchanged: hash }))).toBe('FILE_CHANGED');
      expect(readFileSync(workspace.absolute('file'), 'utf8')).toBe('two\n');
    });

    it('is refused for what is no text, no file, a secret or outside', async () => {
      const workspace = await open();
      workspace.put({ binary: Buffer.from([1, 0, 2]), odd: Buffer.from([0xff, 0xfe, 0x00, 0xd8, 0x41, 0x00]), 'dir/x': '' });
      expect(await codeOf(edit(workspace, 'binary', ['a', 'b']))).toBe('BINARY_FILE');
      expect(await codeOf(edit(workspace, 'odd', ['A', 'b']))).toBe('BINARY_FILE');
      expect(await codeOf(edit(workspace, 'missing', ['a', 'b']))).toBe('FILE_NOT_FOUND');
      expect(await codeOf(edit(workspace, 'dir', ['a', 'b']))).toBe('NOT_A_REGULAR_FILE');
      expect(await codeOf(edit(workspace, '../x', ['a', 'b']))).toBe('PATH_OUTSIDE_WORKSPACE');
    });

    it('loses none of many at once', async () => {
      const workspace = await open();
      const names = Array.from({ length: 20 }, (_, number) => `line-${number}.`);
      workspace.put({ file: names.join('\n') });
      await Promise.all(names.map((name, number) => edit(workspace, number % 2 === 0 ? 'file' : './file', [name, `new-${number}.`])));
      expect(readFileSync(workspace.absolute('file'), 'utf8')).toBe(names.map((_, number) => `new-${number}.`).join('\n'));
    });
  });

  describe('writing', () => {
    it('makes files and directories, and says whether it was new', async () => {
      const workspace = await open();
      expect(await write(workspace, 'new/deep/a.txt', 'é')).toMatchObject({ path: 'new/deep/a.txt', bytes: 2, created: true });
      expect(await write(workspace, 'new/deep/a.txt', '')).toMatchObject({ path: 'new/deep/a.txt', bytes: 0, created: false });
      expect(readFileSync(workspace.absolute('new/deep/a.txt'), 'utf8')).toBe('');
      expect(await codeOf(write(workspace, 'none/a.txt', 'x', false))).toBe('FILE_NOT_FOUND');
      expect(existsSync(workspace.absolute('none'))).toBe(false);
      expect(await codeOf(write(workspace, 'new', 'x'))).toBe('NOT_A_REGULAR_FILE');
      expect(await codeOf(write(workspace, 'new/deep/a.txt/b', 'x'))).toBe('PATH_UNREADABLE');
    });

    it('keeps the mode of what it replaces, and gives nobody set-user-id', async () => {
      const workspace = await open();
      workspace.put({ script: 'old', private: 'old', suid: 'old' });
      chmodSync(workspace.absolute('script'), 0o755);
      chmodSync(workspace.absolute('private'), 0o600);
      chmodSync(workspace.absolute('suid'), 0o4755);
      for (const name of ['script', 'private', 'suid']) await write(workspace, name, 'new');
      expect(['script', 'private', 'suid'].map((name) => statSync(workspace.absolute(name)).mode & 0o7777)).toEqual([0o755, 0o600, 0o755]);
      await write(workspace, 'fresh', 'x');
      expect(statSync(workspace.absolute('fresh')).mode & 0o777).toBe(0o666 & ~process.umask());
    });

    it('writes through a link inside to what it names, and never through a hard link', async () => {
      const workspace = await open();
      workspace.put({ 'real/a.txt': 'old', shared: 'old' });
      symlinkSync('real/a.txt', workspace.absolute('link'));
      linkSync(workspace.absolute('shared'), path.join(workspace.base, 'neighbour'));
      expect(await write(workspace, 'link', 'new')).toMatchObject({ path: 'real/a.txt', created: false });
      expect(lstatSync(workspace.absolute('link')).isSymbolicLink()).toBe(true);
      expect(readFileSync(workspace.absolute('real/a.txt'), 'utf8')).toBe('new');
      await write(workspace, 'shared', 'new');
      expect(readFileSync(path.join(workspace.base, 'neighbour'), 'utf8')).toBe('old');
    });

    it('refuses every way out, new files under linked directories and dangling links too', async () => {
      const workspace = await open();
      mkdirSync(path.join(workspace.base, 'outside'));
      mkdirSync(path.join(workspace.base, 'ws-evil'));
      symlinkSync('../outside', workspace.absolute('out'));
      symlinkSync('../outside/new.txt', workspace.absolute('dangling'));
      symlinkSync('out', workspace.absolute('chain'));
      symlinkSync('loop', workspace.absolute('loop'));
      symlinkSync('nowhere/../../outside/x', workspace.absolute('through-nothing'));
      for (const name of ['out/x', 'out/deep/x', 'dangling', 'chain/x'])
        expect(await codeOf(write(workspace, name, 'x')), name).toBe('SYMLINK_OUTSIDE_WORKSPACE');
      expect(await codeOf(write(workspace, 'loop', 'x'))).toBe('SYMLINK_LOOP');
      expect(await codeOf(write(workspace, 'through-nothing', 'x'))).not.toBe('none');
      for (const name of ['../outside/x', '../ws-evil/x', `${workspace.base}/ws-evil/x`, '/etc/banksman-test', 'a/../../outside/x']) {
        expect(await codeOf(write(workspace, name, 'x')), name).not.toBe('none');
      }
      expect(readdirSync(path.join(workspace.base, 'outside'))).toEqual([]);
      expect(readdirSync(path.join(workspace.base, 'ws-evil'))).toEqual([]);
    });

    it('leaves the old file and nothing else when the disk refuses', async () => {
      const workspace = await open();
      workspace.put({ 'a.txt': 'old' });
      expect(await codeOf(write(workspace, 'a.txt', 'lone \ud800'))).toBe('CONTENT_NOT_TEXT');
      expect(await codeOf(write(workspace, 'x'.repeat(300), 'x'))).toBe('PATH_INVALID');
      expect(readFileSync(workspace.absolute('a.txt'), 'utf8')).toBe('old');
      expect(readdirSync(workspace.root)).toEqual(['a.txt']);
    });

    it('shows a reader the old text or the new one, never a part', async () => {
      const workspace = await open();
      const texts = ['a'.repeat(300_000), 'b'.repeat(300_000)];
      workspace.put({ file: texts[0] ?? '' });
      const state = { done: false };
      const writing = (async () => {
        for (let turn = 0; turn < 40; turn += 1) await write(workspace, 'file', texts[turn % 2] ?? '');
        state.done = true;
      })();
      const seen = new Set<string>();
      while (!state.done) {
        seen.add(readFileSync(workspace.absolute('file'), 'utf8'));
        await new Promise(setImmediate);
      }
      await writing;
      expect([...seen].filter((text) => !texts.includes(text)).map((text) => text.length)).toEqual([]);
    });
  });

  describe('listing', () => {
    const names = (listing: Awaited<ReturnType<typeof list>>) => listing.entries.map((entry) => entry.path);

    it('sorts, sizes, and follows no link', async () => {
      const workspace = await open();
      workspace.put({ 'b.txt': '12345', 'a/x.ts': '', 'a/deep/y.ts': '', Z: '' });
      symlinkSync('/etc', workspace.absolute('link'));
      expect((await list(workspace, '.')).entries).toEqual([
        { path: 'Z', type: 'file', bytes: 0 },
        { path: 'a', type: 'directory' },
        { path: 'b.txt', type: 'file', bytes: 5 },
        { path: 'link', type: 'link' },
      ]);
      expect(names(await list(workspace, 'a', { recursive: true }))).toEqual(['a/deep', 'a/deep/y.ts', 'a/x.ts']);
      expect(names(await list(workspace, '.', { recursive: true, pattern: '*.ts' }))).toEqual(['a/deep/y.ts', 'a/x.ts']);
      expect(names(await list(workspace, 'a', { recursive: true, pattern: 'deep/*' }))).toEqual(['a/deep/y.ts']);
      expect(await codeOf(list(workspace, 'link'))).toBe('SYMLINK_OUTSIDE_WORKSPACE');
      expect(await codeOf(list(workspace, 'b.txt'))).toBe('NOT_A_DIRECTORY');
      expect(await codeOf(list(workspace, 'none'))).toBe('FILE_NOT_FOUND');
      for (const pattern of ['{a,b', '[', 'a}', '[z-a]', 'a\\'])
        expect(await codeOf(list(workspace, '.', { pattern }))).toBe('BAD_PATTERN');
    });

    it('leaves out what .gitignore files hide, from those above on, and counts it', async () => {
      const workspace = await open();
      workspace.put({
        '.gitignore': 'node_modules/\n*.log\n!keep.log\n/build\n',
        'node_modules/x/index.js': '',
        'a.log': '',
        'keep.log': '',
        'build/out': '',
        'src/build/in.ts': '',
        'src/.gitignore': '!b.log\n',
        'src/a.log': '',
        'src/b.log': '',
      });
      const listing = await list(workspace, '.', { recursive: true });
      expect(names(listing)).toEqual(['.gitignore', 'keep.log', 'src', 'src/.gitignore', 'src/b.log', 'src/build', 'src/build/in.ts']);
      expect(listing.ignored).toBe(4);
      expect(names(await list(workspace, 'src'))).toEqual(['src/.gitignore', 'src/b.log', 'src/build']);
      // Named itself, it is shown.
      expect(names(await list(workspace, 'node_modules', { recursive: true }))).toEqual(['node_modules/x', 'node_modules/x/index.js']);
    });

    it('is capped, says how much is missing, and does not go into .git', async () => {
      const workspace = await open({ listing: { entries: 3, visits: 100, depth: 2 } });
      workspace.put({ '.git/config': '', 'a/b/c/d.txt': '', x1: '', x2: '' });
      const listing = await list(workspace, '.', { recursive: true });
      expect(names(listing)).toEqual(['.git', 'a', 'a/b']);
      expect(listing.omitted).toBe(2);
    });

    it.runIf(!asRoot)('goes on past a directory that it may not read', async () => {
      const workspace = await open();
      workspace.put({ 'locked/x': '', 'open/y': '' });
      chmodSync(workspace.absolute('locked'), 0);
      onTestFinished(() => chmodSync(workspace.absolute('locked'), 0o700));
      expect(names(await list(workspace, '.', { recursive: true }))).toEqual(['locked', 'open', 'open/y']);
    });

    it('ends when it is cancelled', async () => {
      const workspace = await open();
      workspace.put({ a: '' });
      const cancelled = workspace.files.list('.', { recursive: true }, scope, AbortSignal.abort(new Error('enough')));
      await expect(cancelled).rejects.toThrow('enough');
    });
  });

  it('says so when the workspace itself is gone', async () => {
    const workspace = await open();
    writeFileSync(path.join(workspace.base, 'other'), '');
    const gone = await open({ base: workspace.base, root: workspace.root });
    execFileSync('rm', ['-r', workspace.root]);
    expect(await codeOf(read(gone, 'a'))).toBe('WORKSPACE_MISSING');
  });
});
