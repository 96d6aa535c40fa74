/** `npm run pictures`: the pictures of README.md, taken anew in a real editor with the demo cluster, so that they show what is there today. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { ROOT } from '../../scripts/lib/cache-folder.mjs';
import { buildAndPackage } from '../../scripts/lib/package-extension.mjs';
import { type Device, openPageWorld, type PageWorld, settle } from '../integration/page/page-world.ts';
import { animatePng, type Frame } from './harness/animated-png.ts';
import { openApprovals, openHistory, pressRowAction, waitRow } from './harness/approvals-view.ts';
import { connectDemo } from './harness/assistant.ts';
import { sendPrompt, typePrompt } from './harness/chat.ts';
import { callFromCommandLine } from './harness/command-line.ts';
import { waitDetails } from './harness/details-page.ts';
import { launchWorkbench, type Workbench, type WorkbenchOptions } from './harness/launch-workbench.ts';
import { approveInModal, waitModal } from './harness/modal.ts';
import { runCommand } from './harness/palette.ts';
import { waitForToolResult } from './harness/tool-results.ts';
import { waitWalkthrough } from './harness/walkthrough.ts';

/** A README has to load. */
const mostStoryBytes = 1_500_000;

const fault = await buildAndPackage();
if (fault !== undefined) throw new Error(fault);
const [only] = process.argv.slice(2);
if (only === undefined || only === 'editor') await withBench({}, takeAll);
if (only === undefined || only === 'walkthrough') await withBench({ machineSettings: { 'banksman.clusters': [] } }, takeFirstRun);
if (only === undefined || only === 'story') await withBench({}, takeStory);
if (only === undefined || only === 'page') await takeApprovalPage();
if (only === undefined || only === 'plan') await takePlan();

async function withBench(options: WorkbenchOptions, use: (bench: Workbench) => Promise<void>): Promise<void> {
  const bench = await launchWorkbench(options);
  try {
    await use(bench);
  } finally {
    await bench.close();
  }
}

/** The walkthrough's: of the assistant and of the page that it ends on. */
async function takeFirstRun(bench: Workbench): Promise<void> {
  const { page } = bench;
  const shot = async (name: string, of: Locator) => {
    await of.screenshot({ path: path.join(ROOT, 'media', 'walkthrough', `${name}.png`) });
    process.stdout.write(`media/walkthrough/${name}.png\n`);
  };
  await waitWalkthrough(page);
  await connectDemo(bench, async (step) => {
    if (step === 'certificates') await shot(step, page.locator('.monaco-dialog-box'));
  });
  const frame = page.locator('iframe.webview.ready:visible').last();
  await frame.contentFrame().locator('iframe#active-frame').contentFrame().locator('.banner.good').waitFor({ timeout: 180_000 });
  await shot('doctor', frame);
}

async function takeAll(bench: Workbench): Promise<void> {
  const { page, model } = bench;
  await sendPrompt(page, 'stop vm 100 on pve');
  const modal = await waitModal(page, 'Stop VM 100');
  await take(page, 'gate');
  await approveInModal(page, modal);
  await waitForToolResult(model, 1);
  await callFromCommandLine(bench, 'start_vm', { vmid: 101, reason: 'the nightly job needs it' });
  await callFromCommandLine(bench, 'stop_container', { vmid: 200 });
  await openApprovals(page);
  await openHistory(page);
  await waitRow(page, '101');
  await waitRow(page, 'approved by');
  await pressRowAction(page, '200', 'Show Details');
  const details = await waitDetails(page, '200');
  await details.getByText('Last backup').waitFor({ timeout: 30_000 });
  await page.locator('.notifications-toasts .notification-list-item').waitFor({ state: 'detached', timeout: 180_000 });
  await take(page, 'tree');
}

