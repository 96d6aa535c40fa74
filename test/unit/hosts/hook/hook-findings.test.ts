import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { carryOut, hookFindings, plannedInstall } from '#hosts/hook/install-hook';

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
  const gone = () => hookFindings(state, mine, new Map([['vscode', []]])).filter(({ message }) => message.includes(other));
  expect(gone()).toEqual([]);
  rmSync(change.file);
  expect(gone()).toMatchObject([{ state: 'failed', message: expect.stringContaining('is gone') }]);
});
