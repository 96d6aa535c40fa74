/**
 * The tools of the editor's own agent: free at first, governed once a person has read and agreed to the change, judged by the window's settings, asked about
 * in the window's list, in the trail; and free again. With `BANKSMAN_RECORD` what was found is written down for docs/hooks.md.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { FrameLocator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { ModelAnswer, ModelTurn } from '../../../scripts/bench/scripted-agent.ts';
import { cacheFolder, ROOT } from '../../../scripts/lib/cache-folder.mjs';
import type { Finding } from '../../agents/cases.ts';
import type { AgentResults } from '../../agents/results.ts';
import { canSandbox } from '../../integration/execution/support/bubblewrap.ts';
import { openApprovals, pressRowAction, waitRow } from '../harness/approvals-view.ts';
import { sendPrompt } from '../harness/chat.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { approveInModal, closeModals, waitModal } from '../harness/modal.ts';
import { pickRow, pickRows, runCommand } from '../harness/palette.ts';
import { screenshot } from '../harness/screenshot.ts';
import { toolResults } from '../harness/tool-results.ts';
import { waitUntil } from '../harness/wait-until.ts';

let bench: Workbench;

/** “call NAME {arguments}” becomes a call of that tool. */
function script({ tools, messages }: ModelTurn): ModelAnswer {
  const asked = messages.findLast(({ role }) => role === 'user');
  const [, name = '', input = '{}'] = /call ([a-zA-Z_]+) (\{.*\})/.exec(asked?.content ?? '') ?? [];
  const tool = messages.at(-1)?.role === 'tool' ? undefined : tools.find((one) => one.name === name);
  return tool === undefined ? { text: 'done' } : { tool: tool.name, args: JSON.parse(input) as Record<string, unknown> };
}

const rule = {
  ...{ id: 'uname', surface: 'workspace_command', program: 'uname', args: ['-s'], effect: 'allow' },
  ...{ justification: 'harmless', match: ['uname -s'] },
};

beforeAll(async () => {
  bench = await launchWorkbench({
    script,
    extensions: [path.join(ROOT, 'test', 'editor', 'lookalike-extension')],
    machineSettings: { 'banksman.defaultModelTier': 'advanced', 'banksman.commandRules': [rule] },
    prepareFolder: (folder) => {
      writeFileSync(path.join(folder, 'notes.txt'), 'what stands in the notes\n');
      const config = path.join(folder, '..', 'config', 'banksman');
      mkdirSync(config, { recursive: true });
      writeFileSync(path.join(config, 'config.json'), JSON.stringify({ hooks: { modelTier: 'advanced' } }), { mode: 0o600 });
    },
  });
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(bench.page, `failed-govern-${task.id}`);
});
afterAll(async () => {
  if (process.env['BANKSMAN_RECORD'] !== undefined) record();
  await bench?.close();
});

/** What docs/hooks.md says of it; of what is missing the test did not come so far. */
const kinds: Record<string, Finding> = {};
const ends: { -readonly [name in 'broken' | 'switchedOff']?: Finding } = {};

function record(): void {
  const file = path.join(ROOT, 'test', 'agents', 'results.json');
  const all = JSON.parse(readFileSync(file, 'utf8')) as AgentResults;
  const product = path.join(cacheFolder(), 'editor', 'cs', 'node_modules', 'code-server', 'lib', 'vscode', 'package.json');
  const { version } = JSON.parse(readFileSync(product, 'utf8')) as { readonly version: string };
  const hook: AgentResults[string]['hook'] = {
    version,
    date: new Date().toISOString().slice(0, 10),
    kinds,
    broken: { ok: false },
    ...ends,
  };
  writeFileSync(file, `${JSON.stringify({ ...all, vscode: { hook } }, null, 2)}\n`);
}

/** A webview that is in front. */
const inWebview = (): FrameLocator =>
  bench.page.locator('iframe.webview.ready:visible').last().contentFrame().locator('iframe#active-frame').contentFrame();

const title = 'VS Code, local agents';
const hookFile = () => path.join(bench.editor.profile.home, '.copilot', 'hooks', 'banksman-vscode.json');
const inFolder = (name: string) => path.join(bench.folder, name);
const terminal = (command: string) =>
  ['run_in_terminal', { command, explanation: 'try', goal: 'try', isBackground: false, mode: 'sync', timeout: 20_000 }] as const;