/** The main job as it goes by: an agent asks to restart a container, a person reads the card and approves, the activity shows what was done. */
async function takeStory(bench: Workbench): Promise<void> {
  const { page, model } = bench;
  await page.setViewportSize({ width: 1200, height: 760 });
  const frames: Frame[] = [];
  const shot = async (ms: number) => void frames.push({ png: await page.screenshot(), ms });
  await openApprovals(page);
  await page.locator('.part.sidebar .monaco-list-row', { hasText: '201 proxy' }).first().waitFor({ timeout: 180_000 });
  await page.locator('.notifications-toasts .notification-list-item').waitFor({ state: 'detached', timeout: 180_000 });
  await shot(1_500);
  await typePrompt(page, 'restart container 201 on pve');
  await shot(1_500);
  await page.keyboard.press('Enter');
  const modal = await waitModal(page, '201');
  await shot(4_000);
  await approveInModal(page, modal);
  await waitForToolResult(model, 1);
  await shot(2_500);
  await runCommand(page, 'Banksman: Show Activity');
  const activity = page.locator('iframe.webview.ready:visible').last().contentFrame().locator('iframe#active-frame').contentFrame();
  await activity.locator('button.call', { hasText: 'restart_container' }).first().waitFor({ timeout: 180_000 });
  await shot(4_000);
  const picture = animatePng(frames);
  if (picture.length > mostStoryBytes) throw new Error(`the story has ${picture.length} bytes, more than ${mostStoryBytes}`);
  writeFileSync(path.join(ROOT, 'media', 'screenshots', 'story.png'), picture);
  process.stdout.write('media/screenshots/story.png\n');
}

/** As `npm start` serves it: on a desk, with the demo's passkey in software, and on a phone (Chromium's virtual one), in one picture. */
async function takeApprovalPage(): Promise<void> {
  const world = await openPageWorld({}, undefined, undefined, true);
  try {
    const id = await world.ask(
      'stop_vm',
      { vmid: 100, reason: 'the nightly backup hangs, and a restart from inside did not help' },
      'night-shift',
    );
    const desk = await world.device({ width: 880, height: 1260 });
    await enrolInSoftware(world, desk);
    await desk.open(`/r/${id}`);
    await settle(desk.tab);
    await desk.tab.getByRole('button', { name: 'Approve once' }).click();
    await desk.tab.getByRole('dialog', { name: 'Use the demo passkey?' }).waitFor();
    const phone = await world.enrolled('alice-phone', { width: 390, scheme: 'dark' });
    await phone.open(`/r/${id}`);
    const shots = [];
    for (const device of [desk, phone]) shots.push((await device.tab.screenshot({ fullPage: true })).toString('base64'));
    const { tab } = await world.device();
    await tab.setViewportSize({ width: 1360, height: 1048 });
    const images = shots.map((shot) => `<img src="data:image/png;base64,${shot}" style="height: 1000px; border-radius: 12px">`);
    await tab.setContent(
      `<body style="margin: 0; padding: 24px; display: flex; gap: 24px; justify-content: center; background: #8793a1">${images.join('')}</body>`,
    );
    await tab.locator('body').screenshot({ path: path.join(ROOT, 'media', 'screenshots', 'page.png') });
    process.stdout.write('media/screenshots/page.png\n');
  } finally {
    await world.close();
  }
}

/** The card of a plan, on a desk's page. */
async function takePlan(): Promise<void> {
  const world = await openPageWorld({}, undefined, undefined, true);
  try {
    const steps = [
      { tool: 'create_snapshot', arguments: { vmid: 100, name: 'before_update' } },
      { tool: 'backup_guest', arguments: { vmid: 100, storage: 'nas' } },
      { tool: 'set_guest_config', arguments: { vmid: 100, memory: 4096 } },
      { tool: 'restart_vm', arguments: { vmid: 100 }, wait_seconds: 10 },
    ];
    const reason = 'more memory for the web server, with a way back';
    const id = await world.ask('propose_plan', { steps, reason }, 'night-shift');
    const desk = await world.enrolled('alice-desk', { width: 880, height: 1260 });
    await desk.open(`/r/${id}`);
    await settle(desk.tab);
    await desk.tab.screenshot({ path: path.join(ROOT, 'media', 'screenshots', 'plan.png'), fullPage: true });
    process.stdout.write('media/screenshots/plan.png\n');
  } finally {
    await world.close();
  }
}

async function enrolInSoftware(world: PageWorld, { tab }: Device): Promise<void> {
  const invitation = await world.invite('alice-desk', 'same-account');
  await tab.goto(invitation.url);
  await tab.getByRole('button', { name: 'Use a demo passkey' }).click();
  await tab.getByRole('button', { name: 'Make it' }).click();
  await invitation.confirm();
  await tab.getByRole('heading', { name: 'This browser' }).waitFor();
}

async function take(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: path.join(ROOT, 'media', 'screenshots', `${name}.png`) });
  process.stdout.write(`media/screenshots/${name}.png\n`);
}
