import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { sideText, writtenFile } from '#hosts/vscode/details/write-sides';
import type { JsonObject } from '#kernel/json';
import { draftOf } from '../../../../integration/stores/store-fixtures.ts';

function workspace(): string {
  const root = mkdtempSync(path.join(os.tmpdir(), 'banksman-sides-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  mkdirSync(path.join(root, 'ws', 'src'), { recursive: true });
  writeFileSync(path.join(root, 'ws', 'src', 'a.ts'), 'old\n');
  writeFileSync(path.join(root, 'secret'), 'secret');
  symlinkSync(path.join(root, 'secret'), path.join(root, 'ws', 'link'));
  return path.join(root, 'ws');
}

const writing = (target: JsonObject, args: JsonObject = { content: 'new\n' }) => ({
  action: { ...draftOf().action, tool: 'write_file', targets: [{ kind: 'path', ...target }], arguments: args },
});

it('has the file as it is and as it would be', async () => {
  const root = workspace();
  const record = writing({ path: './src/../src/a.ts', real: 'src/a.ts' });
  expect(writtenFile(record)).toBe('src/a.ts');
  expect(await sideText(record, 'now', root)).toBe('old\n');
  expect(await sideText(record, 'proposed', root)).toBe('new\n');
});

it.each([
  ['a new file', { path: 'src/b.ts' }, ''],
  ['an agent’s own sandbox', { path: '/tmp/a.ts', real: '/tmp/a.ts' }, ''],
  ['a path that leads out', { path: '../secret' }, '(not in this workspace)'],
  ['a link that leads out', { path: 'link' }, '(not in this workspace)'],
  ['a directory', { path: 'src' }, '(not a file)'],
])('of %s reads nothing', async (_what, target, text) => {
  expect(await sideText(writing(target), 'now', workspace())).toBe(text);
});

it.each([
  ['latin1', Buffer.from('caf\u00e9 old', 'latin1')],
  ['UTF-16', Buffer.from('\ufeffcaf\u00e9 old', 'utf16le')],
  ['UTF-16, the other way round', Buffer.from('\ufeffcaf\u00e9 old', 'utf16le').swap16()],
  ['a byte order mark', Buffer.from('\ufeffcaf\u00e9 old')],
])('reads %s as edit_file does', async (_what, bytes) => {
  const root = workspace();
  writeFileSync(path.join(root, 'src', 'a.ts'), bytes);
  const { action } = writing({ path: 'src/a.ts' }, { edits: [{ old_text: 'é old', new_text: 'é new' }] });
  const record = { action: { ...action, tool: 'edit_file' } };
  expect([await sideText(record, 'now', root), await sideText(record, 'proposed', root)]).toEqual(['café old', 'café new']);
});

it('is nothing for a request of another kind, or one that holds no text', async () => {
  expect(writtenFile(draftOf())).toBeUndefined();
  expect(await sideText(draftOf(), 'now', workspace())).toBe('');
  expect(await sideText(writing({ path: 'a' }, { content: { markup: 'x' } }), 'proposed', workspace())).toBe('');
});