const edit = (name: string) => ['create_file', { filePath: inFolder(name), content: '{}' }] as const;

/** Asks the model for one call of a tool; resolves with what the tool answered. The editor's own questions are answered with yes. */
async function call([name, input]: readonly [string, object]): Promise<string> {
  const count = toolResults(bench.model).length + 1;
  await sendPrompt(bench.page, `call ${name} ${JSON.stringify(input)}`);
  return waitUntil(
    `the result of ${name}`,
    async () => {
      const allow = bench.page.locator('.chat-tool-confirmation-carousel-container .monaco-button:visible', { hasText: /^(?:Allow|Keep)/ });
      if ((await allow.count()) > 0)
        await allow
          .first()
          .click({ timeout: 5_000 })
          .catch(() => undefined);
      return toolResults(bench.model)[count - 1];
    },
    240_000,
  );
}

async function choose(...rows: readonly string[]): Promise<void> {
  await runCommand(bench.page, 'Banksman: Govern This Editor');
  for (const row of rows) await pickRow(bench.page, row);
}

/** The editor reads files of hooks when it hears that they changed, which may be later than the next message: asked until it has. */
async function terminalUntil(what: string, name: string, isIt: (answer: string, isThere: boolean) => boolean): Promise<string> {
  let tries = 0;
  return waitUntil(
    what,
    async () => {
      tries += 1;
      // Beside other work its watcher can miss a change, or stand on a file that is gone: as a person would, saved again.
      if (tries % 5 === 0 && existsSync(hookFile())) writeFileSync(hookFile(), readFileSync(hookFile()));
      const answer = await call(terminal(`touch ${name}-${tries}.txt`));
      return isIt(answer, existsSync(inFolder(`${name}-${tries}.txt`))) && answer;
    },
    300_000,
  );
}

it('are free before: the list says so, and a program that runs the command changes nothing', async () => {
  expect(await call(terminal('touch before.txt'))).not.toContain('banksman');
  await waitUntil('what the terminal made', () => existsSync(inFolder('before.txt')));
  await runCommand(bench.page, 'Banksman: Govern This Editor');
  const rows = await waitUntil('the agents', async () => {
    const listed = await pickRows(bench.page);
    return listed.some((row) => row.includes('Cursor')) && listed;
  });
  expect(rows[0]).toMatch(/VS Code, local agents.*no hook.*shell, edits, reads, fetches, MCP calls/);
  expect(rows.find((row) => row.includes('Codex'))).toContain('no hook');
  await screenshot(bench.page, 'g1-agents');
  await pickRow(bench.page, title);
  await pickRow(bench.page, 'by Root');
  await bench.page.locator('.quick-input-widget:visible input[placeholder*="no hooks that root owns"]').waitFor();
  await screenshot(bench.page, 'g2-places');
  await pickRow(bench.page, 'For You');
  const modal = await waitModal(bench.page, `Govern ${title}?`);
  expect(modal.buttons[0]).toBe('Change Nothing');
  expect(modal.detail).toMatch(/banksman-vscode\.json:\n[\s\S]*\+.*cli\.cjs hook vscode \|\| exit 2/);
  expect(existsSync(hookFile())).toBe(false);
  await screenshot(bench.page, 'g3-change');
  await modal.click('Install the Hook');
  await waitUntil('the hook', () => existsSync(hookFile()));
});

it('are governed then, by the settings of this window', async () => {
  const refusal = await terminalUntil('a refusal', 'after', (answer) => answer.includes('cli.cjs run --'));
  const [own = '', name = ''] = /\S+ \S+cli\.cjs run -- 'touch (\S+)'/.exec(refusal) ?? [];
  expect(own, refusal).not.toBe('');
  expect(existsSync(inFolder(name))).toBe(false);
  await screenshot(bench.page, 'g4-refused');
  expect(await call(terminal('uname -s'))).toContain('Linux');
  if (canSandbox) {
    await call(terminal(own));
    await waitUntil('what `banksman run` made', () => existsSync(inFolder(name)));
  }
  kinds['shell'] = { ok: true };
  const read = await call(['read_file', { filePath: inFolder('notes.txt'), startLine: 1, endLine: 5 }]);
  expect(read).toContain('what stands in the notes');
  const kept = await call(['read_file', { filePath: path.join(bench.configDir, 'banksman', 'config.json'), startLine: 1, endLine: 5 }]);
  expect(kept).toContain('own state or configuration');
  kinds['reads'] = { ok: true };
});

