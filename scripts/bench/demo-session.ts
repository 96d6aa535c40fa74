// The second half of `npm start`, on Node 24: the demo cluster, the scripted model and an editor with the
// extension, each in a profile of its own, until stdin ends or a signal comes.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { cacheFolder, ROOT } from '../lib/cache-folder.mjs';
import { say } from '../lib/run-command.mjs';
import { type DemoConfig, demoSettings, startDemoProcess, startPageProcess } from './demo-process.ts';
import { startDesktopEditor } from './desktop-editor.ts';
import { type EditorPaths, startEditor } from './editor.ts';
import { packExtension } from './pack-extension.ts';
import { prepareSampleWorkspace } from './sample-workspace.ts';
import { startScriptedModel } from './scripted-model.ts';

interface SessionOptions {
  /** Exactly one of the two: the desktop's `code` command, or the editor that runs in a browser. */
  readonly desktop?: string;
  readonly server?: EditorPaths;
  /** 0: the one of last time, or any free one. */
  readonly port: number;
  readonly vsix: string;
}

interface Folders {
  readonly profile: string;
  readonly workspace: string;
  readonly state: string;
  readonly config: string;
}

type Cleanup = () => Promise<unknown>;

const MODEL_NAME = 'Scripted demo';
const DRIVER = path.join(import.meta.dirname, 'driver-extension');

const stopped = stopSignal();
const cleanups: Cleanup[] = [];
try {
  process.exitCode = await run(JSON.parse(process.argv[2] ?? '{}') as SessionOptions);
} catch (error) {
  process.stderr.write(`npm start: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  for (const cleanup of cleanups.toReversed()) await cleanup();
}
process.exit();

async function run(options: SessionOptions): Promise<number> {
  const folders = createFolders(options.desktop ? 'desktop' : 'editor');
  const env = { XDG_STATE_HOME: folders.state, XDG_CONFIG_HOME: folders.config };
  const model = await startScriptedModel();
  cleanups.push(() => model.close());
  const demo = await startDemoProcess(env);
  cleanups.push(() => demo.stop());
  const pagePort = (await portOfLastTime(folders.state)) || (await freePort());
  writeCliConfig(folders, { ...demo.config, page: { origin: `http://localhost:${pagePort}`, demo: true } });
  const page = await startPageProcess(env);
  writeFileSync(portFile(folders.state), String(pagePort));
  cleanups.push(() => page.stop());
  const opened = await openEditor({ options, folders, env, config: demo.config, modelUrl: model.url });
  sayHow(folders, page);
  say(`Ready: ${opened.address}`);
  const ended = await Promise.race([
    stopped.then(() => undefined),
    page.exited.then((code) => `the approval page ended with code ${code}:\n${page.output()}`),
    demo.exited.then((code) => `the demo cluster ended with code ${code}:\n${demo.output()}`),
    opened.exited.then((code) => (options.desktop ? undefined : `the editor ended with code ${code}`)),
  ]);
  if (ended === undefined) return 0;
  process.stderr.write(`npm start: ${ended}\n`);
  return 1;
}

interface Opening {
  readonly options: SessionOptions;
  readonly folders: Folders;
  readonly env: Readonly<Record<string, string>>;
  readonly config: DemoConfig;
  readonly modelUrl: string;
}

async function openEditor(opening: Opening): Promise<{ address: string; exited: Promise<number | null> }> {
  const { options, folders, env, config } = opening;
  // The cache is usually inside a clone: its repository is none of the demo's business, and the first thing seen would be a question about it.
  const settings = { 'workbench.startupEditor': 'readme', 'git.openRepositoryInParentFolders': 'never' };
  const chatModel = { url: opening.modelUrl, name: MODEL_NAME };
  const extensions = [options.vsix, await packExtension(DRIVER)];
  const common = { profileDir: folders.profile, folder: folders.workspace, extensions, chatModel, env };
  if (options.desktop) {
    const editor = await startDesktopEditor({ ...common, command: options.desktop, settings: { ...settings, ...demoSettings(config) } });
    cleanups.push(() => editor.stop());
    return { address: 'code', exited: editor.exited };
  }
  if (!options.server) throw new Error('no editor was chosen');
  const port = options.port || (await portOfLastTime(folders.profile));
  const editor = await startEditor({ ...common, paths: options.server, port, settings, machineSettings: demoSettings(config) });
  cleanups.push(() => editor.stop());
  writeFileSync(portFile(folders.profile), String(editor.port));
  return { address: editor.url, exited: editor.exited };
}

/** Two profiles: the desktop's format is newer or older than the bench's. */
function createFolders(kind: string): Folders {
  const root = path.join(cacheFolder(), 'start');
  const folders = {
    profile: path.join(root, kind),
    workspace: path.join(root, 'workspace'),
    state: path.join(root, 'state'),
    config: path.join(root, 'config'),
  };
  for (const folder of Object.values(folders)) mkdirSync(folder, { recursive: true });
  prepareSampleWorkspace(folders.workspace);
  return folders;
}

/**
 * So that the command line meets the editor. The cluster is another one at each start: what was agreed to about the last one would keep its address, so who
 * approves is agreed to anew at the first approval.
 */
function writeCliConfig(folders: Folders, config: DemoConfig): void {
  const file = path.join(folders.config, 'banksman', 'config.json');
  mkdirSync(path.dirname(file), { recursive: true });
  rmSync(path.join(path.dirname(file), 'agreed.json'), { force: true });
  writeFileSync(file, `${JSON.stringify(config, undefined, 2)}\n`, { mode: 0o600 });
}

function portFile(folder: string): string {
  return path.join(folder, 'port');
}

/** The browser keeps the editor's secrets and layout, and the page's own key, by address: the same port finds them again. */
async function portOfLastTime(folder: string): Promise<number> {
  const file = portFile(folder);
  const port = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
  if (!Number.isInteger(port) || port < 1024 || port > 65_535) return 0;
  return (await isFree(port)) ? port : 0;
}

async function isFree(port: number): Promise<boolean> {
  return (await boundPort(port)) === port;
}

async function freePort(): Promise<number> {
  return (await boundPort(0)) ?? 0;
}

/** What a server that asks for `port` gets now; undefined: nothing. */
function boundPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const probe = net.createServer();
    probe.once('error', () => resolve(undefined));
    probe.listen(port, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : undefined));
    });
  });
}

function sayHow(folders: Folders, { url, enrol = url }: { readonly url: string; readonly enrol?: string }): void {
  const banksman = `XDG_CONFIG_HOME=${folders.config} XDG_STATE_HOME=${folders.state} node ${path.join(ROOT, 'dist', 'cli.cjs')}`;
  const { port } = new URL(url);
  say(`Command line on the same cluster: ${banksman} tools`);
  say(`Approve with a passkey: ${url} (a port that any user here could take: for this demo only)`);
  say(`  first open this once: ${enrol}`);
  say(
    `  in your own browser, which needs no authenticator: it offers a demo passkey, too. From another machine: ssh -L ${port}:localhost:${port}`,
  );
  say('In the chat, try: "cluster status", "list vms", "stop vm 100". Ctrl-C stops everything.');
}

/** Ends of stdin count as a stop: scripts/start.mjs holds the other end, also when it is killed. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
    process.stdin.on('end', () => resolve()).on('error', () => resolve());
    process.stdin.resume();
  });
}
