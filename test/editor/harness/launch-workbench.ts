import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { type DemoProcess, demoSettings, startDemoProcess } from '../../../scripts/bench/demo-process.ts';
import { type RunningEditor, startEditor } from '../../../scripts/bench/editor.ts';
import type { ChatModel, Settings } from '../../../scripts/bench/editor-profile.ts';
import { installBench } from '../../../scripts/bench/install.mjs';
import { packExtension } from '../../../scripts/bench/pack-extension.ts';
import type { ModelScript } from '../../../scripts/bench/scripted-agent.ts';
import { type ScriptedModel, startScriptedModel } from '../../../scripts/bench/scripted-model.ts';
import { cacheFolder, ROOT } from '../../../scripts/lib/cache-folder.mjs';
import { openBrowser } from './browser.ts';
import { openChat } from './chat.ts';
import { screenshot } from './screenshot.ts';

/** What the chat's model picker shows. */
export const MODEL_NAME = 'Scripted demo';

const DRIVER = path.join(ROOT, 'scripts', 'bench', 'driver-extension');

export interface WorkbenchOptions {
  /** Default: the demo's phrases. */
  readonly script?: ModelScript;
  /** What the scripted model is called, and others of its server; default: a name that nobody knows. */
  readonly models?: Pick<ChatModel, 'id' | 'others'>;
  /** The user's settings, on top of the quiet ones. */
  readonly settings?: Settings;
  /** Settings `banksman.*` on top of the demo cluster's configuration. */
  readonly machineSettings?: Settings;
  /** That extensions speak; default: English. */
  readonly language?: string;
  /** Folders of further test extensions. */
  readonly extensions?: readonly string[];
  /** As a user of the operating system, with the service that has a socket for them: the cluster is then the service's affair. */
  readonly account?: Account;
  /** As in an editor, where a folder that nobody trusted is not trusted; by default each is. The chat is not waited for then. */
  readonly untrusted?: boolean;
  /** Writes files into the workspace folder before the editor opens it. */
  prepareFolder?(folder: string): void;
}

/** Who runs the editor, and where everything of theirs lies. */
export interface Account {
  readonly user: string;
  /** Theirs. */
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A real editor with the packaged extension, a demo cluster and a scripted model; all of it ends with `close()`. */
export interface Workbench {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly editor: RunningEditor;
  readonly demo: DemoProcess;
  readonly model: ScriptedModel;
  /** The workspace folder. */
  readonly folder: string;
  /** XDG_CONFIG_HOME of the extension: approvers' keys are pinned below it. */
  readonly configDir: string;
  /** XDG_STATE_HOME of the extension: the store is below it. */
  readonly stateDir: string;
  /** Opens another window, of the same folder or of none: an extension host of its own, the same user. */
  openWindow(of?: 'folder' | 'nothing'): Promise<Page>;
  close(): Promise<void>;
}

/** The packaged extension; `npm test` packs it first and says where it is. */
export function packagedExtension(): string {
  return process.env.BANKSMAN_VSIX ?? path.join(cacheFolder(), 'banksman.vsix');
}

/** Starts everything and waits until the chat has its model. */
export async function launchWorkbench(options: WorkbenchOptions = {}): Promise<Workbench> {
  const root = mkdtempSync(path.join(options.account?.home ?? os.tmpdir(), 'banksman-editor-'));
  const cleanups: (() => unknown)[] = [() => rmSync(root, { recursive: true, force: true, maxRetries: 5 })];
  const close = async (): Promise<void> => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  };
  try {
    return { ...(await launch(root, options, cleanups)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function launch(root: string, options: WorkbenchOptions, cleanups: (() => unknown)[]): Promise<Omit<Workbench, 'close'>> {
  const bench = await installBench({ browser: true });
  if (!bench.editor || !bench.browser) throw new Error(`the editor bench is not complete: ${bench.skipped.join('; ')}`);
  const folder = path.join(root, 'workspace');
  mkdirSync(folder);
  options.prepareFolder?.(folder);
  const env = { XDG_STATE_HOME: path.join(root, 'state'), XDG_CONFIG_HOME: path.join(root, 'config') };
  const demo = await startDemoProcess(env);
  cleanups.push(() => demo.stop());
  const { account } = options;
  giveTo(account, root);
  const model = await startScriptedModel(options.script ? { script: options.script } : {});
  cleanups.push(() => model.close());
  const helpers = await Promise.all([DRIVER, ...(options.extensions ?? [])].map(packExtension));
  const editor = await startEditor({
    paths: bench.editor,
    profileDir: path.join(root, 'profile'),
    folder,
    ...ownPlace(account, env),
    extensions: [packagedExtension(), ...helpers],
    settings: { ...(options.untrusted === true ? { 'security.workspace.trust.startupPrompt': 'never' } : {}), ...options.settings },
    workspaceTrust: options.untrusted === true,
    ...(options.language === undefined ? {} : { language: options.language }),
    machineSettings: { ...clusterSettings(options, demo), ...options.machineSettings },
    chatModel: { url: model.url, name: MODEL_NAME, ...options.models },
  });
  cleanups.push(() => editor.stop());
  const context = await openBrowser(path.join(root, 'browser'), bench.browser);
  cleanups.push(() => context.close());
  const openWindow = (of: 'folder' | 'nothing' = 'folder'): Promise<Page> =>
    openEditorWindow(context, of === 'folder' ? editor.url : `http://127.0.0.1:${editor.port}/?ew=true`, options.untrusted !== true);
  return {
    page: await openWindow(),
    context,
    editor,
    demo,
    model,
    folder,
    configDir: env.XDG_CONFIG_HOME,
    stateDir: env.XDG_STATE_HOME,
    openWindow,
  };
}

function giveTo(account: Account | undefined, folder: string): void {
  if (account !== undefined) execFileSync('chown', ['-R', `${account.user}:${account.user}`, folder]);
}

function ownPlace(account: Account | undefined, env: Readonly<Record<string, string>>) {
  return account === undefined ? { env } : { env: { ...env, ...account.env }, user: account.user };
}

/** With a service the cluster is not the editor's affair. */
function clusterSettings({ account }: WorkbenchOptions, demo: DemoProcess): Settings {
  return account === undefined ? demoSettings(demo.config) : {};
}

async function openEditorWindow(context: BrowserContext, url: string, hasChat: boolean): Promise<Page> {
  const blank = context.pages().find((page) => page.url() === 'about:blank');
  const page = blank ?? (await context.newPage());
  await page.goto(url);
  await page.locator('.monaco-workbench').waitFor({ timeout: 60_000 });
  await page.locator('.statusbar-item', { hasText: 'Banksman' }).first().waitFor({ timeout: 150_000 });
  if (!hasChat) return page;
  try {
    await openChat(page, MODEL_NAME);
  } catch (error) {
    await screenshot(page, 'failed-to-open-chat');
    throw error;
  }
  return page;
}