it('leave the extension’s own tools to the extension, which judges them itself', async () => {
  expect(await call(['banksman_run_command', { command: 'cat notes.txt' }])).not.toContain('outside the sandbox');
});

it('are those of no other extension, whatever it calls its own', async () => {
  const answer = await call(['banksman_open_shell', { command: 'touch lookalike.txt' }]);
  expect(answer).toContain('cli.cjs run --');
  expect(existsSync(inFolder('lookalike.txt'))).toBe(false);
});

it('wait for a person in this window’s list, and the same call runs once', async () => {
  const asked = await call(edit('.vscode/tasks.json'));
  expect(asked).toMatch(/asks a person: request req-/);
  expect(existsSync(inFolder('.vscode/tasks.json'))).toBe(false);
  await openApprovals(bench.page);
  await waitRow(bench.page, 'create_file');
  await screenshot(bench.page, 'g5-asked');
  await pressRowAction(bench.page, 'create_file', 'Review');
  await approveInModal(bench.page, await waitModal(bench.page, 'create_file'));
  await waitUntil('the edit, asked for again', async () => {
    await call(edit('.vscode/tasks.json'));
    return existsSync(inFolder('.vscode/tasks.json'));
  });
  const outside = await call(['create_file', { filePath: path.join(bench.folder, '..', 'outside.txt'), content: 'x' }]);
  expect(outside).toContain('outside the workspace');
  expect(existsSync(inFolder('../outside.txt'))).toBe(false);
  kinds['edits'] = { ok: true };
  rmSync(inFolder('.vscode/tasks.json'));
  expect(await call(edit('.vscode/tasks.json'))).toMatch(/asks a person: request req-/);
});

it('stand in the activity with their agent’s name', async () => {
  await runCommand(bench.page, 'Banksman: Show Activity');
  for (const tool of ['agent_shell', 'agent_read', 'agent_write'])
    await inWebview().locator('.call', { hasText: tool }).first().waitFor({ timeout: 60_000 });
  expect(await inWebview().locator('.call', { hasText: 'agent_shell' }).first().innerText()).toContain(`“${title}”`);
  await screenshot(bench.page, 'g6-activity');
});

it('are refused when the hook’s program is gone', async () => {
  const text = readFileSync(hookFile(), 'utf8');
  writeFileSync(hookFile(), text.replaceAll('cli.cjs', 'gone.cjs'));
  try {
    const answer = await terminalUntil('a refusal', 'broken', (said, isThere) => isThere || said.includes('gone.cjs'));
    expect(answer).toContain('gone.cjs');
    ends.broken = { ok: true };
  } finally {
    writeFileSync(hookFile(), text);
  }
});

it('are free where the folder’s settings switch hooks off, and *Doctor* says so', async () => {
  writeFileSync(inFolder('.vscode/settings.json'), '{"chat.useHooks": false}');
  await runCommand(bench.page, 'Banksman: Doctor');
  await inWebview().locator('.findings', { hasText: 'is switched off by the setting chat.useHooks' }).first().waitFor({ timeout: 60_000 });
  await screenshot(bench.page, 'g7-doctor');
  expect(await terminalUntil('what the terminal made', 'off', (_said, isThere) => isThere)).not.toContain('outside the sandbox');
  ends.switchedOff = { ok: true };
  rmSync(inFolder('.vscode/settings.json'));
});

it('are free again once a person took the hook out', async () => {
  await closeModals(bench.page);
  await choose(title, 'Take the Hook Out');
  await (await waitModal(bench.page, `Stop governing ${title}?`)).click('Take the Hook Out');
  await waitUntil('the hook gone', () => !existsSync(hookFile()));
  expect(await terminalUntil('what the terminal made', 'freed', (_said, isThere) => isThere)).not.toContain('outside the sandbox');
});
