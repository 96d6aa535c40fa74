import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { BrowserContext } from 'playwright-core';
import { demoSettings, startDemoProcess } from '../../../scripts/bench/demo-process.ts';
import { startEditor } from '../../../scripts/bench/editor.ts';
import { installBench } from '../../../scripts/bench/install.mjs';
import { openBrowser } from '../harness/browser.ts';
import { bundleInHost } from './bundle-in-host.ts';
import { type InHostResult, RESULT_PREFIX, SUITE_VARIABLE, type SuiteName } from './in-host-case.ts';

/** Without the smoke-test flag nothing is called at all: the driver must end by itself. */
const DRIVER_TIMEOUT_MS = 120_000;

export interface InHostRun {
  /** By name. */
  readonly results: ReadonlyMap<string, InHostResult>;
  /** The end of the editor's own log, for a suite that told nothing. */
  readonly log: string;
}

/** Runs a suite inside a real extension host, with a demo cluster; everything that it started has ended when it resolves. */
export async function runInHost(suite: SuiteName): Promise<InHostRun> {
  const cleanups: (() => unknown)[] = [];
  try {
    return await run(suite, cleanups);
  } finally {
    for (const cleanup of cleanups.toReversed()) await cleanup();
  }
}

async function run(suite: SuiteName, cleanups: (() => unknown)[]): Promise<InHostRun> {
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
    env: { ...env, [SUITE_VARIABLE]: suite },
    settings: { 'security.workspace.trust.startupPrompt': 'never' },
    machineSettings: { ...demoSettings(demo.config), 'banksman.approvalWait': { editor: 3000 } },
    workspaceTrust: suite === 'untrusted',
    smokeTestDriver: true,
  });
  cleanups.push(() => editor.stop());
  const context = await openBrowser(path.join(root, 'browser'), bench.browser);
  cleanups.push(() => context.close());
  return drive(context, `${editor.url}&payload=${await payload()}`);
}

async function drive(context: BrowserContext, url: string): Promise<InHostRun> {
  const page = context.pages()[0] ?? (await context.newPage());
  const lines: string[] = [];
  const ended = Promise.withResolvers<void>();
  await page.exposeFunction('codeAutomationLog', (_level: string, args: unknown[]) => void lines.push(args.map(String).join(' ')));
  await page.exposeFunction('codeAutomationExit', () => ended.resolve());
  const timer = setTimeout(() => ended.reject(new Error(`the suite did not end in ${DRIVER_TIMEOUT_MS} ms`)), DRIVER_TIMEOUT_MS);
  try {
    await page.goto(url);
    await ended.promise;
  } finally {
    clearTimeout(timer);
  }
  const results = lines.flatMap((line) => resultIn(line) ?? []).map((result) => [result.name, result] as const);
  return { results: new Map(results), log: lines.slice(-20).join('\n') };
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

function resultIn(line: string): InHostResult | undefined {
  const at = line.indexOf(RESULT_PREFIX);
  return at < 0 ? undefined : (JSON.parse(line.slice(at + RESULT_PREFIX.length)) as InHostResult);
}
