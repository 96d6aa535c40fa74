import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cleanEnv } from '../lib/clean-env.mjs';
import { runCommand } from '../lib/run-command.mjs';
import { type ChatModel, createProfile, type EditorProfile, type Settings, writeChatModel, writeSettings } from './editor-profile.ts';
import { type Leashed, spawnLeashed } from './leashed.ts';

/** What `installBench()` found: the Node 24 to run it with, and code-server's entry script. */
export interface EditorPaths {
  readonly node: string;
  readonly entry: string;
}

export interface EditorOptions {
  readonly paths: EditorPaths;
  /** HOME, settings, extensions and logs of this editor; kept between runs when it is the same folder. */
  readonly profileDir: string;
  /** The workspace folder that the address opens. */
  readonly folder: string;
  /** 0 (default) takes a free one. */
  readonly port?: number;
  /** Packed extensions to install; one that is already there with the same content is left alone. */
  readonly extensions?: readonly string[];
  readonly settings?: Settings;
  /** Settings of scope `machine`. */
  readonly machineSettings?: Settings;
  readonly chatModel?: ChatModel;
  /** True asks whether the folder is trusted, as an editor does; by default every folder is. */
  readonly workspaceTrust?: boolean;
  /** Of extensions (`de`); the editor's own words stay English. Default: English. */
  readonly language?: string;
  /** Lets a page run a test suite inside the extension host. */
  readonly smokeTestDriver?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** As this user of the operating system; needs root. The profile becomes theirs. */
  readonly user?: string;
}

export interface RunningEditor {
  /** Opens the folder. */
  readonly url: string;
  readonly port: number;
  /** `<run>/exthostN/<extension id>/<Channel>.log` below it hold the output channels. */
  readonly logDir: string;
  readonly profile: EditorProfile;
  readonly exited: Promise<number | null>;
  output(): string;
  stop(): Promise<void>;
}

const READY_MS = 30_000;

/** Starts the editor and resolves when it answers. Rejects with its output when it does not. */
export async function startEditor(options: EditorOptions): Promise<RunningEditor> {
  const profile = createProfile(options.profileDir);
  writeSettings(profile, options.settings ?? {}, options.machineSettings ?? {});
  if (options.chatModel) writeChatModel(profile, options.chatModel);
  const env = editorEnv(options, profile);
  await installExtensions(options, profile, env);
  if (options.language !== undefined) addLanguage(options.language, profile);
  const [command, ...args] = asUser(options, [options.paths.node, ...serverArguments(options, profile)]);
  const server = spawnLeashed(command, args, { env, cwd: profile.root });
  try {
    const port = await waitUntilReady(server);
    return {
      url: `http://127.0.0.1:${port}/?folder=${encodeURIComponent(options.folder)}`,
      port,
      logDir: path.join(profile.data, 'logs'),
      profile,
      exited: server.exited,
      output: () => server.output(),
      stop: async () => void (await server.stop()),
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** As a language pack that is installed, with no word in it. */
function addLanguage(language: string, profile: EditorProfile): void {
  const words = path.join(profile.data, 'no-words.i18n.json');
  writeFileSync(words, '{ "contents": {} }\n');
  const extension = { extensionIdentifier: { id: `banksman-bench.language-pack-${language}` }, version: '0.0.1' };
  const pack = { hash: 'none', label: language, extensions: [extension], translations: { vscode: words } };
  writeFileSync(path.join(profile.data, 'languagepacks.json'), JSON.stringify({ [language]: pack }));
}

/** What root wrote into the profile so far is the user's from then on. */
function asUser({ user, profileDir }: EditorOptions, command: readonly [string, ...string[]]): readonly [string, ...string[]] {
  if (user === undefined) return command;
  execFileSync('chown', ['-R', `${user}:${user}`, profileDir]);
  return ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', ...command];
}

/** code-server is a `#!/usr/bin/env node` script and starts more of them: its own Node goes first on the PATH. */
function editorEnv(options: EditorOptions, profile: EditorProfile): Record<string, string> {
  const inherited = cleanEnv({
    XDG_CONFIG_HOME: undefined,
    XDG_DATA_HOME: undefined,
    XDG_STATE_HOME: undefined,
    XDG_CACHE_HOME: undefined,
  });
  return {
    ...inherited,
    HOME: profile.home,
    PATH: `${path.dirname(options.paths.node)}${path.delimiter}${inherited.PATH ?? ''}`,
    ...options.env,
  };
}

function profileArguments(options: EditorOptions, profile: EditorProfile): string[] {
  const config = path.join(profile.root, 'code-server.yaml');
  writeFileSync(config, 'auth: none\n');
  return [options.paths.entry, '--config', config, '--user-data-dir', profile.data, '--extensions-dir', profile.extensions];
}

function serverArguments(options: EditorOptions, profile: EditorProfile): string[] {
  const address = `127.0.0.1:${options.port ?? 0}`;
  const args = [...profileArguments(options, profile), '--auth', 'none', '--bind-addr', address];
  args.push('--disable-telemetry', '--disable-update-check', '--disable-getting-started-override');
  // After a crashed page its extension host ends, and with it a dialog that nobody can answer any more.
  args.push('--reconnection-grace-time', '5');
  if (!options.workspaceTrust) args.push('--disable-workspace-trust');
  if (options.language !== undefined) args.push('--locale', options.language);
  if (options.smokeTestDriver) args.push('--vscode-option', 'enable-smoke-test-driver');
  return args;
}

async function installExtensions(options: EditorOptions, profile: EditorProfile, env: Record<string, string>): Promise<void> {
  const files = options.extensions ?? [];
  const stamp = path.join(profile.root, 'extensions.stamp');
  const content = files.map((file) => createHash('sha256').update(readFileSync(file)).digest('hex')).join('\n');
  if (files.length === 0 || (existsSync(stamp) && readFileSync(stamp, 'utf8') === content)) return;
  rmSync(stamp, { force: true });
  const installs = files.flatMap((file) => ['--install-extension', file]);
  const [command, ...args] = asUser(options, [options.paths.node, ...profileArguments(options, profile), ...installs, '--force']);
  const result = await runCommand(command, args, { env });
  if (!result.ok) throw new Error(`the editor did not install ${files.join(', ')}:\n${result.output}`);
  writeFileSync(stamp, content);
}

async function waitUntilReady(server: Leashed): Promise<number> {
  const line = await server.waitForLine(/HTTP server listening on /, READY_MS);
  const port = Number(/:(?<port>\d+)\/?\s*$/.exec(line)?.groups?.port);
  const until = Date.now() + READY_MS;
  while (!(await isHealthy(port))) {
    if (Date.now() > until) throw new Error(`the editor on port ${port} did not become ready in ${READY_MS} ms:\n${server.output()}`);
    await sleep(50);
  }
  return port;
}

async function isHealthy(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(2000) });
    return response.status === 200;
  } catch {
    return false;
  }
}
