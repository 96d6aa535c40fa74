/** A cluster is connected for the first time: what looks as if agents should not touch it is offered, with the reasons, and protected at once. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import type { JsonObject } from '#kernel/json';
import { callFromCommandLine } from '../harness/command-line.ts';
import { launchWorkbench, type Workbench } from '../harness/launch-workbench.ts';
import { waitForNotification } from '../harness/notifications.ts';
import { pickRows, waitPickRow } from '../harness/palette.ts';
import { screenshot } from '../harness/screenshot.ts';
import { waitUntil } from '../harness/wait-until.ts';

let bench: Workbench;
beforeAll(async () => {
  bench = await launchWorkbench({ machineSettings: { 'banksman.clusters': [], 'banksman.protected': { guests: [103] } } });
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await screenshot(bench.page, `failed-first-run-${task.id}`);
});
afterAll(() => bench?.close());

const settingsFile = () => path.join(path.dirname(bench.editor.logDir), 'Machine', 'settings.json');
const settings = () => JSON.parse(readFileSync(settingsFile(), 'utf8')) as JsonObject;

const connect = (clusters: readonly JsonObject[]) =>
  writeFileSync(settingsFile(), JSON.stringify({ ...settings(), 'banksman.clusters': clusters }));
const press = (label: string) => bench.page.locator('.notifications-toasts .monaco-button', { hasText: label }).click();

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
