import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { carryOut, hookFindings, hookStanding, plannedInstall, plannedUninstall } from '#hosts/hook/install-hook';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'hook-findings-'));
  // Its hooks and settings are none of the account that runs the tests.
  vi.stubEnv('HOME', path.join(folder, 'home'));
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const put = (file: string, text: string) => {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
};

it('misses a hook that was taken out of any project, and none that is there', () => {
  const [mine, other, state] = ['mine', 'other', 'state'].map((name) => path.join(folder, name)) as [string, string, string];
  const program = path.join(folder, 'cli.cjs');
  for (const place of [mine, other]) mkdirSync(place);
  writeFileSync(program, '');
  const change = plannedInstall('vscode', 'project', other, program);
  carryOut(change, state, true);
  const gone = () => hookFindings(state, mine, new Map([['vscode', () => []]])).filter(({ message }) => message.includes(other));
  expect(gone()).toEqual([]);
  rmSync(change.file);
  expect(gone()).toMatchObject([{ state: 'failed', message: expect.stringContaining('is gone') }]);
  // As its remedy says.
  carryOut(plannedUninstall('vscode', 'project', { project: other, state }), state, false);
  expect(gone()).toEqual([]);
  expect(existsSync(change.file)).toBe(false);
  expect(() => plannedUninstall('vscode', 'project', { project: other, state })).toThrow('there is no hook');
});

it('asks an editor what is switched off by where the hooks are', () => {
  const program = path.join(folder, 'cli.cjs');
  writeFileSync(program, '');
  carryOut(plannedInstall('vscode', 'project', folder, program), path.join(folder, 'state'), true);
  const { there, offBy } = hookStanding('vscode', folder, (folders) => folders.map((one) => `not ${one}`));
  expect(there).toHaveLength(1);
  expect(offBy).toEqual(['not .github/hooks']);
});

const [user, project] = ['"~/.copilot/hooks": false', '".github/hooks": false'];

it.each<[string, readonly ('user' | 'project')[], { readonly folder?: string; readonly account?: string }, readonly string[]]>([
  ['the place of the other hook', ['user'], { folder: `{ "chat.hookFilesLocations": { ${project} } }` }, []],
  ['one of two places', ['user', 'project'], { folder: `{ "chat.hookFilesLocations": { ${project} } }` }, []],
  ['its place', ['project'], { folder: `{ "chat.hookFilesLocations": { ${project} } }` }, ['folder']],
  ['both places', ['user', 'project'], { folder: `{ "chat.hookFilesLocations": { ${user}, ${project}, } }` }, ['folder']],
  [
    'one place in each file',
    ['user', 'project'],
    { folder: `{ "chat.hookFilesLocations": { ${user} } }`, account: `{ "chat.hookFilesLocations": { ${project} } }` },
    ['folder', 'account'],
  ],
  ['its place, in a comment', ['user'], { folder: `{ "chat.hookFilesLocations": {\n  // ${user}\n } }` }, []],
  ['all hooks', ['user', 'project'], { account: '{ "chat.useHooks": false }' }, ['account']],
  ['all hooks, in an object of its own', ['user'], { folder: '{ "x": { "chat.useHooks": false } }' }, []],
  [
    'all hooks, between what looks like comments',
    ['user'],
    { folder: '{ "x": "/*", "chat.useHooks": /* no */ false, "y": "*/" }' },
    ['folder'],
  ],
  ['nothing that can be read', ['user'], { folder: '{ "chat.useHooks": false' }, []],
])('the editor’s settings switch off %s', (_what, kinds, settings, by) => {
  const files = { folder: path.join(folder, '.vscode/settings.json'), account: path.join(folder, 'home/.config/Code/User/settings.json') };
  const program = path.join(folder, 'cli.cjs');
  put(program, '');
  for (const kind of kinds) carryOut(plannedInstall('vscode', kind, folder, program), path.join(folder, 'state'), true);
  for (const place of ['folder', 'account'] as const) if (settings[place] !== undefined) put(files[place], settings[place]);
  expect(hookStanding('vscode', folder).offBy).toEqual(by.map((place) => files[place as 'folder' | 'account']));
});
