import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installBench } from '../../../scripts/bench/install.mjs';
import { cacheFolder, ROOT } from '../../../scripts/lib/cache-folder.mjs';
import { cleanEnv } from '../../../scripts/lib/clean-env.mjs';
import { openBrowser } from '../harness/browser.ts';
import { allNotifications, collectToasts } from '../harness/notifications.ts';
import { screenshot } from '../harness/screenshot.ts';
import { waitUntil } from '../harness/wait-until.ts';
import { openBanksmanWalkthrough } from '../harness/walkthrough.ts';

const STOP_MS = 20_000;

/** A cache of its own, so that a demo that somebody runs is left alone; the installed editor is shared. */
let cache: string;
let started: ChildProcess | undefined;
let output = '';

beforeEach(() => {
  cache = mkdtempSync(path.join(os.tmpdir(), 'banksman-start-'));
  symlinkSync(path.join(cacheFolder(), 'editor'), path.join(cache, 'editor'));
});

afterEach(async () => {
  started?.kill('SIGTERM');
  await waitUntil('everything to end', nothingRuns, STOP_MS);
  rmSync(cache, { recursive: true, force: true, maxRetries: 5 });
});

function npmStart(env: Record<string, string> = {}): ChildProcess {
  output = '';
  // No display: the editor of the bench, also where a person has desktop VS Code.
  const scrubbed = cleanEnv({ BANKSMAN_CACHE: cache, DISPLAY: undefined, WAYLAND_DISPLAY: undefined, BANKSMAN_PORT: undefined, ...env });
  const child = spawn('npm', ['start', '--silent'], { cwd: ROOT, env: scrubbed, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  started = child;
  return child;
}

/** With the command line that `npm start` names. */
async function callOnDemo(): Promise<{ readonly status: string; readonly request_id?: string }> {
  const words = ['call', 'stop_vm', '--input', '{"vmid":100}', '--json'];
  const env = cleanEnv({ XDG_CONFIG_HOME: path.join(cache, 'start', 'config'), XDG_STATE_HOME: path.join(cache, 'start', 'state') });
  // Pending has an exit status of its own.
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(ROOT, 'dist', 'cli.cjs'), ...words], { env }).catch(
    (failed: { stdout: string }) => failed,
  );
  return JSON.parse(stdout) as { readonly status: string; readonly request_id?: string };
}

function exitCode(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code));
  });
}

function lastLine(): string {
  return output.trimEnd().split('\n').at(-1) ?? '';
}

async function readyUrl(): Promise<string> {
  const found = await waitUntil('the line `Ready: …`', () => /^Ready: (?<url>http:.*)$/.exec(lastLine())?.groups?.url, 120_000).catch(
    (error: unknown) => {
      throw new Error(`npm start printed:\n${output}`, { cause: error });
    },
  );
  return found;
}

/** The cache's path is among the arguments of all that `npm start` starts, but npm, its shell and the demo cluster. */
function nothingRuns(): boolean {
  const lines = globSync('/proc/[0-9]*/cmdline').map((file) => {
    try {
      return readFileSync(file, 'utf8');
    } catch {
      return '';
    }
  });
  return !lines.some((line) => line.includes(cache));
}

