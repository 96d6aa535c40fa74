import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { carryOut, hookFindings, hookStanding, plannedInstall, plannedUninstall } from '#hosts/hook/install-hook';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'hook-findings-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

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
  // One of the account that runs the tests may be there, too.
  const { there, offBy } = hookStanding('vscode', folder, (kinds) => kinds.map((kind) => `not ${kind}`));
  expect(offBy).toEqual(there.map(({ kind }) => `not ${kind}`));
  expect(offBy).toContain('not project');
});
