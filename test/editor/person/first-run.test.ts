/** A cluster is connected for the first time: the assistant's ways back and out, the demo in one click, and what should be protected is offered at once. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '#kernel/json';
import { answerStep, demoFacts, goBack, startConnecting, waitStep } from '../harness/assistant.ts';
import { sendPrompt } from '../harness/chat.ts';
import { callFromCommandLine } from '../harness/command-line.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { waitModal } from '../harness/modal.ts';
import { waitForNotification } from '../harness/notifications.ts';
import { pickRows, runCommand, typeInto, waitPickRow } from '../harness/palette.ts';
import { screenshot } from '../harness/screenshot.ts';
import { machineSettings, machineSettingsFile } from '../harness/settings-file.ts';
import { toolResults, waitForToolResult } from '../harness/tool-results.ts';
import { waitUntil } from '../harness/wait-until.ts';

let bench: Workbench;
beforeAll(async () => {
  bench = await launchWorkbench({ machineSettings: { 'banksman.clusters': [], 'banksman.protected': { guests: [103] } } });
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(bench.page, `failed-first-run-${task.id}`);
});
afterAll(() => bench?.close());

const settingsFile = () => machineSettingsFile(bench);
const settings = () => machineSettings(bench);

const connect = (clusters: readonly JsonObject[]) =>
  writeFileSync(settingsFile(), JSON.stringify({ ...settings(), 'banksman.clusters': clusters }));
const press = (label: string) => bench.page.locator('.notifications-toasts .monaco-button', { hasText: label }).click();

it('the assistant writes nothing where the person leaves it, and keeps what was typed where they go back', async () => {
  const { hosts, tokenId } = demoFacts(bench);
  const [host = ''] = hosts;
  const before = readFileSync(settingsFile(), 'utf8');
  await (await startConnecting(bench, [host])).click('Do Not Trust');
  expect(await (await waitStep(bench, 'Address of a node')).locator('input').first().inputValue()).toBe(host);
  await bench.page.keyboard.press('Enter');
  await (await waitModal(bench.page, 'Trust this certificate')).click('Trust and Go On');
  await answerStep(bench, 'Id of an API token', tokenId);
  await answerStep(bench, 'Secret of', '00000000-0000-4000-8000-000000000000');
  const refused = await waitStep(bench, 'did not accept the API token');
  expect(await refused.innerText()).toMatch(/What to do: check .?tokenId.? and its secret[\s\S]*pveum user token list/);
  await screenshot(bench.page, 'q1-refused');
  await goBack(bench);
  expect(await (await waitStep(bench, 'Id of an API token')).locator('input').first().inputValue()).toBe(tokenId);
  await goBack(bench);
  await waitStep(bench, 'Address of a node');
  await bench.page.keyboard.press('Escape');
  await bench.page.locator('.statusbar', { hasText: 'nothing was written' }).waitFor({ timeout: 30_000 });
  expect(readFileSync(settingsFile(), 'utf8')).toBe(before);
});

it('says what is wrong with an address, and what to do', async () => {
  await runCommand(bench.page, 'Banksman: Connect a Cluster');
  await answerStep(bench, 'Address of a node', 'no-such-host.invalid');
  expect(await (await waitStep(bench, 'its name cannot be resolved')).innerText()).toContain('write the node’s IP address');
  // What is wrong stands where the question stood.
  await typeInto(bench.page, 'ftp://pve', 'its name cannot be resolved');
  await bench.page.keyboard.press('Enter');
  await waitStep(bench, 'That will not do');
  await screenshot(bench.page, 'q2-address');
  await bench.page.keyboard.press('Escape');
});

it('starts the demo cluster in one click, and writes nothing for it', async () => {
  const before = readFileSync(settingsFile(), 'utf8');
  const count = toolResults(bench.model).length + 1;
  await runCommand(bench.page, 'Banksman: Start Demo');
  await bench.page.locator('.part.sidebar .monaco-list-row', { hasText: '3 of 3 nodes online' }).waitFor({ timeout: 60_000 });
  await sendPrompt(bench.page, 'list vms');
  expect(await waitForToolResult(bench.model, count)).toContain('"status":"ok"');
  await screenshot(bench.page, 'q3-demo');
  expect(readFileSync(settingsFile(), 'utf8')).toBe(before);
});

it('remembers who does not want it: of that cluster it is not offered again, of the next one it is', async () => {
  const [demo = {}] = bench.demo.config.clusters as JsonObject[];
  connect([demo]);
  await waitForNotification(bench.page, /on demo guest 200 \(dns\) looks as if agents should not touch it/);
  await press('Do Not Protect');
  await waitUntil('the answer', async () => (await bench.page.locator('.notifications-toasts .monaco-button').count()) === 0);
  connect([demo, { ...demo, name: 'again' }]);
  // Not of both.
  await waitForNotification(bench.page, /Banksman: on again guest 200 \(dns\)/);
  expect(settings()['banksman.protected']).toEqual({ guests: [103] });
});

it('shows why, and writes what was chosen beside what was protected', async () => {
  const offer = await waitForNotification(bench.page, /guest 200 \(dns\) looks as if agents should not touch it/);
  expect(offer).toContain('Do Not Protect');
  await screenshot(bench.page, 'q8-offer');
  await press('Choose What to Protect');
  await waitPickRow(bench.page, 'guest 200 (dns)');
  expect((await pickRows(bench.page)).join()).toContain('is named as one that others depend on');
  await screenshot(bench.page, 'q9-choose');
  await bench.page.locator('.quick-input-widget:visible .monaco-button', { hasText: 'OK' }).click();
  await waitUntil('the setting', () => JSON.stringify(settings()['banksman.protected']).includes('200'));
  expect(settings()['banksman.protected']).toMatchObject({ guests: [103, { vmid: 200, reason: 'is named as one that others depend on' }] });
  const config = { ...bench.demo.config, protected: settings()['banksman.protected'] };
  const refused = await callFromCommandLine({ ...bench, demo: { ...bench.demo, config } }, 'stop_container', { vmid: 200 });
  expect(refused).toMatchObject({ status: 'denied', message: expect.stringContaining('is named as one that others depend on') });
});
