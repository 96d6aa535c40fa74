/** An App for one command, closed again whatever happens. */
import { dirname, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { type Config, parseConfig } from '#app/config/config';
import { loadConfigFile, parseJson } from '#app/config/config-file';
import { defaultConfigFile, defaultStateDir } from '#app/config/paths';
import { serviceSocket } from '#app/config/service-config';
import { type AppOptions, createApp, type LocalApp } from '#app/create-app';
import { version } from '#app/for-hosts';
import { connectApp } from '#app/remote-app';
import type { App } from '#kernel/app';
import { Fault, toFault } from '#kernel/errors';
import { showPlainly } from '#kernel/text/text';
import type { CommandOptions } from './command-line.ts';
import { Refusal, stderrLog } from './output.ts';
import { withTerminal } from './terminal.ts';

/** What a command says of its App. `config`: instead of what a file or an option names. */
export type OwnOptions = Pick<AppOptions, 'stays' | 'looks' | 'handOver'> &
  Partial<Pick<AppOptions, 'log' | 'config' | 'origin' | 'clusterToken'>>;

/** Of a command that changes nothing. */
export const looking: OwnOptions = { looks: true };

/** @param stays a server: it lasts longer than one call */
export async function withApp<T>(
  options: CommandOptions,
  work: (app: App, signal: AbortSignal) => Promise<T>,
  stays: OwnOptions = {},
): Promise<T> {
  const open = () => openApp(options, stays);
  return during(await (stays.stays === true ? patiently(open) : open()), work);
}

/** Through the service where there is one. A second one beside it may be opened while it runs. */
export async function openApp(options: CommandOptions, own: OwnOptions): Promise<App> {
  const socket = socketOf(options);
  if (socket === undefined) return localApp(options, own);
  const { clusterToken: _token, origin: _origin, ...parts } = await partsOf(options, own);
  return connectApp({ ...parts, socket });
}

/** A server is started by its client, which may come before the service does. Shorter than clients wait for a server's first answer. In ms. */
const startPatienceMs = 20_000;

async function patiently(connect: () => Promise<App>): Promise<App> {
  const deadline = performance.now() + startPatienceMs;
  for (let told = false; ; told = true) {
    try {
      return await connect();
    } catch (thrown) {
      const { code, message } = toFault(thrown);
      if (code !== 'service_unavailable') throw thrown;
      if (performance.now() >= deadline)
        throw new Fault(code, message, {
          next: 'root looks with `banksman service status`; start this again once the service runs',
          cause: thrown,
        });
      if (!told) stderrLog.warn(`${message}; waiting for the service`);
    }
    await setTimeout(250);
  }
}

/** With the store in this process. @throws {Fault} `has_service` where a service holds it */
export async function withLocalApp<T>(options: CommandOptions, work: (app: LocalApp, signal: AbortSignal) => Promise<T>): Promise<T> {
  if (socketOf(options) !== undefined) {
    throw new Fault('has_service', 'the service holds what this needs', { audience: 'user', next: 'the service does it itself' });
  }
  return during(await localApp(options), work);
}

async function localApp(options: CommandOptions, own: OwnOptions = {}): Promise<LocalApp> {
  const parts = await partsOf(options, own);
  const { namedConfigFile: file } = parts;
  const isMachines = file !== undefined && resolve(file) === resolve(defaultConfigFile());
  return createApp({ ...parts, ...(isMachines ? { origin: 'machine', ownStore: options.store !== undefined } : {}) });
}

async function partsOf(options: CommandOptions, own: OwnOptions): Promise<AppOptions> {
  const { config, baseDir, file }: NamedConfig =
    own.config === undefined ? await configOf(options) : { config: own.config, baseDir: dirname(defaultConfigFile()) };
  return {
    baseDir,
    ...(file === undefined ? {} : { namedConfigFile: file }),
    stateDir: stateDirOf(options),
    configFile: defaultConfigFile(),
    log: stderrLog,
    via: 'cli',
    version,
    workspaceBase: resolve(currentDirectory(), options.root ?? ''),
    ...own,
    config,
  };
}

async function during<Opened extends App, T>(app: Opened, work: (app: Opened, signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await untilStopped((signal) => work(app, signal));
  } finally {
    await app.close();
  }
}

function socketOf(options: CommandOptions): string | undefined {
  return namesPlaces(options) ? undefined : serviceSocket();
}

/** Before anybody types a passphrase for nothing. @throws {Refusal} `answered_elsewhere` */
export function requireDecidedHere({ config }: App): void {
  if (config.answersAt !== undefined) throw new Refusal('answered_elsewhere', `this is not decided here: ${config.answersAt}`);
}

/** Whoever names a place of their own means that one, and no service. */
function namesPlaces({ config, state, store }: CommandOptions): boolean {
  return (config ?? state ?? store) !== undefined;
}

/** @throws {Fault} `no_current_directory` */
function currentDirectory(): string {
  try {
    return process.cwd();
  } catch (cause) {
    throw new Fault('no_current_directory', 'the current directory is no longer there', {
      audience: 'user',
      next: 'go to another one',
      cause,
    });
  }
}

/** `signal` aborts when the process is asked to stop. */
export async function untilStopped<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const cancel = new AbortController();
  const stop = () => cancel.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await work(cancel.signal);
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

/**
 * Shows what a person is asked, and goes on where they type `word`. @param what what needs a terminal, for people @param shown lines; empty ones are left out
 * SECURITY: whoever can write the state directory can do all of this by hand; the terminal is there so that no pipe or script does it unseen.
 * @throws {Refusal} `no_terminal`, `inside_sandbox`, `cancelled`
 */
export async function confirmed(what: string, shown: readonly string[], word: string): Promise<void> {
  await untilStopped((signal) =>
    withTerminal(what, signal, async (terminal) => {
      for (const line of shown) if (line !== '') terminal.say(`${showPlainly(line, 4_000)}\r\n`);
      if ((await terminal.ask(`type \`${word}\` to go on: `)).trim() !== word)
        throw new Refusal('cancelled', 'cancelled; nothing was changed');
    }),
  );
}

/** `--state`, or where this user's state is. */
export function stateDirOf({ state }: CommandOptions): string {
  return state ?? defaultStateDir();
}

/** Where approvers are pinned: the file that `--config` names, else the machine's own, where text given as `--config` pins nobody for good. */
export function approverFileOf({ config }: CommandOptions): string {
  return config === undefined || config.trimStart().startsWith('{') ? defaultConfigFile() : resolve(config);
}

/** `--config` takes a file, or the JSON object itself (as `banksman demo` prints it). */
export async function configOf(options: CommandOptions): Promise<NamedConfig> {
  const found = await namedConfig(options.config);
  return options.store === undefined ? found : { ...found, config: parseConfig({ ...found.config, store: options.store }, '--store') };
}

interface NamedConfig {
  readonly config: Config;
  readonly baseDir: string;
  /** Absent where the configuration was given as text. */
  readonly file?: string;
}

async function namedConfig(named: string | undefined): Promise<NamedConfig> {
  if (named?.trimStart().startsWith('{'))
    return { config: parseConfig(parseJson(named, '--config'), '--config'), baseDir: currentDirectory() };
  const file = named ?? defaultConfigFile();
  return { config: await loadConfigFile(file, named === undefined), baseDir: dirname(file), file };
}