describe('npm start', () => {
  it('opens an editor on the demo cluster, says where last, and stops everything on SIGTERM', async () => {
    const child = npmStart();
    const url = await readyUrl();
    expect((await fetch(url)).status).toBe(200);
    const page = /^Approve with a passkey: (http:\/\/localhost:\d+)\/ /m.exec(output)?.[1] ?? '';
    expect(await (await fetch(`${page}/`)).text()).toContain('<title>Banksman</title>');
    const config = JSON.parse(readFileSync(path.join(cache, 'start', 'config', 'banksman', 'config.json'), 'utf8'));
    const settings = JSON.parse(readFileSync(path.join(cache, 'start', 'editor', 'data', 'Machine', 'settings.json'), 'utf8'));
    expect(settings['banksman.clusters']).toEqual(config.clusters);
    expect(config.page).toEqual({ origin: page, demo: true });
    const demoToken = config.clusters[0].tokenFile;
    const ended = exitCode(child);
    child.kill('SIGTERM');
    await ended;
    await waitUntil('everything to end', nothingRuns, STOP_MS);
    for (const gone of [url, page]) await expect(fetch(gone)).rejects.toThrow('fetch failed');
    await waitUntil('the demo cluster to end and to take its files along', () => !existsSync(demoToken), STOP_MS);
  });

  it('prints a link that makes a passkey in a browser without any; with it a call is approved and runs', async () => {
    npmStart();
    await readyUrl();
    const link = /^ {2}first open this once: (http:\/\/localhost:\d+\/enrol#\S+)$/m.exec(output)?.[1] ?? '';
    const { browser } = await installBench({ browser: true });
    if (!browser) throw new Error('there is no browser');
    const context = await openBrowser(path.join(cache, 'browser'), browser);
    try {
      const page = context.pages()[0] ?? (await context.newPage());
      await page.goto(link);
      await page.getByRole('button', { name: 'Use a demo passkey' }).click();
      await page.getByRole('button', { name: 'Make it' }).click();
      await page.getByRole('heading', { name: 'This browser' }).waitFor({ timeout: 60_000 });
      const asked = await callOnDemo();
      expect(asked.status).toBe('pending');
      await page.goto(`${new URL(link).origin}/r/${asked.request_id}`);
      await page.locator('article').waitFor();
      // A card counts as read after a moment only.
      await page.waitForTimeout(1_000);
      await page.getByRole('button', { name: 'Approve once' }).click();
      await page.getByRole('button', { name: 'Use it' }).click();
      await page.locator('#result', { hasText: 'Approved once' }).waitFor();
      expect((await callOnDemo()).status).toBe('ok');
    } finally {
      await context.close();
    }
  });

  it('shows a newcomer no foreign notification, and its walkthrough at the first try', async () => {
    // The usual place of the cache is inside a clone: the editor's Git extension finds that repository above the demo's folder.
    execFileSync('git', ['init', '--quiet', cache]);
    npmStart();
    const url = await readyUrl();
    const { browser } = await installBench({ browser: true });
    if (!browser) throw new Error('there is no browser');
    const context = await openBrowser(path.join(cache, 'browser'), browser);
    try {
      const page = context.pages()[0] ?? (await context.newPage());
      const toasts = collectToasts(page);
      await page.goto(url);
      // A fresh browser profile on a busy machine; every other suite waits for it like this.
      await page.locator('.monaco-workbench .activitybar').waitFor({ timeout: 60_000 });
      await openBanksmanWalkthrough(page).catch(async (error: unknown) => {
        await screenshot(page, 'failed-npm-start');
        throw error;
      });
      // Git looks for repositories, and says what it found, some seconds after everything else is there.
      await page.waitForTimeout(15_000);
      await screenshot(page, 's1-npm-start');
      expect([...new Set([...(await toasts.stop()), ...(await allNotifications(page))])]).toEqual([]);
    } finally {
      await context.close();
    }
  });

  it('stops everything when npm is killed and cannot say so', async () => {
    const child = npmStart();
    const url = await readyUrl();
    child.kill('SIGKILL');
    await waitUntil('everything to end', nothingRuns, STOP_MS);
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });

  it('takes the port that it is told, and says so when it is taken', async () => {
    const blocker = net.createServer();
    const port = await new Promise<number>((resolve) => {
      blocker.listen(0, '127.0.0.1', () => resolve((blocker.address() as net.AddressInfo).port));
    });
    const ended = exitCode(npmStart({ BANKSMAN_PORT: String(port) }));
    expect(await ended).toBe(1);
    expect(output).toContain(`port ${port} on 127.0.0.1 is taken`);
    await new Promise((resolve) => blocker.close(resolve));
    npmStart({ BANKSMAN_PORT: String(port) });
    expect(new URL(await readyUrl()).port).toBe(String(port));
  });

  it.each(['0', '65536', 'eighty', '-1'])('refuses BANKSMAN_PORT=%s', async (port) => {
    expect(await exitCode(npmStart({ BANKSMAN_PORT: port }))).toBe(1);
    expect(output).toContain('BANKSMAN_PORT must be a port from 1 to 65535');
  });
});
