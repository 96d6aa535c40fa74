import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { demoSettings, startDemoProcess } from '../../../scripts/bench/demo-process.ts';
import { startEditor } from '../../../scripts/bench/editor.ts';
import { installBench } from '../../../scripts/bench/install.mjs';
import { openBrowser } from '../harness/browser.ts';
import { bundleInHost } from './bundle-in-host.ts';
import { cases } from './cases.ts';
import { type InHostResult, RESULT_PREFIX } from './in-host-case.ts';

/** Without the smoke-test flag nothing is called at all: the driver must end by itself. */
const DRIVER_TIMEOUT_MS = 120_000;

const cleanups: (() => unknown)[] = [];
const results = new Map<string, InHostResult>();
let log: string[] = [];

beforeAll(async () => {
  log = await runInHost();
});

afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup();
});

/** Runs the suite in a real extension host; resolves with the editor's log when the suite has ended. */
async function runInHost(): Promise<string[]> {
  const root = mkdtempSync(path.join(os.tmpdir(), 'banksman-in-host-'));
  cleanups.push(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const bench = await installBench({ browser: true });
  if (!bench.editor || !bench.browser) throw new Error(bench.skipped.join('; '));
  const folder = path.join(root, 'workspace');
  mkdirSync(folder);
  const env = { XDG_STATE_HOME: path.join(root, 'state'), XDG_CONFIG_HOME: path.join(root, 'config') };
  const demo = await startDemoProcess(env);
  cleanups.push(() => demo.stop());
  const editor = await startEditor({
    paths: bench.editor,
    profileDir: path.join(root, 'profile'),
    folder,
    env,
    machineSettings: { ...demoSettings(demo.config), 'banksman.approvalWait': { editor: 3000 } },
    smokeTestDriver: true,
  });
  cleanups.push(() => editor.stop());
  const context = await openBrowser(path.join(root, 'browser'), bench.browser);
  cleanups.push(() => context.close());
  const page = context.pages()[0] ?? (await context.newPage());
  const lines: string[] = [];
  const ended = Promise.withResolvers<void>();
  await page.exposeFunction('codeAutomationLog', (_level: string, args: unknown[]) => {
    const line = args.map(String).join(' ');
    lines.push(line);
    keepResult(line);
  });
  await page.exposeFunction('codeAutomationExit', () => ended.resolve());
  const timer = setTimeout(() => ended.reject(new Error(`the suite did not end in ${DRIVER_TIMEOUT_MS} ms`)), DRIVER_TIMEOUT_MS);
  try {
    await page.goto(`${editor.url}&payload=${await payload()}`);
    await ended.promise;
  } finally {
    clearTimeout(timer);
  }
  return lines;
}

/** `remote` is literal, whatever the host and the port. */
async function payload(): Promise<string> {
  const { extensionPath, testsPath } = await bundleInHost();
  const pairs = [
    ['extensionDevelopmentPath', `vscode-remote://remote${extensionPath}`],
    ['extensionTestsPath', `vscode-remote://remote${testsPath}`],
  ];
  return encodeURIComponent(JSON.stringify(pairs));
}

function keepResult(line: string): void {
  const at = line.indexOf(RESULT_PREFIX);
  if (at < 0) return;
  const result = JSON.parse(line.slice(at + RESULT_PREFIX.length)) as InHostResult;
  results.set(result.name, result);
}

describe('in the extension host', () => {
  it.each(cases)('$name', ({ name }) => {
    const result = results.get(name);
    const end = log.slice(-20).join('\n');
    expect(result, `the suite told nothing of this case; the end of the editor's log:\n${end}`).toBeDefined();
    expect(result?.error ?? 'passed').toBe('passed');
  });
});
