/** The five workspace tools from Copilot's own loop, and what a person sets in the editor. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ModelAnswer, ModelTurn } from '../../../scripts/bench/scripted-agent.ts';
import { channelLines } from '../harness/channel-log.ts';
import { hasCard, sendPrompt } from '../harness/chat.ts';
import { waitDetails } from '../harness/details-page.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { approveInModal, hasModal, waitModal } from '../harness/modal.ts';
import { pickRow, pickRows, runCommand, typeInto, waitPickRow } from '../harness/palette.ts';
import { screenshot } from '../harness/screenshot.ts';
import { machineSettings, machineSettingsFile } from '../harness/settings-file.ts';
import { toolResults } from '../harness/tool-results.ts';
import { waitUntil } from '../harness/wait-until.ts';

let bench: Workbench;

const calls: Readonly<Record<string, { readonly tool: string; readonly args: Readonly<Record<string, unknown>> }>> = {
  'read the file': { tool: 'banksman_read_file', args: { path: 'src/app.ts' } },
  'list the folder': { tool: 'banksman_list_directory', args: { path: '.', recursive: true } },
  'search the folder': { tool: 'banksman_search_files', args: { pattern: 'needle' } },
  'count the lines': { tool: 'banksman_run_command', args: { command: 'wc -l src/app.ts' } },
  'run the script': { tool: 'banksman_run_command', args: { command: 'mkdir -p out && echo made > out/made.txt && cat out/made.txt' } },
  'write the file': { tool: 'banksman_write_file', args: { path: 'src/app.ts', content: 'export const needle = 2;\n' } },
  'write the other file': { tool: 'banksman_write_file', args: { path: 'src/other.ts', content: 'export const other = 1;\n' } },
};

function script({ tools, messages }: ModelTurn): ModelAnswer {
  const last = messages.at(-1);
  if (tools.length === 0) return { text: 'working' };
  if (last?.role === 'tool') return { text: `ANSWERED ${last.content.slice(0, 200)}` };
  const prompt = messages.findLast((message) => message.role === 'user')?.content ?? '';
  const asked = Object.keys(calls).findLast((words) => prompt.includes(words));
  return calls[asked ?? ''] ?? { text: 'I know no such phrase.' };
}

beforeAll(async () => {
  bench = await launchWorkbench({
    script,
    prepareFolder(folder) {
      mkdirSync(path.join(folder, 'src'));
      writeFileSync(path.join(folder, 'src', 'app.ts'), 'export const needle = 1;\n');
    },
  });
});

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(bench.page, `failed-workspace-tools-${task.id}`);
});

afterAll(() => bench?.close());

const file = (name: string) => path.join(bench.folder, name);

/** Asks in the chat; resolves with the tool's result, which must come without any prompt. */
async function ask(prompt: string): Promise<string> {
  const before = toolResults(bench.model).length;
  const result = () => toolResults(bench.model)[before];
  await sendPrompt(bench.page, prompt);
  const shown = await waitUntil(
    `a card or the result of “${prompt}”`,
    async () => ((await hasCard(bench.page)) ? 'a card' : result() && 'the result'),
    90_000,
  );
  expect(shown).toBe('the result');
  return waitUntil(`the result of “${prompt}”`, result, 90_000);
}

/** As `ask`, up to the dialog. */
async function askUntilModal(prompt: string, title: string) {
  await sendPrompt(bench.page, prompt);
  const modal = await waitModal(bench.page, title);
  // The one prompt.
  expect(await hasCard(bench.page)).toBe(false);
  return modal;
}

/** Writes settings of machine scope, as a person does in the file, and waits until they count. */
async function setMachine(settings: object): Promise<void> {
  const starts = () => channelLines(bench.editor).filter((line) => /\] started: store /.test(line)).length;
  const before = starts();
  writeFileSync(machineSettingsFile(bench), JSON.stringify({ ...machineSettings(bench), ...settings }));
  await waitUntil('the new settings', () => starts() > before, 60_000);
}

describe('at the shipped default tier', () => {
  it.each([
    ['read the file', 'export const needle = 1;'],
    ['list the folder', 'src/app.ts'],
    ['search the folder', 'needle'],
    ['count the lines', '1 src/app.ts'],
  ])('the model can %s', async (prompt, expected) => {
    const result = await ask(prompt);
    expect(result).toContain('"status":"ok"');
    expect(result).toContain(expected);
  });

  it('the model cannot write the file, and nobody is asked', async () => {
    const result = await ask('write the file');
    expect(result).toContain('"status":"denied"');
    expect(result).toContain('model_tier_too_low');
    expect(await hasModal(bench.page, '')).toBe(false);
    expect(readFileSync(file('src/app.ts'), 'utf8')).toBe('export const needle = 1;\n');
  });

  it('what the model’s script changes is dropped where it can be looked at, else the script is refused; nobody is asked', async () => {
    const result = await ask('run the script');
    expect(result).toMatch(/it may only look, so dropped|COMMAND_BLOCKED/);
    expect(await hasModal(bench.page, '')).toBe(false);
    expect(existsSync(file('out'))).toBe(false);
  });
});

