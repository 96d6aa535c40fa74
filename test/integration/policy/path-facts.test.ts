/** What paths really are, on a real tree with links of every kind. */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFixtureTree, type FixtureTree } from './fixture-tree.ts';

let tree: FixtureTree;
beforeAll(async () => {
  tree = await createFixtureTree();
  symlinkSync(tree.root, `${tree.root}/link_to_root`);
  symlinkSync(`${tree.root}/src/index.ts`, `${tree.root}/link_absolute_in`);
  symlinkSync('../ws/src', `${tree.root}/link_around`);
});
afterAll(() => tree.remove());

function look(path: string) {
  return tree.view.facts.look(path.split('/'));
}

describe('look', () => {
  it.each([
    ['file.txt', { kind: 'file', path: ['file.txt'], size: 1 }],
    ['src', { kind: 'directory', path: ['src'] }],
    ['', { kind: 'directory', path: [] }],
    ['.', { kind: 'directory', path: [] }],
    ['src/..', { kind: 'directory', path: [] }],
    ['src/../file.txt', { kind: 'file', path: ['file.txt'] }],
    ['link_in', { kind: 'directory', path: ['src'] }],
    ['link_in/index.ts', { kind: 'file', path: ['src', 'index.ts'] }],
    ['link_file_in', { kind: 'file', path: ['file.txt'] }],
    ['link_absolute_in', { kind: 'file', path: ['src', 'index.ts'] }],
    ['link_to_root', { kind: 'directory', path: [] }],
    ['link_to_root/link_to_root/src', { kind: 'directory', path: ['src'] }],
    ['missing', { kind: 'missing', path: ['missing'] }],
    ['missing/deep', { kind: 'missing', path: ['missing', 'deep'] }],
    ['link_in/new.ts', { kind: 'missing', path: ['src', 'new.ts'] }],
    ['fifo', { kind: 'special', path: ['fifo'] }],
    ['sock', { kind: 'special', path: ['sock'] }],
    ['big.bin', { kind: 'file', size: 2 ** 40 }],
    ['...', { kind: 'directory', path: ['...'] }],
  ])('%s', (path, expected) => {
    expect(look(path)).toMatchObject(expected);
  });

  it.each([
    '..',
    '../ws/file.txt',
    'src/../..',
    'link_out',
    'link_out/x',
    'link_out_file',
    'link_chain',
    'link_parent',
    'link_parent/ws/file.txt',
    'link_in/../../outside',
    'src/deep/link_up',
    'link_root',
    'link_root/etc/passwd',
    'link_proc',
    'link_abs_etc/x',
    'link_dangling_out',
    'link_dangling_dir/x',
    'link_dangling_chain',
    'link_around',
    'missing/../..',
  ])('%s leads outside', (path) => {
    expect(look(path)).toEqual({ kind: 'outside' });
  });

  it('tells circles and what cannot be looked at', () => {
    expect(look('link_loop')).toEqual({ kind: 'loop' });
    expect(look('link_loop/x')).toEqual({ kind: 'loop' });
    expect(look('file.txt/x')).toEqual({ kind: 'unreadable', reason: 'ENOTDIR' });
    expect(look('x'.repeat(300))).toEqual({ kind: 'unreadable', reason: 'ENAMETOOLONG' });
  });

  it('sees a change at once', () => {
    mkdirSync(`${tree.root}/changing`);
    expect(look('changing/a')).toMatchObject({ kind: 'missing' });
    writeFileSync(`${tree.root}/changing/a`, 'abc');
    expect(look('changing/a')).toMatchObject({ kind: 'file', size: 3 });
    rmSync(`${tree.root}/changing`, { recursive: true });
    symlinkSync('/etc', `${tree.root}/changing`);
    expect(look('changing/a')).toEqual({ kind: 'outside' });
  });
});
