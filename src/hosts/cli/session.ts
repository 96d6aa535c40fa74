/** An App for one command, closed again whatever happens. */
import { dirname, resolve } from 'node:path';
import type { App } from '#app/app';
import { type Config, parseConfig } from '#app/config';
import { loadConfigFile, parseJson } from '#app/config-file';
import { createApp } from '#app/create-app';
import { defaultConfigFile, defaultStateDir } from '#app/paths';
import { version } from '#app/version';
import { Fault } from '#kernel/errors';
import { badUsage, type CommandOptions } from './command-line.ts';
import { stderrLog } from './output.ts';

export async function withApp<T>(options: CommandOptions, work: (app: App, signal: AbortSignal) => Promise<T>): Promise<T> {
  const { config, baseDir, file } = await configOf(options);
  const app = await createApp({
    config,
    baseDir,
    ...(file === undefined ? {} : { namedConfigFile: file }),
    stateDir: stateDirOf(options),
    configFile: defaultConfigFile(),
    log: stderrLog,
    via: 'cli',
    version,
    workspaceBase: currentDirectory(),
  });
  try {
    return await untilStopped((signal) => work(app, signal));
  } finally {
    await app.close();
  }
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

/** `--state`, or where this user's state is. @throws {Fault} `bad_usage` for an empty one, which would be the current directory */
export function stateDirOf({ state }: CommandOptions): string {
  if (state === '') throw badUsage('`--state` must name a directory');
  return state ?? defaultStateDir();
}

/** Where approvers are pinned: the file that `--config` names, else the machine's own, where text given as `--config` pins nobody for good. */
export function approverFileOf({ config }: CommandOptions): string {
  return config === undefined || config === '' || config.trimStart().startsWith('{') ? defaultConfigFile() : resolve(config);
}

/** `--config` takes a file, or the JSON object itself (as `banksman demo` prints it). */
export async function configOf(options: CommandOptions): Promise<NamedConfig> {
  const named = await namedConfig(options.config);
  return options.store === undefined ? named : { ...named, config: parseConfig({ ...named.config, store: options.store }, '--store') };
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
  if (named === '') throw badUsage('`--config` must name a file');
  const file = named ?? defaultConfigFile();
  return { config: await loadConfigFile(file, named === undefined), baseDir: dirname(file), file };
}
