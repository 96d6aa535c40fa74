/** A person takes back what a command changed, after the editor's own diff; and answers for what was held. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openApprovals, pressRowAction, waitRow } from '../../harness/approvals-view.ts';
import { callFromCommandLine } from '../../harness/command-line.ts';
import { approveInModal, waitModal } from '../../harness/modal.ts';
import { pickRow, runCommand } from '../../harness/palette.ts';
import { screenshot } from '../../harness/screenshot.ts';
import { waitUntil } from '../../harness/wait-until.ts';
import { bench } from './window.ts';

const file = (name: string) => path.join(bench.folder, name);
const textOf = (name: string) => readFileSync(file(name), 'utf8');

async function chooseToUndo(command: string) {
  await runCommand(bench.page, 'Banksman: Undo This Run');
  await pickRow(bench.page, command);
  return waitModal(bench.page, 'Undo what this run changed?');
}

export function undoRuns(): void {
  describe('a run', () => {
    beforeAll(() => writeFileSync(file('a.txt'), 'before\n'));

    it('is undone after its differences were shown', async () => {
      const ran = await callFromCommandLine(bench, 'run_command', { command: 'echo after > a.txt; echo new > b.txt' });
      expect(ran.status).toBe('ok');
      const modal = await chooseToUndo('echo after');
      expect(modal.buttons).toEqual(['Leave It', 'Cancel', 'Undo']);
      expect(modal.detail).toMatch(/echo after > a\.txt[\s\S]*1 created, 1 changed[\s\S]*as before: a\.txt[\s\S]*goes: b\.txt/);
      await bench.page.locator('.tab', { hasText: 'Undo: echo after' }).first().waitFor({ timeout: 30_000 });
      await bench.page.locator('.multiDiffEditor .monaco-diff-editor').first().waitFor({ timeout: 30_000 });
      await screenshot(bench.page, 'undo-run');
      await modal.click('Undo');
      await waitUntil('the file as it was', () => textOf('a.txt') === 'before\n', 30_000);
      expect(existsSync(file('b.txt'))).toBe(false);
    });

    it('whose file somebody changed since stays, unless the person sets that aside', async () => {
      await callFromCommandLine(bench, 'run_command', { command: 'echo later > a.txt' });
      writeFileSync(file('a.txt'), 'mine\n');
      await (await chooseToUndo('echo later')).click('Undo');
      const first = await waitModal(bench.page, 'Files were changed since this run');
      expect(first.detail).toContain('a.txt');
      await first.click('Leave It');
      expect(textOf('a.txt')).toBe('mine\n');
      await (await chooseToUndo('echo later')).click('Undo');
      await (await waitModal(bench.page, 'Files were changed since this run')).click('Set Aside and Undo');
      await waitUntil('the file as it was', () => textOf('a.txt') === 'before\n', 30_000);
    });
  });

  describe('held changes', () => {
    it('are in the tree, show their difference in the dialog, and are applied by it', async () => {
      const held = await callFromCommandLine(bench, 'run_command', { command: 'mkdir .husky; echo "npm test" > .husky/pre-commit' });
      expect(held).toMatchObject({ status: 'ok', request_id: expect.any(String) });
      await openApprovals(bench.page);
      await waitRow(bench.page, 'Apply 2 held');
      await pressRowAction(bench.page, 'Apply 2 held', 'Review');
      const modal = await waitModal(bench.page, 'Apply 2 held changes');
      expect(modal.detail).toMatch(/create \.husky\/pre-commit[\s\S]*\+npm test/);
      await screenshot(bench.page, 'held-changes');
      await approveInModal(bench.page, modal, 'Approve and Run');
      await waitUntil('the held file', () => existsSync(file('.husky/pre-commit')), 30_000);
      expect(textOf('.husky/pre-commit')).toBe('npm test\n');
    });
  });
}
