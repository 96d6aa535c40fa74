/**
 * `npm run bench:editor [-- 5000 10000 3]`: what the packaged extension costs in the real editor. Memory: the process of a window's extension host with it, less the
 * same with no Banksman, while the view shows a cluster of so many guests and the list so many requests. Start: what the editor's own page *Startup
 * Performance* says of its activation. The median of so many windows; exit 1 when a goal is missed. Linux.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { startDemoCluster } from '#demo/index';
import { demoSettings } from '../../scripts/bench/demo-process.ts';
import { startEditor } from '../../scripts/bench/editor.ts';
import { installBench } from '../../scripts/bench/install.mjs';
import { buildAndPackage, VSIX } from '../../scripts/lib/package-extension.mjs';
import { openApprovals } from '../editor/harness/approvals-view.ts';
import { openBrowser } from '../editor/harness/browser.ts';
import { runCommand } from '../editor/harness/palette.ts';
import { seedRequests } from '../editor/harness/seed-requests.ts';
import { figure, quantiles, residentMb } from './measure.ts';

const [guests = 5_000, requests = 10_000, windows = 3] = process.argv.slice(2).map(Number);
const goalMb = 80;
const goalMs = 50;
const settleMs = 15_000;
const waitMs = 180_000;

interface Window {
  readonly mb: number;
  /** The editor's columns: load, call and finish, in ms. */
  readonly activation?: readonly number[];
}

type Demo = Awaited<ReturnType<typeof startDemoCluster>>;

async function main(root: string): Promise<void> {
  const fault = await buildAndPackage();
  if (fault !== undefined) throw new Error(fault);
  const demo = await startDemoCluster();
  try {
    const { guests: all } = demo.cluster.state;
    const [pattern] = [...all.values()];
    if (pattern === undefined) throw new Error('the demo has no guest');
    for (let vmid = 10_000; all.size < guests; vmid += 1) all.set(vmid, { ...structuredClone(pattern), vmid });
    await seedRequests(path.join(root, 'state'), requests);
    const measured: { readonly bare: Window; readonly own: Window }[] = [];
    for (let index = 0; index < windows; index += 1)
      measured.push({
        bare: await windowOf(path.join(root, `bare${index}`), root, demo, []),
        own: await windowOf(path.join(root, `own${index}`), root, demo, [VSIX]),
      });
    judge(measured);
  } finally {
    await demo.close();
  }
}

function judge(measured: readonly { readonly bare: Window; readonly own: Window }[]): void {
  for (const { bare, own } of measured)
    console.log(`without ${figure(bare.mb)} MB, with ${figure(own.mb)} MB; load, call, finish: ${own.activation?.join(', ')} ms`);
  const { p50: over } = quantiles(measured.map(({ bare, own }) => own.mb - bare.mb));
  const { p50: took } = quantiles(measured.map(({ own }) => own.activation?.reduce((sum, ms) => sum + ms, 0) ?? Number.NaN));
  const say = (isMet: boolean) => (isMet ? 'met' : 'MISSED');
  console.log(
    `extension host: ${figure(over)} MB over without (${guests} guests, ${requests} requests)  goal ${goalMb} MB: ${say(over <= goalMb)}`,
  );
  console.log(`activation: ${figure(took)} ms  goal ${goalMs} ms: ${say(took <= goalMs)}`);
  process.exitCode = over <= goalMb && took <= goalMs ? 0 : 1;
}

/** A window of an editor of its own, in a fresh profile. */
async function windowOf(folder: string, root: string, demo: Demo, extensions: readonly string[]): Promise<Window> {
  const { editor: paths, browser: executable } = await installBench({ browser: true });
  if (paths === undefined || executable === undefined) throw new Error('the editor bench is not complete');
  const workspace = path.join(folder, 'workspace');
  mkdirSync(workspace, { recursive: true });
  const editor = await startEditor({
    ...{ paths, extensions, profileDir: path.join(folder, 'profile'), folder: workspace },
    env: { XDG_STATE_HOME: path.join(root, 'state'), XDG_CONFIG_HOME: path.join(root, 'config') },
    machineSettings: demoSettings(demo.config as unknown as Readonly<Record<string, unknown>>),
  });
  try {
    const browser = await openBrowser(path.join(folder, 'browser'), executable);
    try {
      const page = browser.pages()[0] ?? (await browser.newPage());
      await page.setViewportSize({ width: 1360, height: 3000 });
      await page.goto(editor.url);
      await page.locator('.monaco-workbench').waitFor({ timeout: waitMs });
      return await measureWindow(page, extensions.length > 0);
    } finally {
      await browser.close();
    }
  } finally {
    await editor.stop();
  }
}

async function measureWindow(page: Page, isOwn: boolean): Promise<Window> {
  if (isOwn) {
    await openApprovals(page);
    const row = (text: string) => page.locator('.part.sidebar .monaco-list-row', { hasText: text }).first();
    await row('nodes online').waitFor({ timeout: waitMs });
    await row('host').waitFor({ timeout: waitMs });
  }
  await sleep(settleMs);
  const mb = await residentMb(extensionHost());
  if (!isOwn) return { mb };
  return { mb, activation: await activationOf(page) };
}

/** The newest process of an extension host below this one. */
function extensionHost(): number {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const parents = new Map(all.map((pid) => [pid, parentOf(pid)]));
  const isBelow = (pid: number | undefined): boolean => pid !== undefined && pid > 1 && (pid === process.pid || isBelow(parents.get(pid)));
  const hosts = all.filter((pid) => isBelow(pid) && read(`/proc/${pid}/cmdline`).includes('--type=extensionHost'));
  const newest = hosts.sort((a, b) => b - a)[0];
  if (newest === undefined) throw new Error('there is no extension host below this process');
  return newest;
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? Number.NaN);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

async function activationOf(page: Page): Promise<readonly number[]> {
  await runCommand(page, 'Developer: Startup Performance');
  const line = page.locator('.view-line', { hasText: 'banksman.banksman' }).first();
  await line.waitFor({ timeout: waitMs });
  const text = (await line.innerText()).replaceAll('\u00a0', ' ');
  const columns = text.split('|').map((column) => column.trim());
  return columns
    .filter((column) => /^\d+$/.test(column))
    .slice(0, 3)
    .map(Number);
}

const folder = mkdtempSync(path.join(tmpdir(), 'banksman-window-'));
await main(folder).finally(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