describe('at the default tier that a person raised', () => {
  beforeAll(() => setMachine({ 'banksman.defaultModelTier': 'advanced' }));

  it('the model can write the file', async () => {
    expect(await ask('write the file')).toContain('"status":"ok"');
    expect(readFileSync(file('src/app.ts'), 'utf8')).toBe('export const needle = 2;\n');
    await screenshot(bench.page, 'w1-written');
  });

  it.each([
    ['read the file', 'export const needle = 2;'],
    ['list the folder', 'src/app.ts'],
    ['search the folder', 'needle'],
    ['count the lines', '1 src/app.ts'],
  ])('the model can %s', async (prompt, expected) => {
    const result = await ask(prompt);
    expect(result).toContain('"status":"ok"');
    expect(result).toContain(expected);
  });

  it('the model can run a command, in the sandbox or after a person agreed', async () => {
    const before = toolResults(bench.model).length;
    await sendPrompt(bench.page, 'run the script');
    const end = await waitUntil(
      'a result or a dialog',
      async () => toolResults(bench.model)[before] ?? ((await hasModal(bench.page, '')) && 'asks'),
      90_000,
    );
    // Where the machine has no sandbox, every command asks.
    if (end === 'asks') await approveInModal(bench.page, await waitModal(bench.page, ''));
    const result = await waitUntil('the result', () => toolResults(bench.model)[before], 90_000);
    expect(result).toContain('"status":"ok"');
    expect(readFileSync(file('out/made.txt'), 'utf8')).toBe('made\n');
  });
});

describe('what a person sets in the editor', () => {
  it('is the security level, after a dialog', async () => {
    await runCommand(bench.page, 'Banksman: Set Security Level');
    await pickRow(bench.page, 'strict');
    const modal = await waitModal(bench.page, 'Set the security level to strict');
    expect(modal.buttons[0]).toBe('Keep balanced');
    await screenshot(bench.page, 's1-level');
    await approveInModal(bench.page, modal, 'Set to strict');
    await bench.page.locator('.statusbar-item', { hasText: 'Banksman: strict' }).waitFor({ timeout: 30_000 });
  });

  it('makes a write ask, with a native diff of what it would change', async () => {
    writeFileSync(file('src/app.ts'), 'export const needle = 1;\nexport const kept = true;\n');
    const before = toolResults(bench.model).length;
    await (await askUntilModal('write the file', 'src/app.ts')).click('Show Details');
    const details = await waitDetails(bench.page, 'src/app.ts');
    await details.getByRole('button', { name: 'Compare with the File' }).click();
    const diff = bench.page.locator('.monaco-diff-editor');
    await diff.locator('.view-line', { hasText: 'needle = 2' }).first().waitFor({ timeout: 30_000 });
    await diff.locator('.view-line', { hasText: 'kept' }).first().waitFor({ timeout: 30_000 });
    await screenshot(bench.page, 's2-diff');
    expect(readFileSync(file('src/app.ts'), 'utf8')).toContain('kept');
    await runCommand(bench.page, 'Banksman: Review');
    await approveInModal(bench.page, await waitModal(bench.page, 'src/app.ts'));
    expect(await waitUntil('the result', () => toolResults(bench.model)[before], 90_000)).toContain('"status":"ok"');
    expect(readFileSync(file('src/app.ts'), 'utf8')).toBe('export const needle = 2;\n');
  });

  it('is a rule that settles such a question in advance, after a dialog', async () => {
    await runCommand(bench.page, 'Banksman: Auto-Approve Rules');
    await pickRow(bench.page, 'Add a Rule');
    await pickRow(bench.page, 'Yellow tool');
    await pickRow(bench.page, 'write_file');
    await typeInto(bench.page, 'src/other*', 'Target');
    await bench.page.keyboard.press('Enter');
    await pickRow(bench.page, 'runs without asking');
    await pickRow(bench.page, '1 hour');
    const modal = await waitModal(bench.page, 'Add the rule “tool:write_file:src/other*”: allow');
    expect(modal.buttons[0]).toBe('Do Not Add');
    await screenshot(bench.page, 's3-rule');
    await approveInModal(bench.page, modal, 'Add Rule');
    await runCommand(bench.page, 'Banksman: Auto-Approve Rules');
    await waitPickRow(bench.page, 'tool:write_file:src/other*');
    await screenshot(bench.page, 's4-rules');
    await bench.page.keyboard.press('Escape');
    expect(await ask('write the other file')).toContain('"status":"ok"');
    expect(existsSync(file('src/other.ts'))).toBe(true);
  });
});

describe('a command that is tested', () => {
  it('shows the decision and its rule while it is typed, and is not run', async () => {
    await runCommand(bench.page, 'Banksman: Test a Command');
    await pickRow(bench.page, 'judged and applied');
    await typeInto(bench.page, 'rm -rf src');
    await waitPickRow(bench.page, 'the rule that decided');
    await waitPickRow(bench.page, 'judged as at level balanced');
    const rows = await pickRows(bench.page);
    // Where the machine has no view, a call asks, and so does this.
    expect(rows.join('\n')).toMatch(/changes that other programs obey wait for a person|no_view/);
    await typeInto(bench.page, 'banksman approvals approve 1');
    await waitPickRow(bench.page, 'deny');
    await screenshot(bench.page, 's5-test-a-command');
    expect((await pickRows(bench.page))[0]).toMatch(/deny/);
    expect(rows[0]).not.toMatch(/deny/);
    await bench.page.keyboard.press('Escape');
    expect(existsSync(file('src/app.ts'))).toBe(true);
  });
});
